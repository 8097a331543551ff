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
from mlagentbench.launch.plans.plan import RunRequest, plan_files
from mlagentbench.launch.plans.plan_state import planned_runs
from mlagentbench.machine.ledger import Need
from mlagentbench.records import Record

if TYPE_CHECKING:
    from mlagentbench.terminal import Terminal

JOBS = "jobs"
HARNESS_MEMORY = 10**9
"""Bytes that a worker takes besides what its run needs."""


class StartedJob(Record):
    """A job of a scheduler, whose workers take runs of OUT."""

    choice: EngineChoice
    job: str
    """Its id: that of a Slurm array, or the namespace of Ray's actors."""
    workers: int
    need: Need
    """Of each worker."""

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


def need_of_worker(requests: Iterable[RunRequest]) -> Need:
    """The most that any of these runs needs, with the harness beside it."""
    kinds = {(one.task, one.settings.gpus): one for one in requests}
    needs = [one.need() for one in kinds.values()]
    return Need(
        cpus=max(need.cpus for need in needs),
        memory=max(need.memory for need in needs) + HARNESS_MEMORY,
        gpus=max(need.gpus for need in needs),
    )


def covers(given: Need, asked: Need) -> bool:
    """Whether a worker that was given so much can take what asks for so much."""
    return given.cpus >= asked.cpus and given.memory >= asked.memory and given.gpus >= asked.gpus


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
