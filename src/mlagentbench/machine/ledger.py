"""The ledger of a machine's slots: who holds one, and who waits.

MLAGENTBENCH_SLOTS, else /var/tmp/mlagentbench-slots/     mode 1777: all users share it
  NUMBER-RANDOM     a claim, as JSON: what is asked for, and what is held

The process that makes a claim locks its file, so a claim whose file is not locked belongs to a dead
process and does not count. Only its owner or root can remove it from a directory of this mode, and
nothing depends on that. The directory itself is locked while the ledger is read and changed.

/var/tmp is on this machine, exists everywhere and is open to all users. /dev/shm is not used:
systemd removes a user's files there when the user logs out, also those of programs that still run.

Other users can put anything into the directory. Links are not followed, only small regular files
are read, and a claim decides about nothing but who waits.
"""

import asyncio
import fcntl
import functools
import os
import pwd
import re
import secrets
import stat
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from pydantic import Field, ValidationError

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import disk_trouble
from mlagentbench.machine.gpus import Gpu
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Record

VARIABLE = "MLAGENTBENCH_SLOTS"
DEFAULT = "/var/tmp/mlagentbench-slots"
OPEN_TO_ALL = 0o1777
LOCK_PAUSE = 0.002
LONG_WAIT = 1.0
"""Seconds after which those who wait for the lock say so."""
PREPARATION = 2.0
"""Seconds within which another user's process has made a new directory accessible."""
MAX_CLAIM = 65536
MAX_NAME = 200
_NAME = re.compile(r"(\d{1,18})-[0-9a-f]{16}")
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
OnWait = Callable[[str], None]
_open_claims: set[int] = set()
"""Descriptors of this process's claims, which a forked child closes."""


class Need(Record):
    """What a run needs: cores, bytes of memory, GPUs."""

    cpus: int = Field(ge=1)
    memory: int = Field(ge=0)
    gpus: int = Field(default=0, ge=0)

    def __str__(self) -> str:
        return _amounts(self.cpus, self.memory, self.gpus)


class Slot(Record):
    """What a run holds: the ids of its cores, bytes of memory, and its GPUs."""

    cpus: tuple[int, ...]
    memory: int
    gpus: tuple[Gpu, ...] = ()

    def __str__(self) -> str:
        return _amounts(len(self.cpus), self.memory, len(self.gpus))


def _amounts(cpus: int, memory: int, gpus: int) -> str:
    parts = [counted(cpus, "core"), f"{memory / 1e9:.3g} GB"]
    return ", ".join(parts + ([counted(gpus, "GPU")] if gpus else []))


class SlotClaim(Record):
    """What a process asks for in a pool, and what it holds as soon as it does."""

    pool: str
    cgroup: str = ""
    need: Need
    who: str = Field(max_length=MAX_NAME)
    pid: int
    slot: Slot | None = None

    @property
    def cores(self) -> tuple[int, ...]:
        return () if self.slot is None else self.slot.cpus

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        return () if self.slot is None else self.slot.gpus


class LivingClaim(Record):
    """A claim in the ledger whose process lives."""

    number: int
    uid: int
    claim: SlotClaim

    @property
    def described(self) -> str:
        """Whose claim it is, for those who wait."""
        return self.claim.who if self.uid == os.geteuid() else f"{self.claim.who} of {self._user}"

    @property
    def _user(self) -> str:
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return f"user {self.uid}"


