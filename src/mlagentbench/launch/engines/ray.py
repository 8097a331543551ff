"""Runs on a Ray cluster: one actor a slot, each of which keeps a worker.

The actors are detached: they belong to the cluster and not to this process, which only follows the
runs. Ray starts the actor of a dead node on another one, where its worker resumes what is free.
OUT, the package and its data must be in directories that all nodes share.
"""

import hashlib
import os
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlagentbench.errors import UsageError
from mlagentbench.launch.engines.cluster import MOST_WORKERS, ClusterEngine
from mlagentbench.launch.engines.engine import EngineOptions, read_options
from mlagentbench.launch.engines.ray_worker import WorkerCommand, WorkerKeeper
from mlagentbench.launch.engines.started import StartedJob, covers, least_of, started_jobs
from mlagentbench.launch.plans.plan import RunRequest, plan_files
from mlagentbench.launch.plans.plan_state import PlannedRun, planned_runs
from mlagentbench.machine.ledger import Need
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Record

if TYPE_CHECKING:
    from types import ModuleType

MOST_RESTARTS = 100
STOPPING = 60.0
"""Seconds that workers get to stop their runs."""
PAUSE = 0.5
CONNECTING = 10.0
PASSED_ON = ("MLAGENTBENCH_", "INSPECT_", "PYTHONPATH")
"""The variables of this command that workers get, besides those that end like these:"""
PASSED_ON_ENDS = ("_API_KEY", "_BASE_URL")


class RayOptions(Record):
    """--engine-options of Ray: there are none so far."""


class RayEngine(ClusterEngine):
    """Starts workers as detached actors, and follows their runs."""

    def __init__(self, options: EngineOptions) -> None:
        super().__init__(options)
        read_options(RayOptions, options.choice)
        _require_ray()

    def cancel(self) -> None:
        actors = []
        for name in self._actors():
            with suppress(ValueError):  # it has ended meanwhile
                actors.append(self._ray.get_actor(name))
        for actor in actors:
            actor.stop.remote()
        deadline, runs = time.monotonic() + STOPPING, planned_runs(plan_files(self._out))
        while any(map(self._works_on, runs)) and time.monotonic() < deadline:
            time.sleep(PAUSE)
        for actor in actors:
            self._ray.kill(actor, no_restart=True)
        if actors:
            self._console.print(f"stopped {counted(len(actors), 'worker')} of Ray")
        self._forget()

    # Its actors

    @property
    def _address(self) -> str:
        return self._choice.argument or os.environ.get("RAY_ADDRESS", "auto")

    @property
    def _namespace(self) -> str:
        """One for each OUT."""
        return f"mlagentbench-{hashlib.sha256(os.fsencode(self._out)).hexdigest()[:12]}"

    @cached_property
    def _ray(self) -> "ModuleType":
        """Ray, connected to the cluster."""
        import ray

        try:
            _require_answer(self._address)
            ray.init(
                address=self._address,
                namespace=self._namespace,
                configure_logging=False,
                log_to_driver=False,
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise UsageError(
                f"--engine ray: no Ray cluster answers at {self._address} ({error}); start one "
                "with `ray start --head`, or name it: --engine ray:HOST:PORT"
            ) from error
        return ray

    def _actors(self) -> list[str]:
        """The names of the workers that the cluster has, or will start when there is room."""
        self._ray  # noqa: B018 connects first
        from ray.util import list_named_actors

        return [str(name) for name in list_named_actors()]

    def _works_on(self, run: PlannedRun) -> bool:
        """Whether a worker of Ray holds a run, and not one that a person has started."""
        holder = run.directory.holder
        return holder is not None and holder.worker.startswith(f"{self._choice.name} ")

    def _is_working(self) -> bool:
        return bool(self._actors())

    def _live_workers(self, need: Need) -> int:
        """How many there are, if all of them can take these runs."""
        if not (actors := self._actors()):
            self._forget()
        known = started_jobs(self._out, self._choice.name)
        if not actors or not all(covers(job.need, need) for job in known):
            return 0
        self._console.print(f"following the workers that Ray at {self._address} has already")
        return len(actors)

    def _forget(self) -> None:
        for job in started_jobs(self._out, self._choice.name):
            job.forget(self._out)

    def _start(self, requests: Sequence[RunRequest], need: Need, count: int) -> None:
        taken = set(self._actors())
        free = (name for name in map("worker-{}".format, range(MOST_WORKERS * 2)))
        names = [name for name in free if name not in taken][:count]
        self._folder.mkdir(parents=True, exist_ok=True)
        actor: Any = self._ray.remote(WorkerKeeper)
        for name in names:
            command = WorkerCommand(
                out=self._out,
                name=name,
                waits=name == names[0],
                log=self._folder / f"{name}.log",
                directory=Path.cwd(),
                variables=_variables(need),
            )
            actor.options(
                name=name,
                lifetime="detached",
                max_restarts=MOST_RESTARTS,
                num_cpus=need.cpus,
                num_gpus=need.gpus,
                memory=need.memory,
                scheduling_strategy="SPREAD",
            ).remote(command.model_dump_json())
        job = self._namespace.removeprefix("mlagentbench-")
        # One record is of all workers that are there, so it has what even the smallest can take.
        earlier = started_jobs(self._out, self._choice.name) if taken else []
        least = least_of([need, *(one.need for one in earlier)])
        StartedJob(choice=self._choice, job=job, need=least).write(self._out)
        self._console.print(
            f"started {counted(count, 'worker')} on Ray at {self._address} for "
            f"{counted(len(requests), 'run')}; logs go to {self._folder}",
            soft_wrap=True,
        )


def _require_ray() -> None:
    try:
        import ray  # noqa: F401
    except ImportError as error:
        raise UsageError("--engine ray needs ray: pip install 'mlagentbench[ray]'") from error


def _require_answer(address: str) -> None:
    """OSError if nothing listens at HOST:PORT, which Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=CONNECTING).close()


def _variables(need: Need) -> dict[str, str]:
    """What a worker's environment gets, besides that of its node."""
    passed_on = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(PASSED_ON) or name.endswith(PASSED_ON_ENDS)
    }
    return passed_on | {
        "MLAGENTBENCH_ALLOCATION_CPUS": str(need.cpus),
        "MLAGENTBENCH_ALLOCATION_MEMORY": str(need.memory),
    }
