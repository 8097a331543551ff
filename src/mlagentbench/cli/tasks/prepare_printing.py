"""What `mlagentbench tasks prepare` prints: what was done, where it is, what to run next."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from mlagentbench.records import Tier
from mlagentbench.sandbox.sandbox_registry import default_envs
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.measure import measure_secret_draw
from mlagentbench.tasks.data.progress import TerminalProgress
from mlagentbench.tasks.draws import SECRET, all_draws, draws_text, read_policy
from mlagentbench.tasks.make_ready import Ready, needs_measurements, prepare_tasks
from mlagentbench.tasks.task import Task, load_task
from mlagentbench.terminal import Terminal


def prepare_from_command_line(
    names: Sequence[str],
    *,
    tier: Tier,
    from_dir: Path | None,
    draw: str,
    accept_unverified: bool,
) -> None:
    """Prepare tasks; print what was done, where it is, and what to run next."""
    tasks = [load_task(name) for name in names]
    draws = all_draws(read_policy(draw, tier))
    with TerminalProgress(Terminal(stderr=True)) as shown:
        ready = prepare_tasks(
            tasks,
            tier,
            from_dir=from_dir,
            accept_unverified=accept_unverified,
            draws=draws,
            progress=shown,
            call=call_task,
            envs=default_envs(),
        )
    console = Terminal(soft_wrap=True)
    for (task, _), made in zip(product(tasks, draws), ready, strict=True):
        for text in _summary(task, made):
            console.print(text)
        if not needs_measurements(task, made.data):
            continue
        if draw == SECRET:
            _measure_secret_draw(task, made)
        else:
            command = f"mlagentbench tasks measure {task.address} --tier {tier}"
            console.print(f"  floor, reference and bar are not measured on it; run: {command}")


def _measure_secret_draw(task: Task, ready: Ready) -> None:
    """A secret draw exists only on this machine, so it has to be measured here."""
    with TerminalProgress(Terminal(stderr=True)) as shown:
        asyncio.run(measure_secret_draw(task, ready.data, ready.python_env, shown.say))


def _summary(task: Task, ready: Ready) -> Iterator[str]:
    data, python_env = ready
    kept = "verified" if data.verified else f"unverified: {', '.join(data.unverified)}"
    draw = "" if data.tier == "full" else f", {draws_text(data.draw)}"
    yield (
        f"{task.id} (version {task.spec.version}, {data.tier}{draw}): "
        f"files: {data.files}, {data.bytes / 1e6:,.2f} MB, {kept}, data hash {data.hash[:12]}"
    )
    yield f"  data    {data.directory}"
    yield (
        f"  python  {python_env.directory} (python {python_env.python_version}, "
        f"packages: {len(python_env.packages)})"
    )
