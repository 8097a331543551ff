"""The hard tier in measurements, checks and runs: its panel raises the floor."""

import asyncio
import json
from io import StringIO
from pathlib import Path

import pytest
from folders import HARD_TASK, write_folder

from mlagentbench.errors import UsageError
from mlagentbench.grading.success import floor_of
from mlagentbench.launch.request import SuiteRequest
from mlagentbench.launch.suite import run_suite
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.check import check_task
from mlagentbench.task_checks.measure import measure
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.draws import all_draws
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.stored_measurements import store_in_home
from mlagentbench.tasks.task import Task
from mlagentbench.terminal import Terminal

pytestmark = [pytest.mark.usefixtures("with_shared_home"), pytest.mark.slow]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return write_folder(tmp_path / "signs", HARD_TASK, submission="score.txt").on_tier("hard")


def measured(task: Task, draw: str) -> Measured:
    data, python_env = ensure_ready(task, "hard", draw, call=call_task)
    return asyncio.run(measure(task, data, python_env, 3, 1, print))


def drawn(task: Task, draw: str) -> PreparedData:
    return ensure_ready(task, "hard", draw, call=call_task).data


def sign(data: PreparedData) -> int:
    return int(json.loads((data.private / "mechanisms.json").read_text())["sign"])


def test_each_draw_has_its_mechanisms_and_each_pool_others(task: Task) -> None:
    evals = [drawn(task, draw) for draw in all_draws("1..6")]
    trains = [drawn(task, draw) for draw in all_draws("train:1..6")]
    assert {sign(data) for data in evals} == {1, -1}
    assert {sign(data) for data in trains} == {2, -2}
    assert len({data.hash for data in (*evals, *trains)}) == 12
    assert drawn(task, "1").hash == evals[0].hash
    assert evals[0].draw == "1" and trains[0].draw == "train:1"


def test_the_floor_is_the_best_of_all_that_must_be_beaten(task: Task) -> None:
    found = measured(task, "7")
    assert found.default == {"plain": 1.0, "tuned": 1.25} and found.ablations == {"almost": 1.5}
    assert floor_of(task.spec.metric, found) == 1.5
    assert found.bar == pytest.approx(2.5)
    (task.folder / "hard" / "default" / "plain.py").write_text('open("score.txt", "w").write("2")')
    assert floor_of(task.spec.metric, measured(task, "7")) == 2.0


def test_check_runs_the_panel(task: Task) -> None:
    ready = ensure_ready(task, "hard", "8", call=call_task)
    store_in_home(task, "hard", measured(task, "8"))
    checked = asyncio.run(check_task(task, ready, print))
    results = {one.name: one for one in checked.results}
    assert results["default below the bar"].ok and results["ablations below the bar"].ok
    assert "best of 2: tuned, 1.25" in results["default below the bar"].detail
    assert results["solution reaches the bar with room"].ok


def test_the_default_is_the_best_of_its_panel(task: Task, tmp_path: Path) -> None:
    request = SuiteRequest.read(
        tasks=str(task.folder), agents="default,oracle", out=tmp_path / "out", tier="hard",
        draw="9", rebuild_draws=1,
    )  # fmt: skip
    outcome = run_suite(request, Terminal(file=StringIO()))
    default, oracle = sorted(outcome.results, key=lambda one: one.record.disclosure.agent)
    assert default.grade is not None and oracle.grade is not None
    assert default.grade.score == 1.25 and default.grade.success is False
    assert default.record.disclosure.protocol == "rebuild" and default.grade.rebuilt is not None
    assert oracle.grade.success and oracle.grade.normalised == pytest.approx(1.0)


def test_the_default_needs_the_hard_tier(task: Task, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="agent default runs in the hard tier only; add --tier"):
        SuiteRequest.read(tasks=str(task.folder), agents="default", out=tmp_path)
