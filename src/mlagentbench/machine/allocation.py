"""Which part of this machine the running process may use.

whole machine     the cores of its CPU affinity and all memory, within the limits of its cgroup; the
                  GPUs that CUDA_VISIBLE_DEVICES leaves visible
in a Slurm job    what Slurm gave to the job, and to the job step if there is one, on this node
elsewhere         what an engine sets in these variables:
                    MLAGENTBENCH_ALLOCATION          a name; processes with the same name share it
                    MLAGENTBENCH_ALLOCATION_CPUS     the number of cores
                    MLAGENTBENCH_ALLOCATION_MEMORY   bytes
                    MLAGENTBENCH_ALLOCATION_GPUS     a list like CUDA_VISIBLE_DEVICES, may be empty
                  They come before Slurm's. What is not set is that of the whole machine.
"""

import math
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.machine.gpus import Gpu, usable_gpus
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Record

NAME = "MLAGENTBENCH_ALLOCATION"
CPUS, MEMORY, GPUS = f"{NAME}_CPUS", f"{NAME}_MEMORY", f"{NAME}_GPUS"
WHOLE_MACHINE = "machine"
_MEBIBYTE = 2**20
_CGROUPS = Path("/sys/fs/cgroup")


class Allocation(Record):
    """A part of a machine; all processes with the same `pool` share it."""

    pool: str
    cores: tuple[int, ...]
    """The ids of the cores that its processes may run on."""
    cpus: int
    """How many of them may be in use at once; more than there are if a scheduler says so."""
    memory: int
    gpus: tuple[Gpu, ...]
    cgroup: str = ""
    """The control group that limits this process to less than the pool; empty if none does."""


class GpusAsked(Record):
    """GPUs that must be there, the option that asks for them, and what to do without them."""

    count: int
    option: str
    instead: str

    def require_here(self) -> None:
        """A UsageError if there are fewer."""
        there = len(allocation().gpus)
        if there < self.count:
            raise UsageError(self.refusal(there))

    def refusal(self, there: int) -> str:
        return f"{self.option}: there are {counted(there, 'GPU')} here; {self.instead}"


class CgroupLimits(Record):
    """What control groups allow; infinite where they do not say."""

    path: str = ""
    """The control group that limits something, the innermost one."""
    cpus: int | None = None
    memory: int | None = None


def allocation(environ: Mapping[str, str] = os.environ) -> Allocation:
    """The part of the machine that this process may use; UsageError for unreadable variables."""
    if name := environ.get(NAME):
        return _by_variables(name, environ)
    if "SLURM_JOB_ID" in environ:
        return _in_slurm_job(environ)
    return _whole_machine(environ)


def _whole_machine(environ: Mapping[str, str]) -> Allocation:
    cores, limits = _affinity(), cgroup_limits()
    memory = total_memory()
    return Allocation(
        pool=WHOLE_MACHINE,
        cores=cores,
        cpus=min(len(cores), limits.cpus or len(cores)),
        memory=min(memory, limits.memory or memory),
        gpus=usable_gpus(environ.get("CUDA_VISIBLE_DEVICES")),
        cgroup=limits.path,
    )


def _by_variables(name: str, environ: Mapping[str, str]) -> Allocation:
    whole = _whole_machine(environ)
    visible = environ.get(GPUS)
    return Allocation(
        pool=f"allocation {name}",
        cores=whole.cores,
        cpus=_number(environ, CPUS) or whole.cpus,
        memory=_number(environ, MEMORY) or whole.memory,
        gpus=whole.gpus if visible is None else usable_gpus(visible),
    )


def _in_slurm_job(environ: Mapping[str, str]) -> Allocation:
    """The share of a Slurm job on this node; several nodes may be on one machine.

    SLURM_JOB_ID differs between the elements of an array. A job that has no limit on its memory has
    all that its cgroup allows.
    """
    node = environ.get("SLURMD_NODENAME") or socket.gethostname()
    step = environ.get("SLURM_STEP_ID", "batch")
    whole = _whole_machine(environ)
    cpus = _slurm_cpus(environ) or whole.cpus
    given = _slurm_memory(environ, cpus)
    return Allocation(
        pool=f"slurm job {environ['SLURM_JOB_ID']} step {step} on {node}",
        cores=whole.cores,
        cpus=cpus,
        memory=given or whole.memory,
        gpus=_slurm_gpus(environ),
    )


