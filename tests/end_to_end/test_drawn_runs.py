"""Runs on a range of draws, from nothing to a table; real sandboxes, no model."""

import json
from pathlib import Path

import pytest
from command_line import Run
from number_task import SOLUTION, write_number_task

from mlagentbench.report.collect_runs import collect as collect_summaries
from mlagentbench.runs.results import RunResult, collect
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.comparison import compare
from mlagentbench.statistics.leaderboard import leaderboards

pytestmark = pytest.mark.slow
COMMAND = (
    "run", "--tasks", "./drawn-numbers", "--agents", "baseline,oracle", "--draw", "100..101",
    "--out", "out",
)  # fmt: skip
NOISY = """
def make(raw, rng):
    x = rng.normal(size=300)
    y = 3 * x + rng.normal(scale=rng.uniform(0.1, 0.4), size=300)
    lines = [f"{a:.6f},{b:.6f}" for a, b in zip(x, y)]
    (raw / "numbers.csv").write_text("x,y\\n" + "\\n".join(lines) + "\\n")
"""


def by_epoch(out: Path, agent: str) -> dict[int, RunResult]:
    found = [one for one in collect(out) if one.record.disclosure.agent == agent]
    return {one.record.epoch: one for one in found if one.record.branched_from is None}


def test_from_nothing_to_a_table_paired_by_draw(tmp_path: Path, run: Run) -> None:
    write_number_task(tmp_path, "drawn-numbers", mini_py=NOISY)
    dry = run(*COMMAND, "--runs", "3", "--dry-run").stdout
    assert "runs: 6 runs, 0 finished already" in dry
    printed = run(*COMMAND, "--runs", "3").stdout
    assert "drawn-numbers (mini, draws 100..101)" in printed and "means over 2 draws" in printed
    oracles, baselines = (by_epoch(tmp_path / "out", name) for name in ("oracle", "baseline"))
    facts = {epoch: one.record.disclosure for epoch, one in oracles.items()}
    assert [facts[epoch].draw for epoch in (1, 2, 3)] == ["100", "101", "100"]
    assert facts[1].data_hash == facts[3].data_hash != facts[2].data_hash
    assert {one.draw_policy for one in facts.values()} == {"100..101"}
    grades = [oracles[epoch].grade for epoch in (1, 2)]
    assert all(grade is not None and grade.success for grade in grades)
    assert all(grade is not None and grade.normalised == pytest.approx(1) for grade in grades)
    assert len({grade.floor for grade in grades if grade}) == 2, "each draw has its own floor"
    assert baselines[2].record.disclosure.data_hash == facts[2].data_hash

    [board] = leaderboards(cell_statistics(collect_summaries([tmp_path / "out"]).summaries))
    rows = {row.agent: row for row in board.rows}
    found = compare(rows["oracle"], rows["baseline"], "normalised")
    assert found is not None and found.clusters == (2, 2) and found.p == pytest.approx(0.5)
    run("report", "out", "--publish", "--csv")
    lines = (tmp_path / "out/report/tables/runs.csv").read_text().splitlines()
    assert {"draw", "draw_policy", "generator"} <= set(lines[0].split(","))

    second = oracles[2].path
    run("runs", "regrade", f"out/{second}")
    run("runs", "replay", f"out/{second}")
    run("runs", "branch", f"out/{second}", "--step", "1")
    [branch] = [one for one in collect(tmp_path / "out") if one.record.branched_from is not None]
    assert branch.record.disclosure.draw == "101"
    assert branch.grade is not None and branch.grade.success


def test_a_draw_that_the_reference_does_not_solve_costs_no_step(tmp_path: Path, run: Run) -> None:
    folder = write_number_task(tmp_path, "useless-solution")
    useless = SOLUTION.replace("slope = 3.0", "slope = 0.0")
    (folder / "solution" / "solution.py").write_text(useless)
    command = ("run", "--tasks", "./useless-solution", "--agents", "baseline", "--out", "out")
    result = run(*command, "--draw", "7", expect=1)
    assert "useless-solution cannot be measured on draw 7: " in result.stderr
    [failed] = collect(tmp_path / "out")
    assert failed.usage.steps == 0 and "cannot be measured on draw 7" in (failed.failure or "")


def test_the_public_draw_is_not_published(tmp_path: Path, run: Run) -> None:
    write_number_task(tmp_path)
    run("run", "--tasks", "./numbers", "--agents", "nop", "--out", "out")
    refused = run("report", "out", "--publish", expect=2).stderr
    [name] = [one.path for one in collect(tmp_path / "out")]
    assert "1 run is on the public draw, for development" in refused and name in refused
    assert "mlagentbench run --draw LABEL" in refused
    assert not (tmp_path / "out/report").exists()
    assert json.loads(run("report", "out", "--json").stdout)


def test_the_old_name_of_the_option_names_the_new_one(run: Run) -> None:
    for command in (("run", "--mini-seed", "secret"), ("tasks", "measure", "x", "--mini-seed=a")):
        assert "`--mini-seed` is now `--draw`" in run(*command, expect=2).stderr
    refused = run(
        "run", "--tasks", "house-price", "--agents", "nop", "--tier", "full", "--draw", "1..4",
        expect=2,
    ).stderr  # fmt: skip
    assert "--draw 1..4: is for generated data" in refused
