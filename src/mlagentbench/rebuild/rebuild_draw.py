"""Make a submission again on one draw, and grade it with the measurements of that draw."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.environment.feedback import hold_out
from mlagentbench.environment.reproduction import Reproduction, reproduce
from mlagentbench.environment.run_slot import require_gpus
from mlagentbench.errors import RunFailed
from mlagentbench.fs import scratch_directory
from mlagentbench.grading.grade import Announce, Scored, score_submission
from mlagentbench.grading.rungs import reported_error, with_scale
from mlagentbench.grading.success import (
    exceeds_ceiling,
    floor_of,
    normalised,
    on_scale,
    paper_improvement,
    spread_on_scale,
)
from mlagentbench.grading.timed_grading import MachineBusy
from mlagentbench.machine.slots import slot_for
from mlagentbench.program_services.services import ProgramServices, grading_services, run_services
from mlagentbench.rebuild.score_of_record import NOT_REPRODUCED
from mlagentbench.records import RebuiltDraw, RunRecord
from mlagentbench.runs.directory import HeldRun
from mlagentbench.runs.objects.file_differences import submission_difference
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import NotCollected, materialise
from mlagentbench.runs.rebuilds import DrawLine
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.draw_measurements import ensure_measured
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.draws import FreshKey, draw_seed, is_fresh
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.spec import Measured, Metric
from mlagentbench.tasks.stored_measurements import shipped_measurements
from mlagentbench.tasks.task import Task


@dataclass(frozen=True)
class Rebuilding:
    """What all draws of one rebuilding have in common."""

    run: HeldRun
    record: RunRecord
    task: Task
    task_env: PythonEnv
    """The virtual environment of the task's own code."""
    run_env: PythonEnv
    """That of the run, which may have more packages."""
    step: int
    snapshot: str
    command: str | None
    proposed: bool
    """Whether the command is a guess, since the agent left no program."""
    tool: str | None
    announce: Announce
    key: FreshKey | None = None
    """What the seeds of fresh draws follow from; None for splits of real data."""
    asked_for: bool = False
    """Whether --command named the command."""
    again: bool = False
    """Whether draws are rebuilt that were rebuilt before."""

    @property
    def program_only(self) -> bool:
        """Whether only a program was submitted, and no file to compare with what it makes."""
        return self.task.spec.rebuild.command is not None and not self.record.disclosure.execution

    async def measure(self, data: PreparedData) -> None:
        """Measure a draw, unless that was done before."""
        async with self._slot(data):
            await self._measured(data)

    async def on(self, data: PreparedData, *, is_given: bool) -> DrawLine:
        """Rebuild on one draw. RunFailed when the infrastructure or the task fails."""
        self.announce(f"rebuilding on draw {data.draw}")
        async with self._slot(data):
            measured = await self._measured(data)
            with scratch_directory("rebuild") as scratch:
                return await self._made_and_graded(data, measured, scratch, is_given)

    @asynccontextmanager
    async def _slot(self, data: PreparedData) -> AsyncIterator[None]:
        """The cores, memory and GPUs of the run, in which everything is done again."""
        facts = self.record.disclosure
        who = f"rebuilding on draw {data.draw} of {self.run.shown_name}"
        async with slot_for(self.task.spec.resources.need(facts.gpus), who, self.announce) as slot:
            require_gpus(slot, self.task.gpus_asked(facts.gpus))
            yield

    async def _measured(self, data: PreparedData) -> Measured:
        return await ensure_measured(self.task, data, self.task_env, self.tool, self.announce)

    async def _made_and_graded(
        self, data: PreparedData, measured: Measured, scratch: Path, is_given: bool
    ) -> DrawLine:
        made = await self._reproduce(data, scratch / "made")
        if made.submission is None:
            scored = Scored(reason=f"{NOT_REPRODUCED}: {made.reason}")
        else:
            scored = await self._score(data, made.submission)
        difference = None
        if is_given and made.submission is not None and not self.program_only:
            difference = self._difference(made.submission, scratch / "submitted")
        return DrawLine(
            step=self.step,
            snapshot=self.snapshot,
            command=self.command,
            result=self._result(data, measured, scored, made),
            difference=difference,
            left_out=made.left_out,
            warnings=made.warnings,
            literals=made.literals,
            extra=scored.extra,
            tool=scored.tool,
        )

    def _result(
        self, data: PreparedData, measured: Measured, scored: Scored, made: Reproduction
    ) -> RebuiltDraw:
        public = shipped_measurements(self.task, data.tier, self.tool)
        one = rebuilt_draw(self.task.spec.metric, data, measured, public, scored, made)
        return one.model_copy(update={"seed": self._seed(data)})

    def _seed(self, data: PreparedData) -> str | None:
        """The seed of a fresh draw, which is revealed now."""
        if self.key is None or not is_fresh(data.draw):
            return None
        return f"{draw_seed(self.task, data.tier, data.draw, key=self.key):032x}"

    async def _reproduce(self, data: PreparedData, scratch: Path) -> Reproduction:
        scratch.mkdir(mode=0o755)
        public = data.public
        feedback = self.record.disclosure.feedback
        if feedback != "none":  # the program was written for the smaller data
            public = (await hold_out(self.task, data, self.task_env, call_task, 1)).public
        return await reproduce(
            self.task,
            ObjectStore(self.run.objects),
            self.snapshot,
            public,
            self.run_env,
            self.record.seed,
            scratch,
            command=self.command,
            services=self._services(data, scratch),
        )

    def _services(self, data: PreparedData, scratch: Path) -> ProgramServices | None:
        """What the program can use while it runs; nothing runs if the submission is the program."""
        if self.command is None:
            return None
        return run_services(self.task, self.tool, data.private, scratch / "asked.jsonl")

    async def _score(self, data: PreparedData, submission: Path) -> Scored:
        services = grading_services(
            self.task, self.tool, data.private, self.run.replies, self.run.lease
        )
        try:
            return await score_submission(
                self.task, data, self.task_env, submission, services, self.announce
            )
        except MachineBusy as busy:
            again = f"mlagentbench runs rebuild {self.run.path}"
            raise RunFailed(busy.cause, f"{busy.detail}; run: {again}") from busy

    def _difference(self, made: Path, submitted: Path) -> str | None:
        submitted.mkdir()
        path = self.task.spec.submission.path
        try:
            materialise(ObjectStore(self.run.objects), self.snapshot, submitted, [path])
        except NotCollected as missing:
            return f"nothing was submitted: {missing}"
        return submission_difference(submitted, made)


