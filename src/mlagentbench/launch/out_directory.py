"""The --out directory: its lock, and how to find the one that a log belongs to.

OUT/
  mlagentbench.json   marks it
  lock                held by the command that writes to it
  runs/  objects/     see runs/directory.py
  logs/               Inspect's logs
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import sign_lock, signed_by, write_atomically

MARKER = "mlagentbench.json"


@contextmanager
def own_output(out: Path) -> Iterator[None]:
    """Create the directory and lock it, so that only one command writes to it at a time."""
    try:
        (out / "runs").mkdir(parents=True, exist_ok=True)
        (out / "logs").mkdir(exist_ok=True)
        if not (out / MARKER).exists():
            write_atomically(out / MARKER, b'{"format": 1}\n')
    except OSError as error:
        raise _cannot_write(out, error) from error
    with hold_output(out):
        yield


@contextmanager
def hold_output(out: Path) -> Iterator[None]:
    """Lock an existing directory; a UsageError names the process that holds the lock."""
    try:
        handle = os.open(out / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _cannot_write(out, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = signed_by(handle)
        os.close(handle)
        raise UsageError(
            f"--out {out} is in use by process {owner}; wait for it to end, or choose another --out"
        ) from None
    try:
        sign_lock(handle)
        yield
    finally:
        os.close(handle)


def _cannot_write(out: Path, error: OSError) -> UsageError:
    return UsageError(f"--out {out}: {error.strerror}; choose a directory that you can write to")


def find_output(log: Path) -> Path:
    """The OUT that a log belongs to; under plain `inspect eval` it is the log directory."""
    directory = log.parent
    return directory.parent if (directory.parent / MARKER).is_file() else directory
