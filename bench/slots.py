"""What slots cost: the score of a speed task while other runs wait, and taking a free slot."""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from grading_costs import TIMED_TASK, score_of_solution
from measurements import Measurement, as_text, half_range
from whole_runs import TASK

from mlagentbench.machine.ledger import Need
from mlagentbench.machine.slots import pool_use, slot_for
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.task import load_task

WAITING = 4
ROUNDS = 6
TAKEN = 200
PATIENCE = 120.0
"""Seconds within which all commands that were started wait for a slot."""


def slot_measurements() -> list[Measurement]:
    """The score of a speed task beside waiting runs against alone; and what taking a slot takes."""
    for name in (TASK, TIMED_TASK):
        ensure_ready(load_task(name), "mini", call=call_task)
    alone, beside = [], []
    for _ in range(ROUNDS):
        alone.append(asyncio.run(_score(waiting=0)))
        beside.append(asyncio.run(_score(waiting=WAITING)))
    ratios = [one / other for one, other in zip(beside, alone, strict=True)]
    score = median(beside) / median(alone)
    taking = asyncio.run(_time_to_take())
    return [
        Measurement(
            what=f"score of {TIMED_TASK} beside {WAITING} waiting runs / alone, or its inverse",
            value=max(score, 1 / score),
            spread=half_range(ratios),
            target=1.1,
            from_what=f"{median(beside):.4f} / {median(alone):.4f}",
        ),
        Measurement(
            what="taking a free slot and giving it back",
            value=taking,
            target=0.05,
            unit="s",
            from_what=f"{TAKEN} times: {as_text(taking)} each",
        ),
    ]


async def _score(waiting: int) -> float:
    """The solution's score, while so many other commands wait for the slot."""
    need = load_task(TIMED_TASK).spec.resources.need()
    async with slot_for(need, "bench"), _waiting_commands(waiting):
        return await score_of_solution()


@asynccontextmanager
async def _waiting_commands(number: int) -> AsyncIterator[None]:
    """Commands that wait for a slot; afterwards they run, and are waited for."""
    with tempfile.TemporaryDirectory() as directory:
        commands = [
            subprocess.Popen(
                [Path(sys.executable).with_name("mlagentbench"), "run", "--tasks", TASK,
                 "--agents", "nop", "--out", Path(directory, str(one))],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for one in range(number)
        ]  # fmt: skip
        try:
            await _all_wait(number)
            yield
        finally:
            for command in commands:
                command.kill()
                command.wait()


async def _all_wait(number: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while (use := pool_use()) is None or len(use.waiting) < number:
        if time.monotonic() > deadline:
            raise RuntimeError(f"not all of {number} commands wait for a slot: {use}")
        await asyncio.sleep(0.2)


async def _time_to_take() -> float:
    started = time.perf_counter()
    for _ in range(TAKEN):
        async with slot_for(Need(cpus=1, memory=1), "bench"):
            pass
    return (time.perf_counter() - started) / TAKEN