class LedgerEntry:
    """This process's claim in the ledger: a file that it has locked."""

    def __init__(self, path: Path, number: int, descriptor: int) -> None:
        self.number = number
        self._path = path
        self._descriptor: int | None = descriptor
        _close_in_children()
        _open_claims.add(descriptor)

    def write(self, claim: SlotClaim) -> None:
        """Replace what the claim says; the ledger is locked meanwhile."""
        if self._descriptor is None:
            raise ValueError("the claim was removed")
        contents = claim.model_dump_json().encode()
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, contents, 0)
        except OSError as error:
            where = self._path.parent
            raise RunFailed("harness", f"cannot write to {where}: {disk_trouble(error)}") from error

    def remove(self) -> None:
        """Withdraw the claim; again is harmless."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        self._path.unlink(missing_ok=True)
        _open_claims.discard(descriptor)
        os.close(descriptor)


class Ledger:
    """The claims of all processes of this machine."""

    def __init__(self) -> None:
        self.directory = _prepared(Path(os.environ.get(VARIABLE) or DEFAULT))

    @asynccontextmanager
    async def locked(self, on_wait: OnWait | None = None) -> AsyncIterator[None]:
        """Lock the ledger; what is done meanwhile does not wait for anything.

        `on_wait` is told when this takes long: a stopped process may have the lock.
        """
        directory = self._open()
        silent_until = time.monotonic() + LONG_WAIT
        try:
            while not _try_lock(directory, fcntl.LOCK_EX):
                if on_wait is not None and time.monotonic() > silent_until:
                    on_wait(f"waiting for the lock of {self.directory}")
                    on_wait = None
                await asyncio.sleep(LOCK_PAUSE)
            yield
        finally:
            os.close(directory)

    def look(self) -> list[LivingClaim] | None:
        """The claims of living processes; None if the ledger is locked just now."""
        directory = self._open()
        try:
            return self.claims() if _try_lock(directory, fcntl.LOCK_EX) else None
        finally:
            os.close(directory)

    def _open(self) -> int:
        try:
            return os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | _OPEN)
        except OSError as error:
            raise _unusable(self.directory, error.strerror) from error

    async def enter(self, claim: SlotClaim, on_wait: OnWait | None = None) -> LedgerEntry:
        """Add a claim behind all others."""
        async with self.locked(on_wait):
            number = max((one.number for one in self.claims()), default=0) + 1
            path = self.directory / f"{number:012}-{secrets.token_hex(8)}"
            if _NAME.fullmatch(path.name) is None:  # it would not be counted
                raise _unusable(self.directory, f"a claim has the largest number, {number - 1}")
            try:
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _OPEN
                descriptor = os.open(path, flags, 0o644)
            except OSError as error:
                raise _unusable(self.directory, error.strerror) from error
            entry = LedgerEntry(path, number, descriptor)
            try:
                os.fchmod(descriptor, 0o644)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                entry.write(claim)
            except BaseException:
                entry.remove()
                raise
            return entry

    def claims(self) -> list[LivingClaim]:
        """The claims of living processes, in their order; the ledger is locked."""
        found = []
        for name, number in self._numbers().items():
            living = self._read(self.directory / name, number)
            if living is not None:
                found.append(living)
        return sorted(found, key=lambda one: one.number)

    def _numbers(self) -> dict[str, int]:
        names = os.listdir(self.directory)  # noqa: PTH208
        return {name: int(match[1]) for name in names if (match := _NAME.fullmatch(name))}

    def _read(self, path: Path, number: int) -> LivingClaim | None:
        """The claim in a file; None if its process is dead, or it is no claim."""
        try:
            descriptor = os.open(path, os.O_RDONLY | _OPEN)
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            if _try_lock(descriptor, fcntl.LOCK_SH):
                with suppress(OSError):  # another user's
                    path.unlink()
                return None
            claim = SlotClaim.model_validate_json(os.read(descriptor, MAX_CLAIM))
        except (ValidationError, OSError):
            return None
        finally:
            os.close(descriptor)
        return LivingClaim(number=number, uid=status.st_uid, claim=claim)


def require_ledger() -> None:
    """Raise a UsageError where no slot can be taken."""
    Ledger()


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _prepared(directory: Path) -> Path:
    """The directory, created if needed and checked to be open to all users."""
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        pass
    except OSError as error:
        raise _unusable(directory, error.strerror) from error
    else:
        directory.chmod(OPEN_TO_ALL)  # which the umask may have narrowed
    deadline = time.monotonic() + PREPARATION
    while not _is_open_to_all(directory):
        if time.monotonic() > deadline:
            raise _unusable(directory, "it is not a directory with mode 1777")
        time.sleep(LOCK_PAUSE)
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        raise _unusable(directory, "this user cannot write to it")
    return directory


def _is_open_to_all(directory: Path) -> bool:
    status = directory.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return False
    if stat.S_IMODE(status.st_mode) == OPEN_TO_ALL:
        return True
    if status.st_uid == os.geteuid():
        directory.chmod(OPEN_TO_ALL)
    return False


def _unusable(directory: Path, reason: str | None) -> UsageError:
    return UsageError(
        f"cannot share the machine's cores by {directory}: {reason}; remove it, or set {VARIABLE} "
        "to a directory that all users of this machine can write to"
    )


@functools.cache
def _close_in_children() -> None:
    """From now on, a forked child does not keep the claims of its parent."""
    os.register_at_fork(after_in_child=_close_claims)


def _close_claims() -> None:
    for descriptor in _open_claims:
        with suppress(OSError):
            os.close(descriptor)
    _open_claims.clear()
