"""The --out directory: what marks it, and how to find the one that a log belongs to.

Any number of commands on any number of machines may use one: each run in it has a lease.

OUT/
  mlagentbench.json   marks it
  runs/  objects/     see runs/directory.py
  plans/              what commands asked for, a file a plan (see plan.py)
  logs/               Inspect's logs
"""

from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import create_exclusively

MARKER = "mlagentbench.json"


def create_output(out: Path) -> None:
    """Create the directory if needed; a UsageError when that is not possible."""
    try:
        (out / "runs").mkdir(parents=True, exist_ok=True)
        (out / "logs").mkdir(exist_ok=True)
        if not (out / MARKER).exists():
            create_exclusively(out / MARKER, b'{"format": 1}\n')
    except OSError as error:
        raise UsageError(
            f"--out {out}: {error.strerror}; choose a directory that you can write to"
        ) from error


def find_output(log: Path) -> Path:
    """The OUT that a log belongs to; under plain `inspect eval` it is the log directory."""
    directory = log.parent
    return directory.parent if (directory.parent / MARKER).is_file() else directory
