"""Signals to all processes of a sandbox at once, from outside."""

import contextlib
import os
import signal
from pathlib import Path

import psutil

_KERNEL_LISTS_CHILDREN = Path("/proc/thread-self/children").exists()


def signal_tree(root: int, number: signal.Signals) -> None:
    """Send a signal to every process below `root`, again until no new one appears."""
    reached: set[int] = set()
    while new := descendants_of(root) - reached:
        for pid in new:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        reached |= new


def descendants_of(root: int) -> set[int]:
    """The pids of all processes below `root`."""
    if not _KERNEL_LISTS_CHILDREN:
        return {child.pid for child in psutil.Process(root).children(recursive=True)}
    found: set[int] = set()
    pending = [root]
    while pending:
        for task in _tasks(pending.pop()):
            with contextlib.suppress(OSError):
                children = {int(pid) for pid in (task / "children").read_text("ascii").split()}
                pending.extend(children - found)
                found |= children
    return found


def _tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []
