"""Leases: which process may write to a directory that many machines share.

A holder owns the newest of the files `lease-000001`, `lease-000002`, ... of a directory. Each is
created under its final name in one step, so that of several processes only one gets it. The holder
renews a counter in its file. A lease can be taken over, by creating the next file, when

- its holder released it, or is a process of this machine that is gone: at once;
- its counter has not changed for some minutes on the clock of the process that watches it. No two
  clocks are compared, so a wrong clock changes nothing.

A holder that was only frozen may wake after that. Its next look at the directory tells it that the
lease is lost. A line that it writes before it looks carries the token of an older lease, which
readers ignore (hash_chain.py). File locks are not used: cluster file systems may not have them.
"""

import errno
import getpass
import hashlib
import os
import re
import secrets
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self, TypeVar

from pydantic import Field, ValidationError

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import create_exclusively, disk_trouble, read_regular
from mlagentbench.records import Record

FILE = re.compile(r"lease-(\d{6,})")
MAX_LEASE = 1_000_000
"""Bytes of a lease that are read."""
WIDTH = 1024
"""Bytes of a lease file: it is renewed in place, and never becomes longer."""
RELEASED = b'"released":true'
"""What only a lease that was released says, as it is written."""
LOOKS_PER_RENEWAL = 4
LONGEST_NAME = 200
"""Characters of where a worker is."""
VARIABLES = "MLAGENTBENCH_LEASE_"
BOOT = Path("/proc/sys/kernel/random/boot_id")

OnWait = Callable[[str], None]
"""Is told once whom a process is waiting for."""
Pause = Callable[[float], None]
"""Sleeps for some seconds, or raises something if the wait is to end."""


Times = TypeVar("Times", bound=Record)


def times_from_environment(kind: type[Times], prefix: str) -> Times:
    """A record of seconds, each from the variable of the prefix and its name in capitals."""
    variables = {name: f"{prefix}{name.upper()}" for name in kind.model_fields}
    given = {name: os.environ[key] for name, key in variables.items() if key in os.environ}
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise UsageError(f"{variables[name]}={given[name]}: give seconds above 0") from error


class LeaseTimes(Record):
    """Seconds between two renewals, and of silence after which a lease is void."""

    renewal: Annotated[float, Field(gt=0)] = 20.0
    void: Annotated[float, Field(gt=0)] = 180.0

    @classmethod
    def chosen(cls) -> "LeaseTimes":
        """The times from the environment variables; the defaults suit file systems of clusters."""
        times = times_from_environment(cls, VARIABLES)
        if times.void < 3 * times.renewal:
            raise UsageError(
                f"{VARIABLES}VOID is {times.void:g} and {VARIABLES}RENEWAL is "
                f"{times.renewal:g}; a lease is void after three missed renewals at the earliest"
            )
        return times


class Holder(Record):
    """What a lease file says of its holder; `machine` differs wherever process ids do."""

    owner: str
    host: str
    machine: str
    pid: int
    started: int
    """When the process started, in clock ticks after the machine did: process ids are reused."""
    token: str
    worker: str = ""
    """Where an engine runs it, as "slurm job 12_3 on n2"; empty for a command of a person."""
    renewals: int = 0
    released: bool = False

    @property
    def described(self) -> str:
        place = f" ({self.worker})" if self.worker else ""
        return f"process {self.pid} of {self.owner} on {self.host}{place}"

    @property
    def is_gone(self) -> bool:
        """Whether the holder is known to have ended; nothing is known of other machines."""
        return self.machine == _machine() and _start_of(self.pid) != self.started


class RunHeld(UsageError):
    """Another process holds the lease, and renews it."""

    def __init__(self, directory: Path, by: str) -> None:
        super().__init__(f"{directory} is being written by {by}; wait for it to end")
        self.by = by


