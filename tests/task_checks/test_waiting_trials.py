"""Trials that wait for a slot say so once, and the wait is no part of their time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from folders import SEED_TASK, write_folder

from mlagentbench.machine.ledger import Need
from mlagentbench.machine.slots import take_slot
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.check import check_task
from mlagentbench.task_checks.draw_measurements import ensure_measured
from mlagentbench.task_checks.kept_trials import KeptTrials
from mlagentbench.task_checks.measure import measure
from mlagentbench.task_checks.trial_runs import Announce, once_per_reason
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.task import Task

pytestmark = [pytest.mark.usefixtures("with_shared_home"), pytest.mark.slow]
HELD = 2.0
"""Seconds for which the slot is held after something waits for it."""
EVERYTHING = Need(cpus=1024, memory=2**60)
Said = list[tuple[float, str]]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    calm = SEED_TASK["starter/train.py"].replace("/ 1000", "/ 100_000")
    files = {**SEED_TASK, "starter/train.py": calm}
    return write_folder(tmp_path / "waiting-seeds", files, submission="score.txt")


def said_while_waiting(work: Callable[[Announce], Awaitable[object]]) -> Said:
    """What is said, and when, by work that finds the whole machine held by another run."""
    said: Said = []

    async def beside_another() -> None:
        held = await take_slot(EVERYTHING, "another run")

        def announce(text: str) -> None:
            said.append((time.monotonic(), text))
            if "waiting for a slot" in text:
                asyncio.get_running_loop().call_later(HELD, held.release)

        await work(announce)

    asyncio.run(asyncio.wait_for(beside_another(), 300))
    return said


def waits_in(said: Said) -> list[tuple[float, str]]:
    return [(when, text) for when, text in said if "waiting for a slot" in text]


def test_a_measurement_says_that_it_waits_and_its_clock_starts_afterwards(task: Task) -> None:
    data, python_env = ensure_ready(task, "mini", call=call_task)
    said = said_while_waiting(
        lambda announce: measure(task, data, python_env, 3, 1, announce, again=True)
    )
    [(waited, text)] = waits_in(said)
    assert text.startswith("waiting-seeds: waiting for a slot of ")
    assert text.endswith(": held by another run")
    ended = next(when for when, text in said if "starter 1/3" in text)
    first = KeptTrials(task, data, python_env, None).find("starter-1")
    assert first is not None
    assert 0 < first.seconds < first.whole_seconds <= ended - waited - HELD


def test_a_draw_and_a_check_say_that_they_wait(task: Task) -> None:
    drawn = ensure_ready(task, "mini", "7", call=call_task)
    [(_, text)] = waits_in(
        said_while_waiting(lambda announce: ensure_measured(task, *drawn, None, announce))
    )
    assert text.startswith("waiting-seeds, draw 7: waiting for a slot of ")
    public = ensure_ready(task, "mini", call=call_task)
    [(_, text)] = waits_in(said_while_waiting(lambda announce: check_task(task, public, announce)))
    assert text.startswith("waiting-seeds: waiting for a slot of ")


def test_other_holders_are_no_other_reason() -> None:
    said: list[str] = []
    tell = once_per_reason(said.append)
    for text in ("waiting for 1 core: held by a", "waiting for 1 core: held by b", "timing"):
        tell(text)
    assert said == ["waiting for 1 core: held by a", "timing"]
