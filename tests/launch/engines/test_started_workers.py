"""How many workers engines start beside those that are there, and how they stop them.

What schedulers answer is made up here; tests of each engine ask real ones.
"""

import os
import time
from collections.abc import Callable, Collection, Sequence
from io import StringIO
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.launch.engines import cluster, ray, slurm
from mlagentbench.launch.engines.engine import EngineOptions, choose_engine
from mlagentbench.launch.engines.ray import RayEngine
from mlagentbench.launch.engines.slurm import SlurmEngine
from mlagentbench.launch.engines.started import StartedJob, cancel_started, started_jobs
from mlagentbench.launch.plans.plan import RunRequest
from mlagentbench.machine.ledger import Need
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.lease import name_worker
from mlagentbench.terminal import Terminal

SMALL, LARGE = Need(cpus=1, memory=10**9), Need(cpus=2, memory=10**9)
RUNS = cast("Sequence[RunRequest]", [SimpleNamespace(run=str(n)) for n in range(700)])
LEFT = {"7", "8", "9"}
"""Runs that workers left when they ended."""


def started(out: Path, engine: str, job: str, need: Need = SMALL, age: int = 0) -> None:
    one = StartedJob(choice=choose_engine(engine), job=job, need=need)
    one.write(out)
    os.utime(one.path(out), (10**9 - age, 10**9 - age))


