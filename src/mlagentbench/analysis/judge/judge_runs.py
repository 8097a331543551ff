"""`mlagentbench report --judge MODEL`: judge the runs that this model has not judged yet."""

from collections.abc import Callable, Iterable, Sequence

import anyio

from mlagentbench.analysis.judge.evidence_prompt import JOURNAL_CHARACTERS
from mlagentbench.analysis.judge.judge import Judge, JudgeFailed
from mlagentbench.errors import UsageError
from mlagentbench.models.model_check import require_model
from mlagentbench.models.model_choice import NO_MODEL, ModelChoice
from mlagentbench.records import Record
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.results import read_run

AT_ONCE = 4
"""Runs that are judged side by side."""


class UnjudgedRun(Record):
    """A run that the judge gave no judgement of, and why."""

    run: str
    reason: str


class Judging(Record):
    """What came of judging many runs."""

    judged: int
    kept: int
    """Judged before: nothing was asked."""
    rejected: int
    """Judged, but without a single vote that kept the form."""
    failed: tuple[UnjudgedRun, ...]

    @property
    def text(self) -> str:
        """What happened, in one line."""
        parts = [f"{self.judged} runs judged, {self.kept} had been judged before"]
        if self.rejected:
            parts.append(f"in {self.rejected} no vote kept the form asked for")
        if self.failed:
            parts.append(f"{len(self.failed)} could not be judged; type the command again for them")
        return "; ".join(parts)


def judge_runs(
    runs: Sequence[RunDirectory],
    choice: ModelChoice,
    say: Callable[[str], None],
    max_characters: int = JOURNAL_CHARACTERS,
) -> Judging:
    """Judge every one of these runs that ended and had a model, and is not judged yet."""
    from inspect_ai.model import get_model

    require_model(choice)
    model = get_model(choice.name, memoize=False, **choice.arguments)
    judging = _JudgingMany(Judge(model, max_characters), say)
    anyio.run(judging.work, runs)
    return judging.result()


class _JudgingMany:
    """Judges runs side by side; what fails for one does not stop the others."""

    def __init__(self, judge: Judge, say: Callable[[str], None]) -> None:
        self._judge = judge
        self._say = say
        self._limiter = anyio.CapacityLimiter(AT_ONCE)
        self._judged = self._kept = self._rejected = 0
        self._failed: list[UnjudgedRun] = []

    async def work(self, runs: Iterable[RunDirectory]) -> None:
        async with anyio.create_task_group() as group:
            for run in runs:
                group.start_soon(self._one, run)

    async def _one(self, run: RunDirectory) -> None:
        async with self._limiter:
            try:
                if not _is_to_be_judged(run):
                    return
                if self._judge.stored(run) is not None:
                    self._kept += 1
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
            kept=self._kept,
            rejected=self._rejected,
            failed=tuple(self._failed),
        )


def _is_to_be_judged(run: RunDirectory) -> bool:
    """Whether a run has ended and a model had a part in it."""
    result = read_run(run)
    return result.outcome is not None and result.record.disclosure.model != NO_MODEL
