"""A disk that is soon full."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest


def on_small_disk(home: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command for which `home` is a disk of 10 MB; then list what is on that disk."""
    home.mkdir(exist_ok=True)
    own_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    script = (
        f"mount -t tmpfs -o size=10m tmpfs {shlex.quote(str(home))} || exit 77; "
        f"{shlex.join(command)}; echo exit $?; find {shlex.quote(str(home))} -type f -size +0"
    )
    done = subprocess.run(
        ["unshare", *own_root, "--mount", "sh", "-c", script], capture_output=True, text=True
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("this user may not mount a tmpfs")
    return done
