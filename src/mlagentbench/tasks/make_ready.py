"""Make tasks ready to run: their data and their virtual environments."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mlagentbench.errors import UsageError
from mlagentbench.records import Tier
from mlagentbench.tasks.call_contract import CallTask
from mlagentbench.tasks.data.preparation import PreparedData, prepare, require_prepared
from mlagentbench.tasks.data.progress import Progress, Silent
from mlagentbench.tasks.data.sources import official_sources, require_files
from mlagentbench.tasks.draws import PUBLIC, FreshKey, fresh_draws, is_fresh, is_keyed, is_secret
from mlagentbench.tasks.python_env.env import (
    HOST_ENVS,
    NOTHING_ADDED,
    AddedPackages,
    PythonEnv,
    PythonEnvs,
)
from mlagentbench.tasks.stored_measurements import stored_measurements
from mlagentbench.tasks.task import Task


class Ready(NamedTuple):
    """A task that can be run: its data, and the virtual environment of its runs."""

    data: PreparedData
    python_env: PythonEnv


def prepare_tasks(
    tasks: Sequence[Task],
    tier: Tier,
    *,
    from_dir: Path | None = None,
    accept_unverified: bool = False,
    draws: Sequence[str] = (PUBLIC,),
    splits: int = 0,
    again: bool = False,
    call: CallTask,
    envs: PythonEnvs = HOST_ENVS,
    progress: Progress | None = None,
) -> list[Ready]:
    """Prepare virtual environments and data, all draws of one task after the other's.

    In the full tier, each draw is followed by so many other `splits` of it.

    `from_dir` may contain a subdirectory for each task, named by its id; a renamed variant's is
    that of its original.
    """
    _require_fitting_options(tasks, tier, from_dir, splits)
    progress = progress or Silent()

    async def all_tasks() -> list[Ready]:
        ready = []
        for task in tasks:
            files = _files_of(task, from_dir)
            if files is not None and not official_sources(task):
                progress.say(f"{task.id}: is generated, so nothing is taken from {from_dir}")
            elif files is not None:
                require_files(task, files)
            python_env = await _python_env(task, envs, progress)
            its_splits = splits_of(task, splits)
            if its_splits < splits:
                progress.say(f"{task.id}: is generated, and so are fresh draws when needed")
            for draw in draws:
                await prepare(
                    task,
                    tier,
                    call=call,
                    python_env=python_env,
                    from_dir=files,
                    accept_unverified=accept_unverified,
                    draw=draw,
                    splits=its_splits,
                    again=again,
                    progress=progress,
                )
            ready += [
                Ready(require_prepared(task, tier, draw), python_env)
                for draw in with_splits(draws, its_splits)
            ]
        return ready

    return asyncio.run(all_tasks())


def _require_fitting_options(
    tasks: Sequence[Task], tier: Tier, from_dir: Path | None, splits: int
) -> None:
    """Raise a UsageError for options that generated data have no use for."""
    if tier == "mini" and from_dir is not None:
        raise UsageError("--from is for --tier full: the mini tier is generated")
    if tier != "full" and splits:
        raise UsageError(
            f"--splits is for --tier full: the {tier} tier is generated, and its fresh draws, "
            "too, when they are needed"
        )
    if from_dir is not None and tasks and not any(official_sources(task) for task in tasks):
        names = ", ".join(task.id for task in tasks)
        raise UsageError(f"{names}: the full tier is generated and needs no --from; leave it out")


def with_splits(draws: Sequence[str], splits: int) -> list[str]:
    """Each draw, followed by other splits of it."""
    return [one for draw in draws for one in (draw, *fresh_draws(draw, splits))]


def splits_of(task: Task, splits: int) -> int:
    """How many other splits are prepared, if so many are asked for."""
    return 0 if is_keyed(task, "full") else splits


def _files_of(task: Task, directory: Path | None) -> Path | None:
    """The directory with a task's files: a subdirectory named like the task, or the directory."""
    if directory is None:
        return None
    own = directory / task.original_id
    return own if own.is_dir() else directory


def ensure_ready(
    task: Task,
    tier: Tier,
    draw: str = PUBLIC,
    *,
    added: AddedPackages = NOTHING_ADDED,
    call: CallTask,
    envs: PythonEnvs = HOST_ENVS,
    progress: Progress | None = None,
) -> Ready:
    """`make_ready` for synchronous callers."""
    return asyncio.run(
        make_ready(task, tier, draw, added=added, call=call, envs=envs, progress=progress)
    )


async def make_ready(
    task: Task,
    tier: Tier,
    draw: str = PUBLIC,
    *,
    added: AddedPackages = NOTHING_ADDED,
    call: CallTask,
    envs: PythonEnvs = HOST_ENVS,
    progress: Progress | None = None,
    key: FreshKey | None = None,
) -> Ready:
    """The data and virtual environment of a task that is about to be run.

    Generated data are prepared if necessary. The full tier and a secret draw must have been
    prepared before, or a UsageError says how. An agent's packages are added to the environment of
    the runs only, not to that of the task's code.
    """
    progress = progress or Silent()
    if not (is_fresh(draw) and is_keyed(task, tier)) and (tier == "full" or is_secret(draw)):
        data = require_prepared(task, tier, draw)
        python_env = await _python_env(task, envs, progress)
    else:
        python_env = await _python_env(task, envs, progress)
        data = await prepare(
            task, tier, call=call, python_env=python_env, draw=draw, key=key, progress=progress
        )
    if added:
        python_env = await _python_env(task, envs, progress, added)
    return Ready(data, python_env)


def needs_measurements(task: Task, data: PreparedData) -> bool:
    """Whether floor, reference and bar have not been measured on these data yet."""
    return stored_measurements(task, data.tier, data.hash) is None


async def _python_env(
    task: Task,
    envs: PythonEnvs,
    progress: Progress,
    added: AddedPackages = NOTHING_ADDED,
) -> PythonEnv:
    name = "virtual environment with the agent's packages" if added else "virtual environment"
    return await envs.ensure(
        task.spec.python.requirements,
        added,
        announce=lambda text: progress.say(f"{task.id}: {name}: {text}"),
    )
