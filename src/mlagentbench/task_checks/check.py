"""`mlagentbench check`: whether a task is sound: figures hold, the grader is fair, nothing leaks.

Each check is a function that returns a CheckResult. Those of evaluation/checks.py compare scores,
those of leaks.py, train_test_copies.py and leak_probe.py search the data; here the scores are made.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from rich.console import Console

from mlagentbench.errors import RunFailed
from mlagentbench.fs import scratch_directory
from mlagentbench.grading.grade import Scored, outputs_of
from mlagentbench.grading.measurements import TimedScore
from mlagentbench.grading.score import floor_of
from mlagentbench.models.model_choice import tool_role
from mlagentbench.records import Tier
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks import grader_traps, leak_probe, leaks, train_test_copies, verdicts
from mlagentbench.task_checks.data_tables import read_answers, read_csv, write_csv_text
from mlagentbench.task_checks.trials import Trial, Trials
from mlagentbench.task_checks.verdicts import CheckedTask, CheckResult
from mlagentbench.tasks.contract import InvalidSubmissionReported
from mlagentbench.tasks.data.preparation import MiniSeed
from mlagentbench.tasks.data.progress import TerminalProgress
from mlagentbench.tasks.measured import stored_measurements
from mlagentbench.tasks.ready import Ready, ensure_ready
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.task import Task, load_task

SAMPLE = "sample_submission.csv"
SHUFFLES = 5
SHUFFLED = "shuffled predictions score like chance"
SAMPLE_IS_SOUND = "sample submission is valid and constant"

Announce = Callable[[str], None]


def check_tasks(
    names: Sequence[str],
    *,
    tier: Tier,
    mini_seed: MiniSeed = "public",
    roles: Sequence[str] = (),
) -> Iterator[CheckedTask]:
    """Check tasks one after the other."""
    tool = tool_role(roles)
    tasks = [load_task(name) for name in names]
    with TerminalProgress(Console(stderr=True, highlight=False)) as progress:
        for task in tasks:
            ready = ensure_ready(task, tier, mini_seed, call=call_task, progress=progress)
            yield asyncio.run(check_task(task, ready, progress.say, tool))


async def check_task(
    task: Task, ready: Ready, announce: Announce, tool: str | None = None
) -> CheckedTask:
    """Everything that can be checked of a prepared task."""
    with scratch_directory("check") as scratch:
        return await _Check(task, ready, scratch, announce, tool).run()


class _Check:
    """The checks of one task."""

    def __init__(
        self,
        task: Task,
        ready: Ready,
        scratch: Path,
        announce: Announce,
        tool: str | None = None,
    ) -> None:
        self.task = task
        self.data = ready.data
        self.trials = Trials(task, ready.data, ready.python_env, scratch, tool)
        self.scratch = scratch
        self.measured = stored_measurements(task, ready.data.tier, ready.data.hash, tool)
        self._announce = announce

    async def run(self) -> CheckedTask:
        self.say("running the starter")
        starter = await self._tried(self.trials.starter(1))
        self.say("running the solution")
        solution = await self._tried(self.trials.solution(1))
        self.say("grading again, with shuffled predictions, and with nothing done")
        results = [*await self._fairness(starter, solution)]
        if self.task.spec.needs_model:
            results += await self._model_matters(solution)
        self.say("searching for leaks")
        results += await asyncio.to_thread(self._leaks)
        results.append(await leak_probe.probe_answers(self.task, self.data, self.say))
        return CheckedTask(
            task=self.task.id,
            version=self.task.spec.version,
            tier=self.data.tier,
            data_hash=self.data.hash,
            metric=self.task.spec.metric,
            measured=self.measured,
            starter=_timed(starter),
            solution=_timed(solution),
            results=tuple(results),
        )

    def say(self, text: str) -> None:
        self._announce(f"{self.task.id}: {text}")

    async def _fairness(self, starter: Trial, solution: Trial) -> list[CheckResult]:
        task, measured = self.task, self.measured
        nothing = await self._tried(self.trials.nothing())
        again = await self._scored_again(solution)
        return [
            verdicts.measurements_are_recorded(task, self.data.tier, measured),
            verdicts.starter_reproduces(task, measured, starter.scored),
            verdicts.solution_has_room(task, measured, solution.scored),
            verdicts.nothing_is_no_success(task, measured, nothing.scored),
            await self._finding(SAMPLE_IS_SOUND, self._sample_submission()),
            await self._finding(SHUFFLED, self._shuffled(solution, measured)),
            verdicts.same_when_graded_again(task, solution.scored, again),
            await grader_traps.grading_runs_nothing(
                task,
                self.data,
                self.trials.python_env,
                outputs_of(task, solution.submission),
                self.scratch,
            ),
            verdicts.bar_above_noise(task, measured),
        ]

    async def _model_matters(self, solution: Trial) -> list[CheckResult]:
        """What tells whether the task is one for a program that uses a model."""
        self.say("scoring the trivial programs, and the solution without its model")
        trivial = {
            name: await self.trials.score(submission)
            for name, submission in (await self.trials.trivial()).items()
        }
        constant = Scored(reason="the solution has no score")
        if solution.scored.score is not None:
            constant = await self.trials.score_without_model(solution.submission)
        return [
            verdicts.trivial_is_far(self.task.spec.metric, trivial, solution.scored),
            verdicts.solution_needs_its_model(self.task.spec.metric, solution.scored, constant),
        ]

    def _leaks(self) -> list[CheckResult]:
        return [
            leaks.search_names(self.task, self.data),
            leaks.search_contents(self.task, self.data),
            leaks.search_columns(self.task, self.data),
            leaks.public_times(self.data),
            leaks.writing_order(self.data),
            train_test_copies.count_copies(self.data),
        ]

    async def _tried(self, trial: Awaitable[Trial]) -> Trial:
        """A task that does not work is a finding; anything else that fails is not its fault."""
        try:
            return await trial
        except RunFailed as failure:
            return Trial(submission=self.scratch, scored=_failed(failure))

    async def _finding(self, name: str, check: Awaitable[CheckResult]) -> CheckResult:
        try:
            return await check
        except RunFailed as failure:
            return CheckResult(name=name, ok=False, detail=_failed(failure).reason or "")

    async def _scored_again(self, trial: Trial) -> Scored:
        if trial.scored.score is None:
            return trial.scored
        try:
            return await self.trials.score(trial.submission)
        except RunFailed as failure:
            return _failed(failure)

    async def _sample_submission(self) -> CheckResult:
        """The sample submission has the right form, and no information."""
        name = SAMPLE_IS_SOUND
        file = self.data.public / SAMPLE
        if not file.is_file():
            return CheckResult(name=name, ok=None, detail=f"not applicable: no public/{SAMPLE}")
        varied = self._varied_columns(file)
        if varied:
            detail = f"not constant: {', '.join(varied[:5])}"
            return CheckResult(name=name, ok=False, detail=detail)
        try:
            await self.trials.call("grade.check_format", submission=file, public=self.data.public)
        except InvalidSubmissionReported as invalid:
            return CheckResult(name=name, ok=False, detail=f"not valid: {invalid}")
        return CheckResult(name=name, ok=True, detail=SAMPLE)

    def _varied_columns(self, file: Path) -> list[str]:
        rows = read_csv(file)
        if rows is None:
            return ["(no CSV table)"]
        ids = self._id_column(list(map(str, rows.columns)))
        return [name for name in rows.columns if name != ids and rows[name].nunique() > 1]

    def _id_column(self, columns: list[str]) -> str:
        answers = read_answers(self.data.private)
        known = answers.id_column if answers is not None else None
        return known if known in columns else columns[0]

    async def _shuffled(self, solution: Trial, measured: Measured | None) -> CheckResult:
        """The solution's predictions, given to other rows, are worth no more than a constant."""
        file = solution.submission / self.task.spec.submission.path
        if self.task.spec.kind != "predictions" or file.suffix != ".csv":
            detail = "not applicable: the submission is no CSV file of predictions"
            return CheckResult(name=SHUFFLED, ok=None, detail=detail)
        if solution.scored.score is None:
            return CheckResult(name=SHUFFLED, ok=False, detail="the solution has no score")
        chance, chance_name = await self._chance(measured)
        if chance is None:
            detail = "no trivial predictor is constant, and no floor is recorded"
            return CheckResult(name=SHUFFLED, ok=False, detail=detail)
        scores = []
        for seed in range(SHUFFLES):
            target = self.scratch / f"shuffled-{seed}" / self.task.spec.submission.path
            target.parent.mkdir(parents=True)
            target.write_text(self._shuffled_text(file, seed), encoding="utf-8")
            scored = await self.trials.score(target.parent)
            if scored.score is None:
                detail = f"shuffled predictions get no score: {scored.reason}"
                return CheckResult(name=SHUFFLED, ok=False, detail=detail)
            scores.append(scored.score)
        return verdicts.shuffled_like_chance(self.task.spec.metric, chance, chance_name, scores)

    def _shuffled_text(self, file: Path, seed: int) -> str:
        rows = read_csv(file)
        if rows is None:
            raise RunFailed("task", f"{self.task.id}: the solution's submission is no CSV table")
        ids = self._id_column(list(map(str, rows.columns)))
        order = list(range(len(rows)))
        random.Random(seed).shuffle(order)
        others = [name for name in rows.columns if name != ids]
        rows[others] = rows[others].iloc[order].to_numpy()
        return write_csv_text(rows)

    async def _chance(self, measured: Measured | None) -> tuple[float | None, str]:
        """The score of the best constant among the trivial predictors, else the floor."""
        constants = {}
        for name, submission in (await self.trials.trivial()).items():
            if not self._varied_columns(submission / self.task.spec.submission.path):
                constants[name] = (await self.trials.score(submission)).score
        scores = [score for score in constants.values() if score is not None]
        metric = self.task.spec.metric
        if scores:
            return metric.best(scores), "best constant"
        return (None, "") if measured is None else (floor_of(metric, measured), "floor")


def _failed(failure: RunFailed) -> Scored:
    if failure.cause not in ("task", "grader"):
        raise failure
    return Scored(reason=failure.detail)


def _timed(trial: Trial) -> TimedScore | None:
    if trial.scored.score is None:
        return None
    return TimedScore(
        score=trial.scored.score, seconds=trial.seconds, cpu_seconds=trial.cpu_seconds
    )