class LeaseLost(RunFailed):
    """This process did not renew its lease in time, and another one has taken over."""

    def __init__(self, directory: Path, by: str) -> None:
        super().__init__(
            "harness",
            f"{by} has taken over {directory}, since this process did not renew its lease in time; "
            "nothing is lost: the run continues there",
        )


class Releasable(ABC):
    """Is released at the end of a `with`."""

    @abstractmethod
    def release(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


class Lease(Releasable):
    """A lease that this process has taken; it is renewed until `release()`."""

    def __init__(
        self,
        directory: Path,
        generation: int,
        holder: Holder,
        renewal: float,
        silent: bool,
        last_renewal: float | None,
    ) -> None:
        self.directory = directory
        self.generation = generation
        self.renewal = renewal
        self.token = holder.token
        self.followed_silence = silent
        """Whether the holder before may still be there: it neither ended nor released the lease."""
        self.last_renewal_before = last_renewal
        """When the holder before last renewed it, if it did not release it; a time of day."""
        self._holder = holder
        self._file = lease_file(directory, generation)
        self._next = lease_file(directory, generation + 1)
        self._handle = os.open(self._file, os.O_WRONLY | os.O_CLOEXEC)
        self._guard = threading.Lock()

    def require(self) -> None:
        """Raise LeaseLost when another process has taken over; two lookups of a name."""
        if self.is_lost:
            now = current_holder(self.directory)
            raise LeaseLost(self.directory, "another process" if now is None else now.described)

    @property
    def is_lost(self) -> bool:
        return self._next.exists() or not self._file.exists()

    def renew(self) -> None:
        self._write(renewals=self._holder.renewals + 1)

    def release(self) -> None:
        """Let others take the lease at once."""
        _RENEWING.remove(self)
        try:
            self._write(released=True)
        except OSError:  # the file was created empty on a full disk
            self._file.unlink(missing_ok=True)
        with self._guard:
            if self._handle >= 0:
                os.close(self._handle)
            self._handle = -1

    def _write(self, **changes: int | bool) -> None:
        """Write on the open file, which stays ours even if another has the directory now."""
        with self._guard:
            if self._handle >= 0:
                self._holder = self._holder.model_copy(update=changes)
                os.pwrite(self._handle, _encoded(self._holder), 0)


class _Renewing:
    """The thread that renews all leases of this process."""

    def __init__(self) -> None:
        self._leases: set[Lease] = set()
        self._guard = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, lease: Lease) -> None:
        with self._guard:
            self._leases.add(lease)
            self._guard.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._renew, daemon=True, name="leases")
                self._thread.start()

    def remove(self, lease: Lease) -> None:
        with self._guard:
            self._leases.discard(lease)

    def _renew(self) -> None:
        while True:
            with self._guard:
                self._guard.wait(min((lease.renewal for lease in self._leases), default=None))
                leases = list(self._leases)
            for lease in leases:
                try:
                    lease.renew()
                except OSError:  # a file system that is away for a while: the next renewal counts
                    continue


_RENEWING = _Renewing()
_WORKER = ""


# Taking


def name_worker(worker: str) -> None:
    """Have all leases that this process takes from now on say where it works."""
    global _WORKER
    _WORKER = worker[:LONGEST_NAME]


def take_lease(
    directory: Path,
    above: int = 0,
    on_wait: OnWait | None = None,
    pause: Pause = time.sleep,
    *,
    watch: "LeaseWatch | None" = None,
) -> Lease:
    """Take the lease of a directory; RunHeld as soon as its holder is seen to renew it.

    A silent holder is watched until its lease is void. With a `watch`, that has happened before:
    RunHeld says at once that it is not void. The new generation is larger than `above`.
    """
    times = LeaseTimes.chosen()
    directory.mkdir(parents=True, exist_ok=True)
    while True:
        newest = _newest(directory)
        holder, silent = current_holder(directory), False
        last_renewal = None if holder is None else _changed(lease_file(directory, newest))
        if holder is not None and not holder.is_gone:
            if watch is None:
                _require_silence(directory, on_wait, pause)
            elif not watch.look(directory).is_void:
                raise RunHeld(directory, holder.described)
            if _newest(directory) != newest:
                continue
            silent = True
        lease = _create(directory, max(newest, above) + 1, times.renewal, silent, last_renewal)
        if lease is not None:
            _RENEWING.add(lease)
            return lease


