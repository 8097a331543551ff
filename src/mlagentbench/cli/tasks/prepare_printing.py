"""What `mlagentbench tasks prepare` prints: what was done, where it is, what to run next."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from mlagentbench.records import Tier
from mlagentbench.sandbox.sandbox_registry import default_envs
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.draw_measurements import ensure_measured
from mlagentbench.tasks.data.progress import TerminalProgress
from mlagentbench.tasks.draws import all_draws, draws_text, is_fresh, is_public, read_policy
from mlagentbench.tasks.make_ready import (
    Ready,
    needs_measurements,
    prepare_tasks,
    splits_of,
    with_splits,
)
from mlagentbench.tasks.task import Task, load_task
from mlagentbench.terminal import Terminal


def prepare_from_command_line(
    names: Sequence[str],
    *,
    tier: Tier,
    from_dir: Path | None,
    draw: str,
    accept_unverified: bool,
    splits: int = 0,
    again: bool = False,
) -> None:
    """Prepare tasks; print what was done, where it is, and what to run next."""
    tasks = [load_task(name, tier) for name in names]
    draws = all_draws(read_policy(draw, tier))
    with TerminalProgress(Terminal(stderr=True)) as shown:
        ready = prepare_tasks(
            tasks,
            tier,
            from_dir=from_dir,
            accept_unverified=accept_unverified,
            draws=draws,
            splits=splits,
            again=again,
            progress=shown,
            call=call_task,
            envs=default_envs(),
        )
    console = Terminal(soft_wrap=True)
    its_task = [task for task in tasks for _ in with_splits(draws, splits_of(task, splits))]
    for task, made in zip(its_task, ready, strict=True):
        for text in _summary(task, made):
            console.print(text)
        if not needs_measurements(task, made.data):
            continue
        if tier == "full" and is_fresh(made.data.draw):
            console.print("  floor and reference are measured on it when it is first rebuilt on")
        elif is_public(made.data.draw):
            command = f"mlagentbench tasks measure {task.address} --tier {tier}"
            console.print(f"  floor, reference and bar are not measured on it; run: {command}")
        else:
            _measure(task, made)


def _measure(task: Task, ready: Ready) -> None:
    """Measurements of draws are not shipped, so they are made here."""
    with TerminalProgress(Terminal(stderr=True)) as shown:
        asyncio.run(ensure_measured(task, ready.data, ready.python_env, None, shown.say))


def _summary(task: Task, ready: Ready) -> Iterator[str]:
    data, python_env = ready
    kept = "verified" if data.verified else f"unverified: {', '.join(data.unverified)}"
    draw = f", {draws_text(data.draw)}"
    if data.tier == "full":
        draw = f", another split: {data.draw}" if is_fresh(data.draw) else ""
    yield (
        f"{task.id} (version {task.spec.version}, {data.tier}{draw}): "
        f"files: {data.files}, {data.bytes / 1e6:,.2f} MB, {kept}, data hash {data.hash[:12]}"
    )
    yield f"  data    {data.directory}"
    if data.sources:
        yield f"  from    {data.origin}, on {data.when}, source files {data.sources[:12]}"
    for difference in data.accepted:
        yield f"  accepted difference: {difference}"
    yield (
        f"  python  {python_env.directory} (python {python_env.python_version}, "
        f"packages: {len(python_env.packages)})"
    )
