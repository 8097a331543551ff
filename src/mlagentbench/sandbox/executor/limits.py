"""The limits of commands: what a sandbox uses, seen from the host, and which limit was exceeded.

The kernel enforces the hard limits (`hard_limits`: file size, and generous stops against a sudden
allocation or a fork bomb) and the sizes of the tmpfs. A LimitWatch checks the others a few times a
second while commands run, so that a short command is not checked and costs nothing.
"""

import asyncio
import contextlib
import errno
import os
import platform
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from mlagentbench.records import Record
from mlagentbench.sandbox.base import CommandResult, LimitHit, LimitName, Limits
from mlagentbench.sandbox.executor.places import TMPFS_PLACES

PERIOD = 0.1
FIRST_WALK = 0.5
WALK_SHARE = 20
SETTLE_TIME = 5_000_000
"""Nanoseconds that threads may run before they have come to rest."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_NPROC_IS_PER_NAMESPACE = (5, 14)


def limit_hit(limits: Limits, name: LimitName, wall_time: float | None = None) -> LimitHit:
    """The limit of that name, as it is reported."""
    values = {
        "wall time": _seconds(limits.wall_time if wall_time is None else wall_time),
        "memory": _bytes(limits.memory),
        "processes": str(limits.processes),
        "file size": _bytes(limits.file_size),
        "workspace size": _bytes(limits.workspace_size),
        "tmp size": _bytes(limits.tmp_size),
        "output size": _bytes(limits.output_size),
    }
    return LimitHit(name=name, value=values[name])


def _seconds(seconds: float) -> str:
    if seconds >= 120 and seconds % 60 == 0:
        return f"{seconds / 60:g} minutes"
    return f"{seconds:g} s"


def _bytes(size: int) -> str:
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size} bytes"


def hard_limits(limits: Limits, own_uid: bool) -> dict[str, int]:
    """Resource limits of every process in the sandbox, by their names in `resource`.

    Virtual memory is not limited: threads of numpy and torch reserve far more than they use. Tasks
    are counted per user; before Linux 5.14 that includes the user's processes on the host.
    """
    hard = {"FSIZE": limits.file_size, "DATA": 2 * limits.memory + 4 * 10**9}
    version = tuple(int(part) for part in platform.release().split(".")[:2] if part.isdigit())
    if own_uid or version >= _NPROC_IS_PER_NAMESPACE:
        hard["NPROC"] = max_tasks(limits)
    return hard


def max_tasks(limits: Limits) -> int:
    """The most processes and threads together that the kernel allows."""
    return 4 * limits.processes + 256


class SandboxUsage(Record):
    """What all processes of a sandbox use together now."""

    memory: int
    processes: int
    tasks: int


class Thread(NamedTuple):
    """A thread's state as the kernel's letter, and its CPU time in nanoseconds."""

    state: str
    ran: int

    @property
    def ended(self) -> bool:
        return self.state in "ZX"

    @property
    def stopped(self) -> bool:
        return self.state in "Tt"


def stayed_at_rest(before: dict[str, Thread], now: dict[str, Thread]) -> bool:
    """Whether these are the same threads, and none has run, except to come to rest."""
    then, since = (
        {name: one.ran for name, one in seen.items() if not one.ended} for seen in (before, now)
    )
    return then.keys() == since.keys() and sum(since.values()) - sum(then.values()) < SETTLE_TIME


class SandboxView:
    """A running sandbox seen from the host: its /proc and its tmpfs."""

    def __init__(self, inside_pid: int) -> None:
        self._executor = "1"
        root = f"/proc/{inside_pid}/root"
        self._proc = os.open(f"{root}/proc", os.O_RDONLY | os.O_DIRECTORY)
        self._tmpfs = [
            os.open(root + place, os.O_RDONLY | os.O_DIRECTORY) for place in TMPFS_PLACES
        ]

    def close(self) -> None:
        for descriptor in (self._proc, *self._tmpfs):
            os.close(descriptor)
        self._tmpfs.clear()

    def pids(self) -> list[str]:
        return [name for name in os.listdir(self._proc) if name.isdigit()]  # noqa: PTH208

    def usage(self) -> SandboxUsage:
        """Resident memory (shared pages counted once per process), processes and tasks."""
        memory = tasks = 0
        pids = self.pids()
        for pid in pids:
            with contextlib.suppress(OSError):
                fields = self._read(f"{pid}/stat").rpartition(b")")[2].split()
                tasks += int(fields[17])
                memory += int(fields[21]) * _PAGE
        return SandboxUsage(memory=memory, processes=len(pids), tasks=tasks)

    def threads(self) -> dict[str, Thread]:
        """All threads except the executor's, by their ids in the sandbox.

        A program that forks and exits all the time cannot hide: ids are listed in ascending order,
        and its next one is always higher.
        """
        found = {}
        for pid in self.pids():
            with contextlib.suppress(OSError):
                for number in self._list(f"{pid}/task") if pid != self._executor else ():
                    state = self._read(f"{pid}/task/{number}/stat").rpartition(b")")[2].split()[0]
                    ran = self._read(f"{pid}/task/{number}/schedstat").split()[0]
                    found[number] = Thread(state.decode(), int(ran))
        return found

    def proportional_memory(self) -> int:
        """Memory with each shared page counted once; expensive."""
        total = 0
        for pid in self.pids():
            with contextlib.suppress(OSError):
                total += self._proportional(pid)
        return total

    def _proportional(self, pid: str) -> int:
        try:
            lines = self._read(f"{pid}/smaps_rollup").splitlines()
        except PermissionError:
            return int(self._read(f"{pid}/statm").split()[1]) * _PAGE
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:"))

    def _list(self, name: str) -> list[str]:
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._proc)
        try:
            return os.listdir(descriptor)  # noqa: PTH208
        finally:
            os.close(descriptor)

    def _read(self, name: str) -> bytes:
        descriptor = os.open(name, os.O_RDONLY, dir_fd=self._proc)
        try:
            return os.read(descriptor, 1 << 16)
        finally:
            os.close(descriptor)

    def killed_for_memory(self) -> bool:
        """Whether the kernel has killed a process for lack of memory since this was last asked."""
        return False

    def tmp_is_full(self) -> bool:
        return any(os.fstatvfs(descriptor).f_bfree == 0 for descriptor in self._tmpfs)


class LimitWatch:
    """Watches a sandbox while commands run, and reports which limit was exceeded."""

    def __init__(
        self, view: SandboxView, limits: Limits, workspace: Path, placeholders: Iterable[str]
    ) -> None:
        self._view = view
        self._limits = limits
        self._workspace = workspace
        self._placeholders = frozenset(placeholders)
        self._own_processes = len(view.pids())
        self._known_size = 0
        self._known_free = self._free()
        self._next_walk = 0.0

    async def report(self, commands: Callable[[], int], on_hit: Callable[[LimitHit], None]) -> None:
        """Check until cancelled; `commands` is the number of commands, each with a supervisor."""
        self._next_walk = max(self._next_walk, time.monotonic() + FIRST_WALK)
        while True:
            await asyncio.sleep(PERIOD)
            exceeded = await asyncio.to_thread(self._check, commands())
            if exceeded is not None:
                on_hit(limit_hit(self._limits, exceeded))

    def _check(self, commands: int) -> LimitName | None:
        usage = self._view.usage()
        processes = usage.processes - self._own_processes - commands
        if processes > self._limits.processes or usage.tasks >= max_tasks(self._limits):
            return "processes"
        if (
            usage.memory > self._limits.memory
            and self._view.proportional_memory() > self._limits.memory
        ):
            return "memory"
        if self._view.tmp_is_full():
            return "tmp size"
        if time.monotonic() >= self._next_walk and self._workspace_too_large():
            return "workspace size"
        return None

    def _workspace_too_large(self) -> bool:
        begun = time.monotonic()
        self._known_free = self._free()
        self._known_size = directory_size(self._workspace, self._placeholders)
        ended = time.monotonic()
        self._next_walk = ended + max(1.0, WALK_SHARE * (ended - begun))
        return self._known_size > self._limits.workspace_size

    def _free(self) -> int:
        status = os.statvfs(self._workspace)
        return status.f_bavail * status.f_frsize

    async def at_end(self, result: CommandResult, filled: bool) -> LimitHit | None:
        """The limit that a command exceeded between two checks.

        `filled` says that a tmpfs was full before it was cleaned up.
        """
        if self._view.killed_for_memory():
            return limit_hit(self._limits, "memory")
        if result.exit_code:
            said = result.stderr[-4000:].decode("utf-8", "replace")
            if result.exit_code == 128 + 25 or os.strerror(errno.EFBIG) in said:
                return limit_hit(self._limits, "file size")
            if filled or (
                os.strerror(errno.ENOSPC) in said and self._free() > self._limits.tmp_size
            ):
                return limit_hit(self._limits, "tmp size")
        grown = self._known_free - self._free()
        if grown > self._limits.workspace_size - self._known_size and await asyncio.to_thread(
            self._workspace_too_large
        ):
            return limit_hit(self._limits, "workspace size")
        return None


def directory_size(directory: Path, skipped: Iterable[str] = ()) -> int:
    """Bytes of all files in a directory, without following links; hard links count once."""
    total = 0
    linked: set[tuple[int, int]] = set()
    for folder, folders, files in os.walk(directory):
        skip = frozenset(skipped) if folder == str(directory) else frozenset()
        folders[:] = set(folders) - skip
        for name in set(files) - skip:
            with contextlib.suppress(OSError):
                status = os.lstat(f"{folder}/{name}")
                if status.st_nlink == 1 or (status.st_dev, status.st_ino) not in linked:
                    linked.add((status.st_dev, status.st_ino))
                    total += max(status.st_size, status.st_blocks * 512)
    return total
