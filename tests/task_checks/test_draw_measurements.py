"""A draw is measured once, when its measurements are first needed."""

import asyncio
import os
from pathlib import Path

import pytest
from folders import SEED_TASK, write_folder

from mlagentbench.errors import RunFailed, UnusableDraw
from mlagentbench.machine.ledger import Need
from mlagentbench.machine.slots import slot_for
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.draw_measurements import ensure_measured
from mlagentbench.tasks.make_ready import Ready, ensure_ready
from mlagentbench.tasks.stored_measurements import stored_measurements
from mlagentbench.tasks.task import Task

pytestmark = [pytest.mark.usefixtures("with_shared_home"), pytest.mark.slow]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    calm = SEED_TASK["starter/train.py"].replace("/ 1000", "/ 100_000")
    files = {**SEED_TASK, "starter/train.py": calm}
    return write_folder(tmp_path / "drawn-seeds", files, submission="score.txt")


@pytest.fixture
def ready(task: Task) -> Ready:
    return ensure_ready(task, "mini", "7", call=call_task)


def test_two_that_need_it_measure_it_once(task: Task, ready: Ready) -> None:
    said: list[str] = []

    async def both() -> None:
        await asyncio.gather(*(ensure_measured(task, *ready, None, said.append) for _ in range(2)))

    asyncio.run(both())
    assert said[0] == "drawn-seeds, draw 7: measuring floor, reference and bar"
    assert any("waiting" in text for text in said), "for the slot, or for the measurements"
    assert sum("starter 3/3" in text for text in said) == 1
    assert sum("solution 1/1" in text for text in said) == 1
    again = asyncio.run(ensure_measured(task, *ready, None, pytest.fail))
    assert again.data == ready.data.hash
    assert (again.starter.runs, again.reference.runs, again.ceiling) == (3, 1, 5.0)
    oracle = 2 + task.run_seed(1) % 1000 / 1000
    assert again.reference.mean != oracle, "else its score would be 1 by construction"
    (task.solution / "solution.py").write_text("open('score.txt', 'w').write('4.0')")
    changed = asyncio.run(ensure_measured(task, *ready, None, said.append))
    assert changed.reference.mean == 4.0, "measurements of another solution do not count"


def test_a_run_that_waits_for_measurements_holds_nobody_up(task: Task, ready: Ready) -> None:
    """Runs have a slot when they ask for measurements; `tasks prepare` has none."""
    said: list[str] = []
    all_cores = Need(cpus=len(os.sched_getaffinity(0)), memory=0)

    async def in_a_run() -> None:
        while not any("starter 1/3" in text for text in said):
            await asyncio.sleep(0.01)
        async with slot_for(all_cores, "a run"):
            await ensure_measured(task, *ready, None, said.append)

    async def both() -> None:
        async with asyncio.timeout(120):
            await asyncio.gather(ensure_measured(task, *ready, None, said.append), in_a_run())

    asyncio.run(both())
    assert sum("solution 1/1" in text for text in said) == 1


def test_a_draw_that_the_reference_does_not_solve_is_an_error(task: Task, ready: Ready) -> None:
    (task.solution / "solution.py").write_text("open('score.txt', 'w').write('0.2')")
    with pytest.raises(
        RunFailed, match=r"cannot be measured on draw 7: .*not better than the floor"
    ):
        asyncio.run(ensure_measured(task, *ready, None, print))
    assert stored_measurements(task, "mini", ready.data.hash) is None


def test_a_draw_whose_noise_exceeds_its_reference_is_left_out(task: Task, ready: Ready) -> None:
    (task.solution / "solution.py").write_text("open('score.txt', 'w').write('0.751')")
    with pytest.raises(UnusableDraw, match=r"on draw 7: floor 0\.75, bar .*, reference 0\.751"):
        asyncio.run(ensure_measured(task, *ready, None, print))
    assert stored_measurements(task, "mini", ready.data.hash) is None