def _slurm_cpus(environ: Mapping[str, str]) -> int | None:
    if found := _number(environ, "SLURM_CPUS_ON_NODE"):
        return found
    per_task = _number(environ, "SLURM_CPUS_PER_TASK")
    return per_task and per_task * (_number(environ, "SLURM_NTASKS_PER_NODE") or 1)


def _slurm_memory(environ: Mapping[str, str], cpus: int) -> int | None:
    """Bytes; Slurm counts in MiB."""
    if found := _number(environ, "SLURM_MEM_PER_NODE"):
        return found * _MEBIBYTE
    per_cpu = _number(environ, "SLURM_MEM_PER_CPU")
    return per_cpu and per_cpu * cpus * _MEBIBYTE


def _slurm_gpus(environ: Mapping[str, str]) -> tuple[Gpu, ...]:
    """None unless Slurm gave some: without its constraints a job sees all of the machine's."""
    names = ("CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS", "SLURM_JOB_GPUS")
    visible = next((environ[name] for name in names if environ.get(name)), "")
    return usable_gpus(visible) if visible else ()


def _number(environ: Mapping[str, str], name: str) -> int | None:
    """The number in a variable; None if it is not set, empty or 0."""
    text = environ.get(name, "").strip()
    if text and not text.isdecimal():
        raise UsageError(f"{name}={text}: is not a number; unset it, or set it to a whole number")
    return int(text or 0) or None


def _affinity() -> tuple[int, ...]:
    return tuple(sorted(os.sched_getaffinity(0)))


def total_memory() -> int:
    """The bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def cgroup_limits(listing: str | None = None, root: Path = _CGROUPS) -> CgroupLimits:
    """What the control groups of this process allow; `listing` is /proc/self/cgroup."""
    if listing is None:
        listing = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    limits = CgroupLimits()
    for line in listing.splitlines():
        _number_of_hierarchy, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for place in _upwards(path):
            limits = _tightened(limits, controllers.split(","), root, place)
    total = total_memory()
    if limits.memory is not None and limits.memory >= total:
        limits = limits.model_copy(update={"memory": None})
    bounded = limits.memory is not None or limits.cpus is not None
    return limits if bounded else CgroupLimits()


def _upwards(path: str) -> Iterator[str]:
    """A control group and those around it; in a container only the root may be visible."""
    parts = [part for part in path.split("/") if part]
    for count in range(len(parts), -1, -1):
        yield "/".join(parts[:count])


def _tightened(
    limits: CgroupLimits, controllers: list[str], root: Path, place: str
) -> CgroupLimits:
    cpus = memory = None
    if controllers == [""]:
        cpus = _quota(*_words(root / place / "cpu.max", 2))
        memory = _amount(*_words(root / place / "memory.max", 1))
    if "memory" in controllers:
        memory = _amount(*_words(root / "memory" / place / "memory.limit_in_bytes", 1))
    if "cpu" in controllers:
        folder = root / "cpu" / place
        cpus = _quota(
            *_words(folder / "cpu.cfs_quota_us", 1), *_words(folder / "cpu.cfs_period_us", 1)
        )
    if cpus is None and memory is None:
        return limits
    return CgroupLimits(
        path=limits.path or f"/{place}",
        cpus=min((one for one in (cpus, limits.cpus) if one is not None), default=None),
        memory=min((one for one in (memory, limits.memory) if one is not None), default=None),
    )


def _words(file: Path, count: int) -> list[str]:
    """The words of a file of a control group; "max" where there is none."""
    try:
        words = file.read_text(encoding="ascii").split()
    except OSError:
        words = []
    return words if len(words) == count else ["max"] * count


def _amount(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _quota(quota: str, period: str) -> int | None:
    """Whole cores; a fraction counts as one."""
    if not quota.isdecimal() or not period.isdecimal():
        return None
    return max(1, math.floor(int(quota) / int(period)))
