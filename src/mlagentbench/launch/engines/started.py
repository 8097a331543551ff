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

from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.launch.engines.engine import ENGINES, EngineChoice
from mlagentbench.launch.plans.plan import RunRequest, plan_files
from mlagentbench.launch.plans.plan_state import planned_runs
from mlagentbench.machine.ledger import Need
from mlagentbench.records import Record
from mlagentbench.untrusted_text import shown_path

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
    need: Need
    """Of each worker."""

    def path(self, out: Path) -> Path:
        return out / JOBS / f"{self.choice.name}-{self.job}.json"

    def write(self, out: Path) -> None:
        write_atomically(self.path(out), json.dumps(self.model_dump(), indent=1).encode())

    def forget(self, out: Path) -> None:
        """Remove what was written: the job has ended."""
        self.path(out).unlink(missing_ok=True)


def started_jobs(out: Path, engine: str | None = None) -> list[StartedJob]:
    """What was started for OUT, by one engine or by all, the newest first."""
    found = [one for one in map(_read, (out / JOBS).glob("*.json")) if one is not None]
    newest_first = [job for _, job in sorted(found, key=lambda one: one[0], reverse=True)]
    return [one for one in newest_first if engine is None or one.choice.name == engine]


def _read(file: Path) -> tuple[float, StartedJob] | None:
    """When a job was started, and the job.

    None for what another version has written, and for what is forgotten meanwhile.
    """
    try:
        return file.stat().st_mtime, StartedJob.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def need_of_worker(requests: Iterable[RunRequest]) -> Need:
    """The most that any of these runs needs, with the harness beside it."""
    kinds = {(one.task, one.settings.profile, one.settings.gpus): one for one in requests}
    needs = [one.need() for one in kinds.values()]
    return Need(
        cpus=max(need.cpus for need in needs),
        memory=max(need.memory for need in needs) + HARNESS_MEMORY,
        gpus=max(need.gpus for need in needs),
    )


def covers(given: Need, asked: Need) -> bool:
    """Whether a worker that was given so much can take what asks for so much."""
    return given.cpus >= asked.cpus and given.memory >= asked.memory and given.gpus >= asked.gpus


def least_of(needs: Sequence[Need]) -> Need:
    """What workers that were given so much can all take."""
    return Need(
        cpus=min(need.cpus for need in needs),
        memory=min(need.memory for need in needs),
        gpus=min(need.gpus for need in needs),
    )


def workers_for(requests: Sequence[RunRequest], jobs: int | None, most: int) -> int:
    """How many workers these runs should have, each of which has one run at a time."""
    return min(len(requests), jobs or len(requests), most)


def runs_left(out: Path) -> bool:
    """Whether the plans of OUT ask for runs that are not over."""
    runs = planned_runs(plan_files(out))
    return any(run.state(with_progress=False).is_open for run in runs)


def cancel_started(out: Path, console: "Terminal") -> None:
    """Stop all jobs that were started for OUT; says at the end which engine does not answer."""
    newest_last = reversed(started_jobs(out))
    failed: dict[str, str] = {}
    for choice in {one.choice.name: one.choice for one in newest_last}.values():
        if choice.name in ENGINES:
            try:
                choice.make(out, None, console).cancel()
            except UsageError as error:
                failed[choice.name] = str(error)
    for name, reason in failed.items():
        records = " ".join(shown_path(one.path(out)) for one in started_jobs(out, name))
        console.print(
            f"{name}: its workers were not stopped: {reason}. Those that are left see that their "
            f"runs are cancelled; once there are none, remove {records}",
            soft_wrap=True,
        )