def rebuilt_draw(
    metric: Metric,
    data: PreparedData,
    measured: Measured,
    public: Measured | None,
    scored: Scored,
    made: Reproduction,
) -> RebuiltDraw:
    """What was made of a draw, compared with that draw's floor and reference."""
    one = RebuiltDraw(
        draw=data.draw,
        data_hash=data.hash,
        score=scored.score,
        score_error=reported_error(scored.extra),
        floor=floor_of(metric, measured),
        reference=measured.reference.mean,
        noise=0.0,
        noise_degrees=0,
        starter_runs=measured.starter.runs,
        reason=scored.reason,
        broken_rule=scored.broken_rule,
        seconds=made.seconds,
        cpu_seconds=made.cpu_seconds,
    )
    return compared(metric, one, measured, public)


def compared(
    metric: Metric, one: RebuiltDraw, measured: Measured, public: Measured | None = None
) -> RebuiltDraw:
    """A draw with what its score is worth by these measurements, and those of the public draw."""
    floor, reference = floor_of(metric, measured), measured.reference.mean
    distance = on_scale(metric, reference) - on_scale(metric, floor)
    pooled = measured.noise
    spread = spread_on_scale(metric, measured.starter) if pooled is None else pooled.std
    worth = None if one.score is None else normalised(metric, one.score, floor, reference)
    is_lost = one.score is not None and worth is None
    reason = f"the score {one.score} has no place on the task's scale" if is_lost else one.reason
    return with_scale(metric, one, measured, public).model_copy(
        update={
            "score": None if worth is None else one.score,
            "normalised": worth,
            "paper_improvement": None
            if one.score is None
            else paper_improvement(metric, measured.starter.mean, one.score),
            "standard_error": None if worth is None else _standard_error(metric, one, distance),
            "floor": floor,
            "reference": reference,
            "noise": spread / distance,
            "noise_degrees": measured.starter.runs - 1 if pooled is None else pooled.degrees,
            "starter_runs": measured.starter.runs,
            "reason": reason,
            "above_ceiling": one.score is not None and exceeds_ceiling(metric, measured, one.score),
        }
    )


def _standard_error(metric: Metric, one: RebuiltDraw, distance: float) -> float | None:
    """The grader's standard error, in normalised scores."""
    if one.score_error is None or one.score is None:
        return None
    error = one.score_error / abs(one.score) if metric.scale == "log" else one.score_error
    return abs(error / distance)


def elapsed(since: float) -> float:
    """Seconds since a time of the monotonic clock."""
    return round(time.monotonic() - since, 3)
