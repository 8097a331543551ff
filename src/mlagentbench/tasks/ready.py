"""Making tasks ready to run: their data and their python environments."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mlagentbench.errors import UsageError
from mlagentbench.records import Tier
from mlagentbench.tasks.contract import CallTask
from mlagentbench.tasks.data import progress as progress_contract
from mlagentbench.tasks.data.preparation import MiniSeed, PreparedData, prepare, require_prepared
from mlagentbench.tasks.data.sources import require_files
from mlagentbench.tasks.measured import stored_measurements
from mlagentbench.tasks.python_env.env import (
    NOTHING_ADDED,
    AddedPackages,
    PythonEnv,
    ensure_python_env,
)
from mlagentbench.tasks.task import Task


class Ready(NamedTuple):
    """A task that can be run: its data, and the python environment that its runs are in."""

    data: PreparedData
    python_env: PythonEnv


def prepare_tasks(
    tasks: Sequence[Task],
    tier: Tier,
    *,
    from_dir: Path | None = None,
    accept_unverified: bool = False,
    mini_seed: MiniSeed = "public",
    use_uv: bool = False,
    call: CallTask,
    progress: progress_contract.Progress | None = None,
) -> list[Ready]:
    """Prepare python environments and data, one task after the other.

    `from_dir` may hold one sub directory per task, named by its id.
    """
    if tier == "mini" and from_dir is not None:
        raise UsageError("--from is for --tier full: the mini tier is generated")
    if tier == "full" and mini_seed == "secret":
        raise UsageError("--mini-seed secret is for --tier mini: the full tier has no secret seed")
    shown = progress or progress_contract.Silent()

    async def all_tasks() -> list[Ready]:
        ready = []
        for task in tasks:
            own = from_dir / task.id if from_dir and (from_dir / task.id).is_dir() else from_dir
            if own is not None:
                require_files(task, own)
            python_env = await _python_env(task, use_uv, shown)
            data = await prepare(
                task, tier, call=call, python_env=python_env, from_dir=own,
                accept_unverified=accept_unverified, mini_seed=mini_seed, progress=shown,
            )  # fmt: skip
            ready.append(Ready(data, python_env))
        return ready

    return asyncio.run(all_tasks())


def ensure_ready(
    task: Task,
    tier: Tier,
    mini_seed: MiniSeed = "public",
    *,
    added: AddedPackages = NOTHING_ADDED,
    call: CallTask,
    progress: progress_contract.Progress | None = None,
) -> Ready:
    """As make_ready, for callers that are not asynchronous."""
    return asyncio.run(make_ready(task, tier, mini_seed, added=added, progress=progress, call=call))


async def make_ready(
    task: Task,
    tier: Tier,
    mini_seed: MiniSeed = "public",
    *,
    added: AddedPackages = NOTHING_ADDED,
    call: CallTask,
    progress: progress_contract.Progress | None = None,
) -> Ready:
    """Data and python environment of a task that is about to be run.

    The public mini tier is prepared by itself; anything else must have been prepared before, and a
    UsageError says how. Where the agent has packages of its own to add, runs are in an environment
    with these, while the task's own code stays in the task's.
    """
    shown = progress or progress_contract.Silent()
    if tier == "full" or mini_seed == "secret":
        data = require_prepared(task, tier, mini_seed)
        python_env = await _python_env(task, False, shown)
    else:
        python_env = await _python_env(task, False, shown)
        data = await prepare(task, tier, call=call, python_env=python_env, progress=shown)
    if added:
        python_env = await _python_env(task, False, shown, added)
    return Ready(data, python_env)


def needs_baseline(task: Task, data: PreparedData) -> bool:
    """Whether nobody has measured floor, reference and bar on these very data yet."""
    return stored_measurements(task, data.tier, data.hash) is None


async def _python_env(
    task: Task,
    use_uv: bool,
    progress: progress_contract.Progress,
    added: AddedPackages = NOTHING_ADDED,
) -> PythonEnv:
    whose = "python environment with the agent's packages" if added else "python environment"
    return await ensure_python_env(
        task.spec.python.requirements,
        added,
        use_uv=use_uv,
        announce=lambda text: progress.say(f"{task.id}: {whose}: {text}"),
    )
