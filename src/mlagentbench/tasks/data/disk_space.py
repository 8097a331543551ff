"""Is the disk large enough for a task's data, and what to say when it is not."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import disk_usage

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.records import Tier
from mlagentbench.tasks.data.sources import bytes_needed
from mlagentbench.tasks.task import Task


def require_space(task: Task, tier: Tier, place: Path) -> None:
    """Raise a UsageError when the disk is too small for the full tier."""
    needed, free = bytes_needed(task) if tier == "full" else 0, disk_usage(place).free
    if free < needed:
        raise UsageError(
            f"{task.id}: preparing the full tier needs about {needed / 1e6:,.0f} MB, but {place} "
            f"has {free / 1e6:,.0f} MB free; free some space or set MLAGENTBENCH_HOME to a "
            "directory on a larger disk"
        )


@contextmanager
def disk_full_explained(task: Task, place: Path) -> Iterator[None]:
    """Turn a full disk into a UsageError, whether our code or the task's met it."""
    try:
        yield
    except (OSError, RunFailed) as error:
        if isinstance(error, OSError):
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        else:
            full = "No space left on device" in error.detail
        if not full:
            raise
        raise UsageError(
            f"{task.id}: the disk of {place} is full ({disk_usage(place).free / 1e6:,.1f} MB "
            "free); no incomplete data were kept. Free some space, or set MLAGENTBENCH_HOME to a "
            "directory on a larger disk"
        ) from error
