"""Check that a task is sound: its measurements hold, its grader is fair, nothing leaks.

Each check is a function that returns a CheckResult. Those of verdicts.py compare scores, those of
leaks.py, train_test_copies.py and leak_probe.py search the data. This module produces the scores.
"""

import asyncio
import random
from collections.abc import Awaitable, Iterator, Sequence
from itertools import product
from pathlib import Path

from mlagentbench.errors import RunFailed
from mlagentbench.fs import scratch_directory
from mlagentbench.grading.grade import Scored, call_grader, outputs_of
from mlagentbench.grading.known_good_outputs import known_good_outputs
from mlagentbench.grading.measurements import TimedScore
from mlagentbench.grading.success import floor_of
from mlagentbench.models.model_choice import tool_role
from mlagentbench.records import Profile, Tier
from mlagentbench.sandbox.sandbox_registry import default_envs
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks import grader_traps, leak_probe, leaks, train_test_copies, verdicts
from mlagentbench.task_checks.data_tables import read_answers, read_csv
from mlagentbench.task_checks.trial_runs import Announce, Trial, Trials, tasks_to_try
from mlagentbench.task_checks.verdicts import SHUFFLED, Check, CheckedTask, CheckResult
from mlagentbench.tasks.call_contract import InvalidSubmissionReported
from mlagentbench.tasks.data.known_good import SAMPLE
from mlagentbench.tasks.data.progress import TerminalProgress
from mlagentbench.tasks.draws import PUBLIC, all_draws, read_policy
from mlagentbench.tasks.make_ready import Ready, ensure_ready
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.stored_measurements import stored_measurements
from mlagentbench.tasks.task import ABLATIONS, DEFAULT, Task
from mlagentbench.terminal import Terminal

SHUFFLE_COUNT = 5
SAMPLE_IS_SOUND = Check("sample submission is valid and constant")
KNOWN_GOOD_IS_GRADED = Check("known-good submission is graded")


def check_tasks(
    names: Sequence[str],
    *,
    tier: Tier,
    profile: Profile | None = None,
    draw: str = PUBLIC,
    roles: Sequence[str] = (),
) -> Iterator[CheckedTask]:
    """Check tasks one after the other."""
    tool = tool_role(roles)
    tasks = tasks_to_try(names, tier, profile)
    draws = all_draws(read_policy(draw, tier))
    with TerminalProgress(Terminal(stderr=True)) as progress:
        for task, one in product(tasks, draws):
            ready = ensure_ready(
                task, tier, one, call=call_task, envs=default_envs(), progress=progress
            )
            yield asyncio.run(check_task(task, ready, progress.say, tool))


async def check_task(
    task: Task, ready: Ready, announce: Announce, tool: str | None = None
) -> CheckedTask:
    """Run all checks of a prepared task."""
    with scratch_directory("check") as scratch:
        return await _Check(task, ready, scratch, announce, tool).run()


