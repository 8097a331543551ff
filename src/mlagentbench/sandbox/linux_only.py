"""Sandboxes need Linux; reports and everything else that starts none work on other systems."""

import sys

from mlagentbench.errors import UsageError


def require_linux() -> None:
    """Raise a UsageError on another system."""
    if sys.platform != "linux":
        raise UsageError(
            f"runs and tasks need Linux, and this is {sys.platform}: use WSL2 on Windows, a Linux "
            "virtual machine or container on macOS (see docs/docker.md); reports work here"
        )
