"""Making tasks ready: `mlagentbench prepare`, and what a run does by itself before it starts."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from mlagentbench.errors import UsageError
from mlagentbench.records import Tier
from mlagentbench.tasks import progress as progress_contract
from mlagentbench.tasks.baselines import measured_figures
from mlagentbench.tasks.data import MiniSeed, PreparedData, prepare, require_prepared
from mlagentbench.tasks.python_env import (
    NOTHING_ADDED,
    AddedPackages,
    PythonEnv,
    ensure_python_env,
)
from mlagentbench.tasks.sources import require_files
from mlagentbench.tasks.task import Task, load_task
from mlagentbench.tasks.task_call import CallTask


class Ready(NamedTuple):
    """A task that can be run: its data, and the python environment that its runs are in."""

    data: PreparedData
    python_env: PythonEnv


def prepare_from_command_line(
    names: Sequence[str],
    *,
    tier: Tier,
    from_dir: Path | None,
    mini_seed: MiniSeed,
    accept_unverified: bool,
    use_uv: bool,
) -> None:
    """`mlagentbench prepare`: prints what is done, where it is, and what to type next."""
    tasks = [load_task(name) for name in names]
    with TerminalProgress(Console(stderr=True, highlight=False)) as shown:
        ready = prepare_tasks(
            tasks, tier, from_dir=from_dir, accept_unverified=accept_unverified,
            mini_seed=mini_seed, use_uv=use_uv, progress=shown,
        )  # fmt: skip
    console = Console(highlight=False, soft_wrap=True)
    for task, made in zip(tasks, ready, strict=True):
        console.print(_summary(task, made))
        if not needs_baseline(task, made.data):
            continue
        if mini_seed == "secret":
            _measure_secret_draw(task, made)
        else:
            command = f"mlagentbench baseline {task.address} --tier {tier}"
            console.print(f"  floor, reference and bar are not measured on it; type: {command}")


def _measure_secret_draw(task: Task, ready: Ready) -> None:
    """Nobody else has these data, so nobody else can have measured them."""
    from mlagentbench.running.baseline import measure_secret_draw

    with TerminalProgress(Console(stderr=True, highlight=False)) as shown:
        asyncio.run(measure_secret_draw(task, ready.data, ready.python_env, shown.say))


def prepare_tasks(
    tasks: Sequence[Task],
    tier: Tier,
    *,
    from_dir: Path | None = None,
    accept_unverified: bool = False,
    mini_seed: MiniSeed = "public",
    use_uv: bool = False,
    progress: progress_contract.Progress | None = None,
    call: CallTask | None = None,
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
                task, tier, call=call or _sandboxed(), python_env=python_env, from_dir=own,
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
    progress: progress_contract.Progress | None = None,
    call: CallTask | None = None,
) -> Ready:
    """As make_ready, for callers that are not asynchronous."""
    return asyncio.run(make_ready(task, tier, mini_seed, added=added, progress=progress, call=call))


async def make_ready(
    task: Task,
    tier: Tier,
    mini_seed: MiniSeed = "public",
    *,
    added: AddedPackages = NOTHING_ADDED,
    progress: progress_contract.Progress | None = None,
    call: CallTask | None = None,
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
        data = await prepare(
            task, tier, call=call or _sandboxed(), python_env=python_env, progress=shown
        )
    if added:
        python_env = await _python_env(task, False, shown, added)
    return Ready(data, python_env)


def needs_baseline(task: Task, data: PreparedData) -> bool:
    """Whether nobody has measured floor, reference and bar on these very data yet."""
    return measured_figures(task, data.tier, data.hash) is None


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


def _sandboxed() -> CallTask:
    from mlagentbench.environment.sandbox.task_process import call_task

    return call_task


def _summary(task: Task, ready: Ready) -> str:
    data, python_env = ready
    kept = "verified" if data.verified else f"unverified: {', '.join(data.unverified)}"
    seed = f", {data.mini_seed} seed" if data.mini_seed else ""
    return (
        f"{task.id} (version {task.spec.version}, {data.tier}{seed}): "
        f"files: {data.files}, {data.bytes / 1e6:,.2f} MB, {kept}, data hash {data.hash[:12]}\n"
        f"  data    {data.directory}\n"
        f"  python  {python_env.directory} (python {python_env.python_version}, "
        f"packages: {len(python_env.packages)})"
    )


class TerminalProgress:
    """Lines of what is done; on a terminal also bars with bytes, speed and remaining time.

    Elsewhere a finished file is one line.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Progress(
            TextColumn("{task.description}"), BarColumn(), DownloadColumn(),
            TransferSpeedColumn(), TimeRemainingColumn(), console=console, transient=True,
        )  # fmt: skip
        self._known: dict[str, TaskID] = {}

    def __enter__(self) -> "TerminalProgress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._known:
            self._bars.stop()

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def transfer(self, name: str, done: int, total: int | None) -> None:
        if not self._console.is_terminal:
            if done == total:
                self.say(f"  {name}: {done / 1e6:,.1f} MB")
            return
        if name not in self._known:
            self._bars.start()
            self._known[name] = self._bars.add_task(name, total=total)
        self._bars.update(self._known[name], completed=done, total=total)
