"""What a step costs in a container of a real Docker engine, against one in bubblewrap."""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import parsing  # makes tests/support importable
from bench_agents import HI, RUN_HI
from docker_engine import docker_engine
from measurements import Measurement, interleaved, ratio
from steps import open_environment

from mlagentbench.sandbox.sandbox_registry import SANDBOX, default_envs
from mlagentbench.tasks.task import load_task

TASK = "vectorization"
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


def container_step() -> Measurement:
    """A whole step, journalled and snapshotted, in a container and in bubblewrap."""
    kept = Path(sys.prefix) / "test-home" / "docker-base.tar"
    with docker_engine(kept) as engine, variables(**engine.variables):
        with variables(**{SANDBOX: "docker"}):
            requirements = load_task(TASK).spec.python.requirements
            asyncio.run(default_envs().ensure(requirements, announce=print))
        with (
            open_environment() as (_, in_bubblewrap),
            variables(**{SANDBOX: "docker"}),
            open_environment() as (_, in_container),
        ):
            for execute in (in_bubblewrap, in_container):
                execute(HI)
                execute(RUN_HI)
            container, bubblewrap = interleaved(
                lambda: in_container(RUN_HI), lambda: in_bubblewrap(RUN_HI), rounds=50
            )
    return ratio("step in docker / in bubblewrap", container, bubblewrap, target=2.0)