def _require_silence(directory: Path, on_wait: OnWait | None, pause: Pause) -> None:
    """Return once the lease is free or void; RunHeld when it is renewed."""
    watch = LeaseWatch()
    seen = watch.look(directory)
    if seen.holder is not None and on_wait is not None:
        on_wait(f"{directory} is held by {seen.holder.described}; {watch.described}")
    while seen.holder is not None and not seen.is_void:
        if seen.renewed:
            raise RunHeld(directory, seen.holder.described)
        pause(watch.pause)
        seen = watch.look(directory)


class Watched(Record):
    """What is known of a lease: who holds it, if anyone does, and what was seen of the holder."""

    holder: Holder | None
    is_void: bool = False
    """Whether the holder has been silent for so long that the lease can be taken over."""
    renewed: bool = False
    """Whether the holder was seen to renew it, and so is alive."""


class LeaseWatch:
    """Watches leases of others, without waiting: each look adds to what is known of one.

    No two clocks are compared: silence is what this process has seen of it.
    """

    def __init__(self) -> None:
        self.times = LeaseTimes.chosen()
        self._first: dict[Path, Holder] = {}
        self._seen: dict[Path, tuple[Holder, float]] = {}

    def look(self, directory: Path) -> Watched:
        """What is known of the lease of a directory now."""
        holder = current_holder(directory)
        if holder is None or holder.is_gone:
            self._seen.pop(directory, None)
            self._first.pop(directory, None)
            return Watched(holder=None)
        now = time.monotonic()
        first = self._first.setdefault(directory, holder)
        if self._seen.get(directory, (None, now))[0] != holder:
            self._seen[directory] = (holder, now)
        return Watched(
            holder=holder,
            is_void=now - self._seen[directory][1] > self.times.void,
            renewed=holder != first,
        )

    @property
    def pause(self) -> float:
        """Seconds between two looks."""
        return min(1.0, self.times.renewal / LOOKS_PER_RENEWAL)

    @property
    def described(self) -> str:
        """What is being waited for, for people."""
        return (
            f"waiting until it renews its lease (every {self.times.renewal:g} s) or has been "
            f"silent for {self.times.void:g} s"
        )


def await_release(
    directory: Path, on_wait: OnWait | None = None, pause: Pause = time.sleep
) -> None:
    """Wait while another process holds the lease of a directory.

    A lease is never void here, since the holder may do harm when it wakes: a person decides.
    """
    watch, told = LeaseWatch(), False
    seen = watch.look(directory)
    while seen.holder is not None and not _is_this_process(seen.holder):
        if seen.is_void:
            raise UsageError(
                f"{directory} is held by {seen.holder.described}, which has been silent for "
                f"{watch.times.void:g} s; end that process, then remove "
                f"{lease_file(directory, _newest(directory))}"
            )
        if on_wait is not None and not told:
            on_wait(f"waiting for {seen.holder.described}, which holds {directory}")
        told = True
        pause(watch.pause)
        seen = watch.look(directory)


