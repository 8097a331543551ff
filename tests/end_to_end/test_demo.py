"""The one command that a newcomer types."""

import re
from pathlib import Path

import pytest
from command_line import Run

from mlagentbench.runs.results import collect, find_run, read_grades

pytestmark = pytest.mark.slow

TASKS = {"vectorization", "house-price", "spaceship-titanic"}


def test_the_demo_tells_nothing_from_something(tmp_path: Path, run: Run) -> None:
    result = run("demo", "--out", "out")
    found = {
        (r.record.disclosure.task, r.record.disclosure.agent): r for r in collect(tmp_path / "out")
    }
    agents = ("nop", "baseline", "oracle", "research")
    assert found.keys() == {(task, agent) for task in TASKS for agent in agents}
    for (task, agent), one in found.items():
        assert one.grade is not None, (task, agent)
        solves = agent in ("oracle", "research")
        assert one.grade.success is solves, (task, agent, one.grade)
        assert one.record.disclosure.draw == "public"
    for task in TASKS:
        assert f"{task} (mini, public draw: for development)" in result.stdout
    assert len(re.findall(r"replies matched \d+ of \d+", result.stdout)) == len(TASKS)
    assert "mlagentbench view out" in result.stdout
    assert result.stdout.splitlines()[-1] == "report: out/report/index.html"
    overview = (tmp_path / "out/report/index.html").read_text()
    assert all(task in overview for task in TASKS)
    for run_path in (tmp_path / "out").glob("runs/*/mini/research-*/*/1"):
        graded = {grade.step for grade in read_grades(find_run(run_path))}
        assert len(graded) > 1, "only the end was graded"
