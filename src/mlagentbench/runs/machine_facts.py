"""What every result discloses about the machine and the packages it came from."""

import functools
import os
import platform
import time
from importlib.metadata import version

from mlagentbench.machine.slots import slot_in_use
from mlagentbench.records import GrantedResources, Json

PACKAGES = ("mlagentbench", "inspect_ai", "numpy", "pandas", "pydantic", "scipy")


@functools.cache
def hardware() -> dict[str, Json]:
    """Cores, memory, processor, and a speed probe that makes machines comparable."""
    import psutil

    return {
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()}",
        "speed_probe": round(_speed_probe(), 2),
    }


@functools.cache
def packages() -> dict[str, str]:
    """The versions of what the harness itself depends on."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def granted_resources() -> GrantedResources | None:
    """What the slot in use here has; None without a slot."""
    slot = slot_in_use()
    if slot is None:
        return None
    names = tuple(gpu.name for gpu in slot.gpus)
    return GrantedResources(cpus=len(slot.cpus), memory=slot.memory, gpus=names)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        return platform.machine()
    return platform.machine()


def _speed_probe() -> float:
    """Millions of loop turns per second of one core in plain Python: the best of three."""
    turns = 200_000
    best = 0.0
    for _ in range(3):
        started = time.perf_counter()
        total = 0
        for number in range(turns):
            total += number * number
        best = max(best, turns / (time.perf_counter() - started) / 1e6)
    return best