class _Check:
    """The checks of one task."""

    def __init__(
        self, task: Task, ready: Ready, scratch: Path, announce: Announce, tool: str | None = None
    ) -> None:
        self.task = task
        self.data = ready.data
        self.trials = Trials(task, ready.data, ready.python_env, scratch, announce, tool)
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
        for kind in (DEFAULT, ABLATIONS):
            if self.task.panel(kind):
                results.append(await self._panel(kind))
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
            await self._finding(KNOWN_GOOD_IS_GRADED, self._known_good(solution)),
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

    async def _panel(self, kind: str) -> CheckResult:
        """Whether the hard tier's programs of this kind are no success."""
        scores = {}
        for name in self.task.panel(kind):
            self.say(f"running {kind} {name}")
            scores[name] = (await self._tried(self.trials.member(kind, name))).scored
        return verdicts.panel_stays_below(self.task, self.measured, kind, scores)

    async def _model_matters(self, solution: Trial) -> list[CheckResult]:
        """Whether the task needs a program that uses a model."""
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
        """A failure of the task is a finding; other failures are raised."""
        try:
            return await trial
        except RunFailed as failure:
            return Trial(submission=self.scratch, scored=_failed(failure))

    async def _finding(self, check: Check, result: Awaitable[CheckResult]) -> CheckResult:
        try:
            return await result
        except RunFailed as failure:
            return check.fails(_failed(failure).reason or "")

    async def _scored_again(self, trial: Trial) -> Scored:
        if trial.scored.score is None:
            return trial.scored
        try:
            return await self.trials.score(trial.submission)
        except RunFailed as failure:
            return _failed(failure)

    async def _sample_submission(self) -> CheckResult:
        """The sample submission has the right format and contains no information."""
        file = self.data.public / SAMPLE
        if not file.is_file():
            return SAMPLE_IS_SOUND.not_applicable(f"no public/{SAMPLE}")
        varied = self._varied_columns(file)
        if varied:
            return SAMPLE_IS_SOUND.fails(f"not constant: {', '.join(varied[:5])}")
        try:
            await self.trials.call("grade.check_format", submission=file, public=self.data.public)
        except InvalidSubmissionReported as invalid:
            return SAMPLE_IS_SOUND.fails(f"not valid: {invalid}")
        return SAMPLE_IS_SOUND.holds(SAMPLE)

    async def _known_good(self, solution: Trial) -> CheckResult:
        """The submission that tells a bad submission from a bad grader is itself good."""
        task, data, python_env = self.task, self.data, self.trials.python_env
        collected = outputs_of(task, solution.submission)
        if task.spec.kind == "timed" and solution.scored.score is None:
            return KNOWN_GOOD_IS_GRADED.not_applicable("the solution has no score")
        try:
            async with known_good_outputs(task, data, python_env, collected) as outputs:
                await call_grader(task, data, python_env, outputs)
        except InvalidSubmissionReported as invalid:
            return KNOWN_GOOD_IS_GRADED.fails(f"not valid: {invalid}")
        return KNOWN_GOOD_IS_GRADED.holds(f"{task.spec.submission.path} gets a score")

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
        """The solution's predictions, assigned to other rows, score no better than a constant."""
        file = solution.submission / self.task.spec.submission.path
        if self.task.spec.kind != "predictions" or file.suffix != ".csv":
            return SHUFFLED.not_applicable("the submission is no CSV file of predictions")
        if solution.scored.score is None:
            return SHUFFLED.fails("the solution has no score")
        chance, chance_name = await self._chance(measured)
        if chance is None:
            return SHUFFLED.fails("no trivial predictor is constant, and no floor is recorded")
        scores = []
        for seed in range(SHUFFLE_COUNT):
            target = self.scratch / f"shuffled-{seed}" / self.task.spec.submission.path
            target.parent.mkdir(parents=True)
            target.write_text(self._shuffled_text(file, seed), encoding="utf-8")
            scored = await self.trials.score(target.parent)
            if scored.score is None:
                return SHUFFLED.fails(f"shuffled predictions get no score: {scored.reason}")
            scores.append(scored.score)
        return verdicts.shuffled_like_chance(self.task.spec.metric, chance, chance_name, scores)

    def _shuffled_text(self, file: Path, seed: int) -> str:
        rows = read_csv(file)
        if rows is None:
            raise RunFailed("task", f"{self.task.id}: the solution's submission is not a CSV table")
        ids = self._id_column(list(map(str, rows.columns)))
        order = list(range(len(rows)))
        random.Random(seed).shuffle(order)
        others = [name for name in rows.columns if name != ids]
        rows[others] = rows[others].iloc[order].to_numpy()
        return str(rows.to_csv(index=False, lineterminator="\n"))

    async def _chance(self, measured: Measured | None) -> tuple[float | None, str]:
        """The score of the best constant trivial predictor, else the floor."""
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
