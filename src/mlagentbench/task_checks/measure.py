"""Measure a task by running its trivial predictors, its starter and its solution."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import product

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import scratch_directory
from mlagentbench.grading.grade import Scored, outputs_of
from mlagentbench.grading.measurements import MeasuredTask, measurements_from
from mlagentbench.models.model_choice import tool_role
from mlagentbench.numeric.number_format import counted, duration_text
from mlagentbench.records import Profile, Record, Tier
from mlagentbench.sandbox.sandbox_registry import default_envs
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.kept_trials import KeptTrial, KeptTrials
from mlagentbench.task_checks.trial_runs import Announce, Trial, Trials, tasks_to_try
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.data.progress import TerminalProgress
from mlagentbench.tasks.draws import PUBLIC, all_draws, is_public, read_policy
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.programs_hash import files_hash
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.stored_measurements import (
    home_file,
    shipped_measurements,
    store_in_home,
    stored_measurements,
    write_to_task,
)
from mlagentbench.tasks.task import ABLATIONS, DEFAULT, Task
from mlagentbench.terminal import Terminal

STARTER_RUNS: dict[Tier, int] = {"mini": 30, "hard": 30, "full": 8}
REFERENCE_RUNS = 8
DETERMINISTIC_RUNS = 3
"""So many runs with equal outputs and scores prove that the seed has no influence."""
DRAW_STARTER_RUNS = 3
"""Runs of the starter on a draw that is not public; its noise is pooled with the public draw's."""
DRAW_REFERENCE_RUNS = 1


class TrialCounts(Record):
    """How often starter and solution are run."""

    starter: int
    reference: int


def runs_on(tier: Tier, draw: str) -> TrialCounts:
    """The runs on a draw, unless other numbers are asked for."""
    if is_public(draw):
        return TrialCounts(starter=STARTER_RUNS[tier], reference=REFERENCE_RUNS)
    return TrialCounts(starter=DRAW_STARTER_RUNS, reference=DRAW_REFERENCE_RUNS)


def measure_tasks(
    names: Sequence[str],
    *,
    tier: Tier,
    runs: int | None,
    reference_runs: int | None,
    write: bool,
    draw: str,
    profile: Profile | None = None,
    again: bool = False,
    roles: Sequence[str] = (),
) -> Iterator[MeasuredTask]:
    """Measure tasks one after the other, store their measurements and yield them.

    `write` stores them in task.toml instead of the user data directory. A failure raises RunFailed,
    and nothing is written for that task; an interrupted measurement resumes, unless `again` is set.
    """
    tool = tool_role(roles)
    tasks = tasks_to_try(names, tier, profile)
    draws = all_draws(read_policy(draw, tier))
    if write and draw != PUBLIC:
        raise UsageError(
            f"--write with --draw {draw}: task.toml has the measurements of the public draw only; "
            "leave out --write, and they are stored for this machine"
        )
    console = Terminal(stderr=True)
    with TerminalProgress(console) as progress:
        for task, one in product(tasks, draws):
            data, python_env = ensure_ready(
                task, tier, one, call=call_task, envs=default_envs(), progress=progress
            )
            default = runs_on(tier, one)
            work = measure(
                task,
                data,
                python_env,
                runs or default.starter,
                reference_runs or default.reference,
                progress.say,
                tool,
                again=again,
            )
            measured = asyncio.run(work)
            store = write_to_task if write else store_in_home
            stored_in = store(task, tier, measured)
            forget_trials(task, data, python_env, measured.tool)
            yield MeasuredTask(
                task=task.id,
                tier=tier,
                profile=task.profile,
                metric=task.spec.metric,
                measured=measured,
                stored_in=stored_in,
                used_instead=used_instead(task, tier, measured, written=write),
            )