def _create(
    directory: Path, generation: int, renewal: float, silent: bool, last_renewal: float | None
) -> Lease | None:
    """The lease of that generation; None when another process was faster."""
    holder = Holder(
        owner=_user(),
        host=socket.gethostname(),
        machine=_machine(),
        pid=os.getpid(),
        started=_start_of(os.getpid()) or 0,
        token=f"{generation}-{secrets.token_hex(8)}",
        worker=_WORKER,
    )
    file = lease_file(directory, generation)
    if not _create_file(file, _encoded(holder)):
        return None
    if _newest(directory) > generation:  # its name was free again: we slept, and others have passed
        file.unlink(missing_ok=True)
        return None
    lease = Lease(directory, generation, holder, renewal, silent, last_renewal)
    for older in _generations(directory):
        if older < generation:
            lease_file(directory, older).unlink(missing_ok=True)
    for half_written in directory.glob(".lease-*"):
        half_written.unlink(missing_ok=True)
    return lease


def _create_file(file: Path, contents: bytes) -> bool:
    """Create a lease file; on a full disk an empty one, since freeing space needs a lease, too."""
    try:
        try:
            return create_exclusively(file, contents)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    except FileExistsError:
        return False
    except OSError as error:
        raise UsageError(f"cannot write {file}: {disk_trouble(error)}") from error
    return True


# Reading


def current_holder(directory: Path) -> Holder | None:
    """Who holds the lease of a directory, as far as its files tell; None when it is free."""
    while newest := _newest(directory):
        try:
            contents = read_regular(lease_file(directory, newest), MAX_LEASE)
            holder = Holder.model_validate_json(contents.rstrip(b" \n"))
        except FileNotFoundError:  # the next holder has tidied up
            continue
        except ValidationError:
            return _unknown(contents)
        return None if holder.released else holder
    return None


def _unknown(contents: bytes) -> Holder:
    """The holder of a damaged file: its silence is counted like that of any other."""
    return Holder(
        owner="an unknown user", host="an unknown host", machine="", pid=0, started=0,
        token="", renewals=hash(contents),
    )  # fmt: skip


def may_be_held(directory: str, names: Iterable[str]) -> bool:
    """Whether the newest lease among a directory's files is not released; a quick first look.

    Its holder may be dead, and a damaged lease is not noticed: `current_holder` decides.
    """
    newest = max(_numbers(names), default=0)
    if not newest:
        return False
    try:
        with lease_file(Path(directory), newest).open("rb") as file:
            return RELEASED not in file.read(WIDTH)
    except OSError:  # the next holder has tidied up
        return True


def lease_file(directory: Path, generation: int) -> Path:
    return directory / f"lease-{generation:06}"


def _changed(file: Path) -> float | None:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:  # the next holder has tidied up
        return None


def _generations(directory: Path) -> list[int]:
    try:
        names = os.listdir(directory)  # noqa: PTH208
    except FileNotFoundError:
        return []
    return _numbers(names)


def _numbers(names: Iterable[str]) -> list[int]:
    return [int(found[1]) for found in map(FILE.fullmatch, names) if found]


def _newest(directory: Path) -> int:
    return max(_generations(directory), default=0)


def _encoded(holder: Holder) -> bytes:
    return holder.model_dump_json().encode().ljust(WIDTH - 1) + b"\n"


# Processes


def _machine() -> str:
    """This boot of this machine, and its process namespace: containers have their own."""
    return f"{socket.gethostname()} {BOOT.read_text().strip()} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115


def _start_of(pid: int) -> int | None:
    """When a process of this machine started; None when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def _is_this_process(holder: Holder) -> bool:
    here = (holder.machine, holder.pid) == (_machine(), os.getpid())
    return here and holder.started == _start_of(os.getpid())


def process_is_gone(name: str) -> bool:
    """Whether the process that `process_name` named has ended, as far as this machine knows."""
    machine, _, pid = name.rpartition("-")
    return machine == _short_machine() and pid.isdecimal() and _start_of(int(pid)) is None


def process_name() -> str:
    """A name for files of this process that others may remove when it is gone."""
    return f"{_short_machine()}-{os.getpid()}"


@cache
def _short_machine() -> str:
    return hashlib.sha256(_machine().encode()).hexdigest()[:12]


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in containers
        return f"user {os.getuid()}"
