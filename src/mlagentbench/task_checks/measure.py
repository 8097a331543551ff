"""Measure a task by running its trivial predictors, its starter and its solution."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

from mlagentbench.errors import RunFailed
from mlagentbench.fs import scratch_directory
from mlagentbench.grading.measurements import MeasuredTask, TimedScore, measurements_from
from mlagentbench.models.model_choice import tool_role
from mlagentbench.records import Tier
from mlagentbench.sandbox.sandbox_registry import default_envs
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.trial_runs import Trial, Trials
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.data.progress import TerminalProgress
from mlagentbench.tasks.draws import all_draws, read_policy
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.stored_measurements import store_in_home, write_to_task
from mlagentbench.tasks.task import Task, load_task
from mlagentbench.terminal import Terminal

STARTER_RUNS: dict[Tier, int] = {"mini": 30, "full": 8}
REFERENCE_RUNS = 8
SECRET_SEED_RUNS = 8
"""Runs of the starter on a secret draw of the mini tier; fewer, because the user is waiting."""

Announce = Callable[[str], None]


def measure_tasks(
    names: Sequence[str],
    *,
    tier: Tier,
    runs: int | None,
    reference_runs: int,
    write: bool,
    draw: str,
    roles: Sequence[str] = (),
) -> Iterator[MeasuredTask]:
    """Measure tasks one after the other, store their measurements and yield them.

    `write` stores them in task.toml instead of the user data directory. A failure raises RunFailed,
    and nothing is written for that task.
    """
    tool = tool_role(roles)
    tasks = [load_task(name) for name in names]
    draws = all_draws(read_policy(draw, tier))
    console = Terminal(stderr=True)
    with TerminalProgress(console) as progress:
        for task, one in product(tasks, draws):
            data, python_env = ensure_ready(
                task, tier, one, call=call_task, envs=default_envs(), progress=progress
            )
            starter_runs = runs or STARTER_RUNS[tier]
            measured = asyncio.run(
                measure(task, data, python_env, starter_runs, reference_runs, progress.say, tool)
            )
            store = write_to_task if write else store_in_home
            yield MeasuredTask(
                task=task.id,
                tier=tier,
                metric=task.spec.metric,
                measured=measured,
                stored_in=store(task, tier, measured),
            )


async def measure(
    task: Task,
    data: PreparedData,
    python_env: PythonEnv,
    runs: int,
    reference_runs: int,
    announce: Announce,
    tool: str | None = None,
) -> Measured:
    """Run everything and summarise it; RunFailed when a part of the task does not work."""
    with scratch_directory("measure") as scratch:
        trials = Trials(task, data, python_env, scratch, tool)
        trivial = {}
        for name, submission in (await trials.trivial()).items():
            scored = await trials.score(submission)
            trivial[name] = _score(task, f"trivial predictor {name}", scored.score, scored.reason)
            announce(f"{task.id}: {name}: {trivial[name]:.6g}")
        starter = await _repeat(task, "starter", trials.starter, runs, announce)
        reference = await _repeat(task, "solution", trials.solution, reference_runs, announce)
        ceiling = await trials.ceiling()
    return measurements_from(
        task.spec.metric, data.hash, trivial, starter, reference, ceiling, trials.tool, data.bytes
    )


async def measure_secret_draw(
    task: Task, data: PreparedData, python_env: PythonEnv, announce: Announce
) -> Path:
    """Measure a new secret draw of the mini tier, and store the measurements on this machine."""
    announce(f"{task.id}: measuring floor, reference and bar on this draw")
    measured = await measure(task, data, python_env, SECRET_SEED_RUNS, REFERENCE_RUNS, announce)
    return store_in_home(task, data.tier, measured)


async def _repeat(
    task: Task, name: str, once: Callable[[int], Awaitable[Trial]], runs: int, announce: Announce
) -> list[TimedScore]:
    found = []
    for epoch in range(1, runs + 1):
        trial = await once(epoch)
        score = _score(task, name, trial.scored.score, trial.scored.reason)
        found.append(TimedScore(score=score, seconds=trial.seconds, cpu_seconds=trial.cpu_seconds))
        announce(
            f"{task.id}: {name} {epoch}/{runs}: {score:.6g} "
            f"({trial.seconds:.1f} s, {trial.cpu_seconds:.1f} CPU s)"
        )
    return found


def _score(task: Task, name: str, score: float | None, reason: str | None) -> float:
    if score is None:
        raise RunFailed("task", f"{task.id}: the {name}'s submission gets no score: {reason}")
    return score
