"""The one command that a newcomer types."""

from pathlib import Path

from command_line import Run

from mlagentbench.evaluation.results import collect

TASKS = {"vectorization", "house-price", "spaceship-titanic"}


def test_the_demo_tells_nothing_from_something(tmp_path: Path, run: Run) -> None:
    result = run("demo", "--out", "out")
    found = {
        (r.record.disclosure.task, r.record.disclosure.agent): r for r in collect(tmp_path / "out")
    }
    assert found.keys() == {
        (task, agent) for task in TASKS for agent in ("nop", "baseline", "oracle")
    }
    for (task, agent), one in found.items():
        assert one.grade is not None, (task, agent)
        assert one.grade.success is (agent == "oracle"), (task, agent, one.grade)
        assert one.record.disclosure.mini_seed == "public"
    for task in TASKS:
        assert f"{task} (mini, public seed)" in result.stdout
    assert "inspect view --log-dir out/logs" in result.stdout
