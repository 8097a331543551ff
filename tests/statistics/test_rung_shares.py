"""Shares of runs by rung, and the way to the ceiling, of cells and of agents over tasks."""

from typing import Any

import pytest
from made_runs import graded, on_measured_data, row
from made_runs import run as any_run

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.grading.rungs import RUNGS
from mlagentbench.records import GradeRecord, Rung
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.leaderboard import leaderboards

WORTH: dict[Rung, float | None] = {
    "invalid": None,
    "valid": 0.0,
    "above the floor": 0.3,
    "success": 0.6,
    "matches the reference": 1.0,
    "near the ceiling": 1.4,
}


def run(epoch: int, grade: GradeRecord, **facts: Any) -> RunSummary:
    drawn = {"tier": "mini", "draw": "public", "draw_policy": "public", "agent": "react"}
    return any_run(epoch, grade, **(drawn | facts))


def on_rung(rung: Rung, **more: Any) -> GradeRecord:
    """A grade with a ceiling at the normalised score 1.5."""
    worth = WORTH[rung]
    share = None if worth is None else worth / 1.5
    return graded(worth, **{"rung": rung, "ceiling": -2.0, "ceiling_share": share, **more})


def runs_on(task: str, *rungs: Rung, agent: str = "react", **facts: Any) -> list[RunSummary]:
    return [
        run(epoch, on_rung(rung), task=task, agent=agent, **facts)
        for epoch, rung in enumerate(rungs, start=1)
    ]


def test_the_last_three_rungs_are_the_success_rate() -> None:
    [cell] = cell_statistics(runs_on("a", *RUNGS, "success", "invalid"))
    assert sum(cell.rungs.values()) == pytest.approx(1)
    assert cell.rungs["invalid"] == cell.rungs["success"] == pytest.approx(2 / 8)
    assert sum(cell.rungs[rung] for rung in RUNGS[3:]) == pytest.approx(cell.success.rate)
    assert 1 - cell.rungs["invalid"] == pytest.approx(cell.valid.rate)


def test_runs_of_one_history_count_once() -> None:
    history = [run(n, on_rung("valid"), task="a", cluster="one") for n in (1, 2, 3)]
    [cell] = cell_statistics([*history, run(4, on_rung("success"), task="a")])
    assert cell.rungs["valid"] == cell.rungs["success"] == 0.5
    assert cell.ceiling_share.points == pytest.approx((0.0, 0.4))


def test_runs_on_one_draw_count_once() -> None:
    facts = {"draw_policy": "100..101", "generator": "9e4e"}
    cell, *others = cell_statistics(
        [
            run(1, on_rung("valid"), task="a", draw="100", data_hash="x", **facts),
            run(2, on_rung("near the ceiling"), task="a", draw="100", data_hash="x", **facts),
            run(3, on_rung("near the ceiling"), task="a", draw="101", data_hash="y", **facts),
        ]
    )
    assert others == []
    assert cell.rungs["near the ceiling"] == 0.75
    assert cell.ceiling_share.n == 2
    assert cell.ceiling_share.mean == pytest.approx((1.4 / 3 + 1.4 / 1.5) / 2)


def test_an_agents_shares_are_the_mean_over_tasks() -> None:
    runs = [*runs_on("a", "valid", "valid", "success", "success"), *runs_on("b", "success")]
    [leaderboard] = leaderboards(cell_statistics(runs))
    react = row(leaderboard, "react")
    assert react.rungs["valid"] == pytest.approx(0.25)
    assert react.rungs["success"] == pytest.approx(0.75) == react.success.mean
    assert sum(react.rungs.values()) == pytest.approx(1)


def test_without_measurements_runs_are_valid_or_invalid() -> None:
    unknown: dict[str, Any] = {
        "success": None, "paper_success": None, "ceiling": None,
        "ceiling_share": None,
    }  # fmt: skip
    runs = [
        run(1, on_rung("valid", **unknown), task="a"),
        run(2, on_rung("invalid", **unknown), task="a"),
    ]
    [cell] = cell_statistics(runs)
    assert cell.rungs["valid"] == cell.rungs["invalid"] == 0.5
    assert cell.ceiling_share.mean is None
    [leaderboard] = leaderboards([cell, *cell_statistics(runs_on("b", "success"))])
    assert row(leaderboard, "react").rungs["success"] == 1, "only where success is known"
    [leaderboard] = leaderboards([cell])
    assert row(leaderboard, "react").rungs == cell.rungs


def test_the_way_to_the_ceiling_is_like_the_normalised_score() -> None:
    [cell] = cell_statistics(
        runs_on("a", "invalid", "success", "success", "near the ceiling", "valid")
    )
    assert cell.ceiling_share.points == pytest.approx((0.0, 0.4, 0.4, 1.4 / 1.5, 0.0))
    assert cell.normalised.interval is not None and cell.ceiling_share.interval is not None
    assert cell.ceiling_share.interval.low == pytest.approx(cell.normalised.interval.low / 1.5)
    assert cell.ceiling == -2.0


def test_there_is_no_way_to_the_ceiling_in_the_full_tier_or_without_a_ceiling() -> None:
    full = run(1, on_rung("success"), task="a", tier="full", draw=None, draw_policy=None)
    [cell] = cell_statistics([full])
    assert cell.ceiling_share.mean is None and cell.ceiling_share.n == 0
    [cell] = cell_statistics([run(1, on_rung("success", ceiling=None, ceiling_share=None))])
    assert cell.ceiling_share.mean is None


def test_tasks_without_a_ceiling_are_left_out_of_an_agents_way() -> None:
    without = run(1, on_rung("success", ceiling=None, ceiling_share=None), task="b", agent="react")
    [leaderboard] = leaderboards(cell_statistics([*runs_on("a", "success"), without]))
    share = row(leaderboard, "react").ceiling_share
    assert share.tasks == 1 and share.mean == pytest.approx(0.4)


def test_reference_agents_that_were_not_run_have_rungs() -> None:
    facts = on_measured_data("house-price")
    runs = [run(1, on_rung("success"), agent="react", **facts)]
    [leaderboard] = leaderboards(cell_statistics(runs))
    assert row(leaderboard, "nop").rungs["invalid"] == 1
    assert row(leaderboard, "baseline").rungs["valid"] == 1
    starter, nop = (row(leaderboard, agent).ceiling_share for agent in ("baseline", "nop"))
    assert starter.mean is not None and starter.mean < 0, "the starter is below the floor"
    assert nop.mean == 0