async def measure(
    task: Task,
    data: PreparedData,
    python_env: PythonEnv,
    runs: int,
    reference_runs: int,
    announce: Announce,
    tool: str | None = None,
    *,
    again: bool = False,
) -> Measured:
    """Run everything and summarise it; RunFailed when a part of the task does not work.

    Trials that an earlier measurement finished are not repeated, unless `again` is set.
    """
    with scratch_directory("measure") as scratch:
        trials = Trials(task, data, python_env, scratch, announce, tool)
        kept = KeptTrials(task, data, python_env, trials.tool)
        if again:
            kept.forget()
        starter = TrialSeries(task, "starter", trials.starter, runs, kept, announce)
        solution = TrialSeries(task, "solution", trials.solution, reference_runs, kept, announce)
        _announce_start(task, data, trials.tool, starter, solution, announce)
        trivial = await _trivial(trials, kept, announce)
        default, ablations = [
            await _panel(trials, kind, kept, announce) for kind in (DEFAULT, ABLATIONS)
        ]
        was_complete = starter.is_complete and solution.is_complete
        for series in (starter, solution):
            await series.run(at_most=1)
        if not was_complete:
            left = starter.seconds_left() + solution.seconds_left()
            announce(f"{task.id}: about {duration_text(left)} left, with grading")
        for series in (starter, solution):
            await series.run()
        ceiling = await trials.ceiling()
    return measurements_from(
        task.spec.metric,
        data.hash,
        trivial,
        starter.found,
        solution.found,
        ceiling,
        trials.tool,
        data.bytes,
        None if is_public(data.draw) else shipped_measurements(task, data.tier, trials.tool),
        data.draw,
        default,
        ablations,
    )


def used_instead(task: Task, tier: Tier, measured: Measured, *, written: bool) -> str | None:
    """The other file with measurements of the same data, if those are used here."""
    used = stored_measurements(task, tier, measured.data, measured.tool)
    of_this_machine = used is not None and used.programs is not None
    if not written:
        return None if of_this_machine else "task.toml"
    if of_this_machine and task.spec.kind == "timed":
        return str(home_file(task, tier, measured.data, measured.tool))
    return None


def forget_trials(task: Task, data: PreparedData, python_env: PythonEnv, tool: str | None) -> None:
    """Remove the trials of a measurement that is stored."""
    KeptTrials(task, data, python_env, tool).forget()


class TrialSeries:
    """The runs of the starter or of the solution, each with the seed of another epoch.

    It is complete when all of them were made. It is also complete when the first few made the same
    outputs, byte for byte, and got the same score: different seeds change nothing then.
    """

    def __init__(
        self,
        task: Task,
        name: str,
        once: Callable[[int], Awaitable[Trial]],
        wanted: int,
        kept: KeptTrials,
        announce: Announce,
    ) -> None:
        self.found: list[KeptTrial] = []
        self._task = task
        self._name = name
        self._once = once
        self._wanted = wanted
        self._kept = kept
        self._announce = announce
        while not self.is_complete and (trial := kept.find(self._next_name)) is not None:
            self.found.append(trial)

    @property
    def is_complete(self) -> bool:
        return len(self.found) >= self._wanted or self._is_deterministic

    @property
    def _is_deterministic(self) -> bool:
        made = {(trial.score, trial.outputs) for trial in self.found}
        return len(self.found) >= DETERMINISTIC_RUNS and len(made) == 1

    @property
    def _next_name(self) -> str:
        return f"{self._name}-{len(self.found) + 1}"

    def left(self, deterministic: bool = False) -> int:
        """The runs that are left; fewer if the outputs are known not to depend on the seed."""
        made = {(trial.score, trial.outputs) for trial in self.found}
        few = deterministic or (len(self.found) > 1 and len(made) == 1)
        wanted = min(self._wanted, DETERMINISTIC_RUNS) if few else self._wanted
        return 0 if self.is_complete else wanted - len(self.found)

    def seconds_left(self) -> float:
        """How long the runs that are left will take, as the first one did."""
        return self.left() * self.found[0].whole_seconds

    async def run(self, at_most: int | None = None) -> None:
        """Make the runs that are left, or some of them; each is kept as soon as it is graded."""
        made = 0
        while not self.is_complete and made != at_most:
            await self._run_next()
            made += 1

    async def _run_next(self) -> None:
        epoch = len(self.found) + 1
        trial = await self._once(epoch)
        score = _score(self._task, self._name, trial.scored)
        outputs = await asyncio.to_thread(files_hash, outputs_of(self._task, trial.submission))
        done = KeptTrial(
            score=score,
            seconds=trial.seconds,
            cpu_seconds=trial.cpu_seconds,
            whole_seconds=trial.whole_seconds,
            outputs=outputs,
        )
        self._kept.keep(self._next_name, done)
        self.found.append(done)
        self._announce(
            f"{self._task.id}: {self._name} {epoch}/{self._wanted}: {score:.6g} "
            f"({trial.seconds:.1f} s, {trial.cpu_seconds:.1f} CPU s)"
        )
        if self._is_deterministic and epoch < self._wanted:
            self._announce(
                f"{self._task.id}: {self._name}: {counted(epoch, 'run')} with different seeds made "
                "the same outputs: deterministic, no more runs"
            )


