"""Measure a task by running its trivial predictors, its starter and its solution."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import product

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import scratch_directory
from mlagentbench.grading.measurements import MeasuredTask, TimedScore, measurements_from
from mlagentbench.models.model_choice import tool_role
from mlagentbench.records import Tier
from mlagentbench.sandbox.sandbox_registry import default_envs
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.trial_runs import Trial, Trials
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.data.progress import TerminalProgress
from mlagentbench.tasks.draws import PUBLIC, all_draws, is_public, read_policy
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.stored_measurements import (
    shipped_measurements,
    store_in_home,
    write_to_task,
)
from mlagentbench.tasks.task import Task, load_task
from mlagentbench.terminal import Terminal

STARTER_RUNS: dict[Tier, int] = {"mini": 30, "full": 8}
REFERENCE_RUNS = 8
DRAW_STARTER_RUNS = 3
"""Runs of the starter on a draw that is not public; its noise is pooled with the public draw's."""
DRAW_REFERENCE_RUNS = 1

Announce = Callable[[str], None]


def measure_tasks(
    names: Sequence[str],
    *,
    tier: Tier,
    runs: int | None,
    reference_runs: int | None,
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
            public = is_public(one)
            measured = asyncio.run(
                measure(
                    task,
                    data,
                    python_env,
                    runs or (STARTER_RUNS[tier] if public else DRAW_STARTER_RUNS),
                    reference_runs or (REFERENCE_RUNS if public else DRAW_REFERENCE_RUNS),
                    progress.say,
                    tool,
                )
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
        task.spec.metric,
        data.hash,
        trivial,
        starter,
        reference,
        ceiling,
        trials.tool,
        data.bytes,
        None if is_public(data.draw) else shipped_measurements(task, data.tier, trials.tool),
    )


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
