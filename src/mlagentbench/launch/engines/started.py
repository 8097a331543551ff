"""What engines have started for an OUT, so that any later command can follow or stop it.

OUT/jobs/
  ENGINE-JOB.json   one job of a scheduler, which has some workers
  ENGINE/           what its workers print
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from mlagentbench.fs import write_atomically
from mlagentbench.launch.engines.engine import ENGINES, EngineChoice
from mlagentbench.launch.plan import RunRequest, plan_files
from mlagentbench.launch.plan_state import planned_runs
from mlagentbench.records import Record
from mlagentbench.tasks.task import load_task

if TYPE_CHECKING:
    from mlagentbench.terminal import Terminal

JOBS = "jobs"
HARNESS_MEMORY = 10**9
"""Bytes that a worker takes besides what its run needs."""


class WorkerNeeds(Record):
    """What one worker needs so that it can take each run of a plan, one at a time."""

    cpus: int
    memory: int
    """Bytes."""
    gpus: int = 0

    def covers(self, other: "WorkerNeeds") -> bool:
        mine, theirs = (self.cpus, self.memory, self.gpus), (other.cpus, other.memory, other.gpus)
        return all(one >= needed for one, needed in zip(mine, theirs, strict=True))


class StartedJob(Record):
    """A job of a scheduler, whose workers take runs of OUT."""

    choice: EngineChoice
    job: str
    """Its id: that of a Slurm array, or the namespace of Ray's actors."""
    workers: int
    needs: WorkerNeeds

    def path(self, out: Path) -> Path:
        return out / JOBS / f"{self.choice.name}-{self.job}.json"

    def write(self, out: Path) -> None:
        write_atomically(self.path(out), json.dumps(self.model_dump(), indent=1).encode())


def started_jobs(out: Path, engine: str | None = None) -> list[StartedJob]:
    """What was started for OUT, by one engine or by all, the newest first."""
    files = sorted((out / JOBS).glob("*.json"), key=lambda file: -file.stat().st_mtime)
    found = [one for one in map(_read, files) if one is not None]
    return [one for one in found if engine is None or one.choice.name == engine]


def _read(file: Path) -> StartedJob | None:
    """None for what another version has written."""
    try:
        return StartedJob.model_validate_json(file.read_bytes())
    except ValidationError:
        return None


def needs_of(requests: Iterable[RunRequest]) -> WorkerNeeds:
    """The most that any of these runs needs, with the harness beside it."""
    resources = [load_task(name).spec.resources for name in {one.task for one in requests}]
    return WorkerNeeds(
        cpus=max(one.cpus for one in resources),
        memory=max(int(one.memory) for one in resources) + HARNESS_MEMORY,
        gpus=max(one.gpus for one in resources),
    )


def workers_for(requests: Sequence[RunRequest], jobs: int | None, most: int) -> int:
    """How many workers to start, each of which has one run at a time."""
    return min(len(requests), jobs or len(requests), most)


def runs_left(out: Path) -> bool:
    """Whether the plans of OUT ask for runs that are not over."""
    runs = planned_runs(plan_files(out))
    return any(run.state().state in ("running", "waiting") for run in runs)


def cancel_started(out: Path, console: "Terminal") -> None:
    """Stop all jobs that were started for OUT."""
    for choice in {one.choice.name: one.choice for one in started_jobs(out)}.values():
        if choice.name in ENGINES:
            choice.make(out, None, console).cancel()