class MadeUpSlurm:
    """A queue of jobs, and what was asked of it."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self.submitted: list[int] = []
        self.cancelled: list[str] = []
        self.followed: list[Sequence[str]] = []
        self.asked_for: list[str] = []
        self.runs: list[str] = []

    def answer(self, *command: str) -> "CompletedProcess[str]":
        if command[0] == "scancel":
            self.states.pop(command[-1], None)
            self.cancelled.append(command[-1])
            return CompletedProcess(command, 0, "", "")
        assert "--array" in command and command[command.index("--name") + 1] == "mlagentbench"
        job = command[command.index("--jobs") + 1]
        self.asked_for.append(job)
        states = self.states.get(job)
        if states is None:
            return CompletedProcess(
                command, 1, "", "slurm_load_jobs error: Invalid job id specified"
            )
        return CompletedProcess(command, 0, states, "")

    def executor(self, _engine: object, _need: object, count: int) -> "MadeUpSlurm":
        self.submitted.append(count)
        return self

    def map_array(self, *_given: object) -> list[Any]:
        return [type("Element", (), {"job_id": "99_0"})()]

    def follow(
        self, _out: object, runs: Sequence[RunRequest], working: Callable[[], bool], _to: object
    ) -> Collection[str]:
        """All jobs end; runs are left only if nothing was submitted for them."""
        self.states.clear()
        self.asked_for.clear()
        assert not working()
        self.followed.append(list(self.asked_for))
        self.runs = [run.run for run in runs]
        return () if self.submitted else LEFT


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeUpSlurm:
    for name in ("sbatch", "srun"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    made_up = MadeUpSlurm()
    monkeypatch.setattr(slurm, "_slurm", made_up.answer)
    monkeypatch.setattr(cluster, "need_of_worker", lambda _requests: LARGE)
    monkeypatch.setattr(cluster, "follow", made_up.follow)
    monkeypatch.setattr(SlurmEngine, "_executor", lambda *given: made_up.executor(*given))
    return made_up


def options(out: Path, engine: str, jobs: int) -> EngineOptions:
    return EngineOptions(out, jobs, Terminal(file=StringIO()), choose_engine(engine))


def test_slurm_gets_the_workers_that_are_missing(tmp_path: Path, queue: MadeUpSlurm) -> None:
    for job, need in {"1": SMALL, "2": LARGE, "3": LARGE, "4": LARGE}.items():
        started(tmp_path, "slurm", job, need, age=-int(job))
    queue.states = {"1": "RUNNING\n", "3": "RUNNING\n", "4": "RUNNING\nPENDING\n"}
    SlurmEngine(options(tmp_path, "slurm", 100)).execute(RUNS)
    assert queue.submitted == [97] and queue.followed == [["4", "3", "99"]]
    assert {one.job for one in started_jobs(tmp_path)} == {"1", "3", "4", "99"}


@pytest.mark.parametrize(("jobs", "workers"), [(2, 2), (5, 3)])
def test_runs_that_are_left_get_workers_when_enough_were_there_and_ended(
    jobs: int, workers: int, tmp_path: Path, queue: MadeUpSlurm
) -> None:
    started(tmp_path, "slurm", "3", LARGE)
    queue.states = {"3": "RUNNING\n" * jobs}
    SlurmEngine(options(tmp_path, "slurm", jobs)).execute(RUNS)
    assert queue.followed == [["3"], ["3", "99"]] and queue.submitted == [workers]
    assert set(queue.runs) == LEFT


class MadeUpRay:
    """A cluster that lists the actors of OUT, one of which ends before it can be spoken to."""

    def __init__(self) -> None:
        self.stopped: list[str] = []

    def get_actor(self, name: str) -> Any:
        if name == "worker-1":
            raise ValueError("Failed to look up actor")
        self.stopped.append(name)
        remote = type("Remote", (), {"remote": lambda _self: None})()
        return type("Actor", (), {"stop": remote})()

    def kill(self, _actor: object, no_restart: bool) -> None:
        assert no_restart


@pytest.fixture
def actors(monkeypatch: pytest.MonkeyPatch) -> MadeUpRay:
    made_up = MadeUpRay()
    monkeypatch.setattr(ray, "_require_ray", lambda: None)
    monkeypatch.setattr(cluster, "need_of_worker", lambda _requests: LARGE)
    monkeypatch.setattr(RayEngine, "_ray", made_up)
    monkeypatch.setattr(RayEngine, "_actors", lambda _self: ["worker-0", "worker-1", "worker-2"])
    return made_up


@pytest.mark.parametrize(("given", "missing"), [(LARGE, 97), (SMALL, 100)])
def test_ray_gets_the_workers_that_are_missing(
    given: Need, missing: int, tmp_path: Path, actors: MadeUpRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    started(tmp_path, "ray", "ab", given)
    counts: list[int] = []
    monkeypatch.setattr(RayEngine, "_start", lambda _self, _runs, _need, n: counts.append(n))
    monkeypatch.setattr(cluster, "follow", lambda *_: ())
    RayEngine(options(tmp_path, "ray", 100)).execute(RUNS)
    assert counts == [missing]


def test_an_actor_that_ends_meanwhile_keeps_no_other_from_being_stopped(
    tmp_path: Path, actors: MadeUpRay
) -> None:
    started(tmp_path, "ray", "ab")
    RayEngine(options(tmp_path, "ray", 1)).cancel()
    assert actors.stopped == ["worker-0", "worker-2"] and not started_jobs(tmp_path)


@pytest.mark.parametrize(
    ("worker", "waits"),
    [("ray job worker-0 on n1, worker h-1", True), ("worker h-1", False), ("", False)],
)
def test_ray_waits_only_for_its_own_workers_to_stop(
    worker: str, waits: bool, tmp_path: Path, actors: MadeUpRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDirectory(tmp_path, Path("runs/t/mini/nop-0/none/1"))
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "aa.json").write_text(f'{{"requests": [{{"run": "{run.relative}"}}]}}')
    name_worker(worker)
    try:
        with run.hold() as held:
            monkeypatch.setattr(time, "sleep", lambda _seconds: held.release())
            RayEngine(options(tmp_path, "ray", 1)).cancel()
            assert (run.holder is None) == waits
    finally:
        name_worker("")


def test_an_engine_that_is_gone_keeps_no_other_from_being_cancelled(
    tmp_path: Path, queue: MadeUpSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_cluster(engine: Any) -> list[str]:
        raise UsageError(f"no Ray cluster answers at {engine._address}")

    monkeypatch.setattr(ray, "_require_ray", lambda: None)
    monkeypatch.setattr(RayEngine, "_actors", no_cluster)
    started(tmp_path, "ray:old:1", "ab", age=30)
    started(tmp_path, "slurm", "3", age=20)
    started(tmp_path, "slurm", "4", age=10)
    started(tmp_path, "ray:new:1", "cd")
    queue.states = {"3": "RUNNING\n"}
    printed = StringIO()
    cancel_started(tmp_path, Terminal(file=printed))
    assert set(queue.cancelled) == {"3"}
    assert {one.choice.name for one in started_jobs(tmp_path)} == {"ray"}
    said = printed.getvalue().splitlines()
    assert said[0] == "cancelled Slurm job 3"
    assert "no Ray cluster answers at new:1" in said[1] and "ray-cd.json" in said[1]