def _announce_start(
    task: Task,
    data: PreparedData,
    tool: str | None,
    starter: TrialSeries,
    solution: TrialSeries,
    announce: Announce,
) -> None:
    """Say what is kept from before, and how long the rest will take, as far as that is known."""
    done = len(starter.found), len(solution.found)
    if any(done):
        announce(
            f"{task.id}: kept from before: {counted(done[0], 'run')} of the starter, {done[1]} of "
            "the solution; --again makes them anew"
        )
    earlier = stored_measurements(task, data.tier, data.hash, tool)
    earlier = earlier or task.shipped_measurements(data.tier)
    if starter.is_complete and solution.is_complete:
        return
    if earlier is None or earlier.starter.seconds is None or earlier.reference.seconds is None:
        announce(f"{task.id}: how long it takes is said after the first runs")
        return
    runs = starter.left(earlier.starter.deterministic), solution.left()
    seconds = runs[0] * earlier.starter.seconds + runs[1] * earlier.reference.seconds
    announce(
        f"{task.id}: about {duration_text(seconds)} besides grading, as measured before: "
        f"{counted(runs[0], 'run')} of the starter, {runs[1]} of the solution"
    )


async def _trivial(trials: Trials, kept: KeptTrials, announce: Announce) -> dict[str, float]:
    """The scores of the trivial predictors."""
    found = {}
    for name, submission in (await trials.trivial()).items():
        trial = kept.find(f"trivial-{name}")
        if trial is None:
            score = _score(trials.task, f"trivial predictor {name}", await trials.score(submission))
            trial = KeptTrial(score=score, seconds=0.0, cpu_seconds=0.0)
            kept.keep(f"trivial-{name}", trial)
            announce(f"{trials.task.id}: {name}: {score:.6g}")
        found[name] = trial.score
    return found


async def _panel(
    trials: Trials, kind: str, kept: KeptTrials, announce: Announce
) -> dict[str, float]:
    """The scores of the hard tier's programs of this kind, one run each."""
    found = {}
    for name in trials.task.panel(kind):
        trial = kept.find(f"{kind}-{name}")
        if trial is None:
            made = await trials.member(kind, name)
            score = _score(trials.task, f"{kind} {name}", made.scored)
            trial = KeptTrial(score=score, seconds=made.seconds, cpu_seconds=made.cpu_seconds)
            kept.keep(f"{kind}-{name}", trial)
            announce(f"{trials.task.id}: {kind} {name}: {score:.6g} ({made.cpu_seconds:.1f} CPU s)")
        found[name] = trial.score
    return found


def _score(task: Task, name: str, scored: Scored) -> float:
    if scored.score is None:
        raise RunFailed(
            "task", f"{task.id}: the {name}'s submission gets no score: {scored.reason}"
        )
    return scored.score
