"""Judge the runs that a model has not judged yet: `mlagentbench report --judge MODEL`."""

from collections.abc import Callable, Iterable, Sequence

import anyio

from mlagentbench.analysis.judge.evidence_prompt import JOURNAL_CHARACTERS
from mlagentbench.analysis.judge.judge import Judge, JudgeFailed
from mlagentbench.errors import UsageError
from mlagentbench.models.model_check import require_model
from mlagentbench.models.model_choice import NO_MODEL, ModelChoice
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Record
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.results import read_run

AT_ONCE = 4
"""Runs that are judged concurrently."""


class UnjudgedRun(Record):
    """A run that was not judged, and why."""

    run: str
    reason: str


class Judging(Record):
    """The result of judging many runs."""

    judged: int
    stored: int
    """Already judged: the model was not called."""
    rejected: int
    """Judged, but all votes had the wrong format."""
    failed: tuple[UnjudgedRun, ...]

    @property
    def text(self) -> str:
        """A summary in one line."""
        parts = [f"{counted(self.judged, 'run')} judged, {self.stored} already judged"]
        if self.rejected:
            parts.append(f"{self.rejected} with no vote in the required format")
        if self.failed:
            parts.append(f"{len(self.failed)} not judged; run the command again to retry them")
        return "; ".join(parts)


def judge_runs(
    runs: Sequence[RunDirectory],
    choice: ModelChoice,
    say: Callable[[str], None],
    max_characters: int = JOURNAL_CHARACTERS,
) -> Judging:
    """Judge every run that has ended, used a model, and is not judged yet."""
    from inspect_ai.model import get_model

    require_model(choice)
    model = get_model(choice.name, memoize=False, **choice.arguments)
    judging = _JudgingMany(Judge(model, max_characters), say)
    anyio.run(judging.work, runs)
    return judging.result()


class _JudgingMany:
    """Judges runs concurrently; a failure does not stop the others."""

    def __init__(self, judge: Judge, say: Callable[[str], None]) -> None:
        self._judge = judge
        self._say = say
        self._limiter = anyio.CapacityLimiter(AT_ONCE)
        self._judged = self._stored = self._rejected = 0
        self._failed: list[UnjudgedRun] = []

    async def work(self, runs: Iterable[RunDirectory]) -> None:
        async with anyio.create_task_group() as group:
            for run in runs:
                group.start_soon(self._one, run)

    async def _one(self, run: RunDirectory) -> None:
        async with self._limiter:
            try:
                if not _can_be_judged(run):
                    return
                if self._judge.stored(run) is not None:
                    self._stored += 1
                    return
                report = await self._judge.judge(run)
            except UsageError:
                return  # the report names every run that cannot be read
            except JudgeFailed as error:
                self._failed.append(UnjudgedRun(run=run.relative.as_posix(), reason=str(error)))
                self._say(f"not judged: {run.shown_name}: {error}")
                return
        self._judged += 1
        self._rejected += len(report.rejected) == len(report.seeds)
        self._say(f"judged {run.shown_name}")

    def result(self) -> Judging:
        return Judging(
            judged=self._judged,
            stored=self._stored,
            rejected=self._rejected,
            failed=tuple(self._failed),
        )


def _can_be_judged(run: RunDirectory) -> bool:
    """Whether a run has ended and used a model."""
    result = read_run(run)
    return result.outcome is not None and result.record.disclosure.model != NO_MODEL
