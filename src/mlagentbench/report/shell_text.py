"""What a person types: the command that is running, and paths as short as they can be."""

import shlex
import sys
from pathlib import Path


def typed_command() -> str:
    return shlex.join(["mlagentbench", *sys.argv[1:]])


def shown_path(path: Path) -> str:
    """A path as short as it can be typed from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
