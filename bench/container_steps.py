"""What a step costs in a container of a real Docker engine, against one in bubblewrap."""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import parsing  # makes tests/support importable
from bench_agents import HI, RUN_HI
from docker_engine import docker_engine
from measurements import Measurement, ratio
from steps import open_environment

from mlagentbench.sandbox.sandbox_registry import SANDBOX, default_envs
from mlagentbench.tasks.task import load_task

TASK = "vectorization"
ROUNDS, STEPS = 5, 20
assert parsing


@contextmanager
def variables(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def step_times() -> list[float]:
    """Seconds of each step of a run of its own; a run holds cores, so only one can be open."""
    with open_environment() as (_, execute):
        execute(HI)
        execute(RUN_HI)
        times = []
        for _ in range(STEPS):
            started = time.perf_counter()
            execute(RUN_HI)
            times.append(time.perf_counter() - started)
    return times


def container_step() -> Measurement:
    """A whole step, journalled and snapshotted, in a container and in bubblewrap."""
    kept = Path(sys.prefix) / "test-home" / "docker-base.tar"
    with docker_engine(kept) as engine, variables(**engine.variables):
        with variables(**{SANDBOX: "docker"}):
            requirements = load_task(TASK).spec.python.requirements
            asyncio.run(default_envs().ensure(requirements, announce=print))
        taken: dict[str, list[float]] = {"docker": [], "bubblewrap": []}
        for _ in range(ROUNDS):
            for sandbox, times in taken.items():
                with variables(**{SANDBOX: sandbox}):
                    times += step_times()
    return ratio("step in docker / in bubblewrap", taken["docker"], taken["bubblewrap"], target=2.0)
