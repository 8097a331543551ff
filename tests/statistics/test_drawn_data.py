"""Runs on a range of draws: one cell, clusters by draw, agents compared draw by draw."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from made_runs import graded, row, run

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.numeric.intervals import wilson_interval
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.comparison import compare
from mlagentbench.statistics.leaderboard import leaderboards
from mlagentbench.statistics.variants import variant_differences
from mlagentbench.tasks.draws import draw_of
from mlagentbench.tasks.stored_measurements import store_in_home
from mlagentbench.tasks.task import load_task

MINI: dict[str, Any] = {"tier": "mini", "draw_policy": "100..103", "generator": "9e4e"}


def drawn(
    agent: str, scores: Sequence[float], measured: Mapping[str, float] | None = None, **facts: Any
) -> list[RunSummary]:
    """Runs of an agent on a range of draws, in turn; each draw may have a reference of its own."""
    found = []
    settings = MINI | facts
    for epoch, score in enumerate(scores, start=1):
        draw = draw_of(settings["draw_policy"], epoch)
        grade = graded(score)
        if measured is not None:
            grade = grade.model_copy(update={"reference": measured[draw]})
        found.append(
            run(
                epoch,
                grade,
                task="a",
                agent=agent,
                draw=draw,
                data_hash=f"data of {draw}",
                **settings,
            )
        )
    return found


def test_runs_that_were_rebuilt_on_different_fresh_draws_are_marked() -> None:
    rebuilt = {"protocol": "rebuild", "rebuild_draws": 3}
    runs = drawn("react", [0.9, 0.9], fresh_key="12" * 32, **rebuilt)
    [cell] = cell_statistics(runs)
    assert not any("keys" in mark for mark in cell.marks)
    [both] = cell_statistics([*runs, *drawn("react", [0.2], fresh_key="34" * 32, **rebuilt)])
    assert "fresh draws of 2 keys, so of different data" in both.marks


def test_a_range_is_one_cell_whose_draws_count_once() -> None:
    references = {"100": 1.0, "101": 2.0, "102": 3.0, "103": 6.0}
    [cell] = cell_statistics(drawn("react", [0.9, 0.9, 0.2, 0.2, 0.9, 0.2, 0.2, 0.2], references))
    assert (cell.runs, cell.success.n, cell.success.successes) == (8, 8, 3)
    assert cell.success.rate == pytest.approx((1 + 0.5 + 0 + 0) / 4)
    assert cell.success.interval == wilson_interval(1.5, 4)
    assert cell.normalised.n == 4 and len(cell.clusters) == 4
    assert cell.reference == pytest.approx(3.0)
    assert [one.reference for one in cell.draws] == [1.0, 2.0, 3.0, 6.0]
    assert cell.pass_at == {} and cell.best_of == ()
    assert "8 runs on 4 draws: each counts once" in cell.marks
    [single] = cell_statistics(drawn("react", [0.9, 0.9, 0.2, 0.2]))
    assert single.pass_at[1] == pytest.approx(0.5) and single.best_of == ()
    assert single.data_description == "mini, draws 100..103"


def test_agents_are_compared_on_common_draws_only_and_paired() -> None:
    react = drawn("react", [0.5, 0.6, 0.7, 0.8])
    tree = drawn("tree", [0.4, 0.5, 0.6])
    [leaderboard] = leaderboards(cell_statistics([*react, *tree]))
    assert leaderboard.name.startswith("mini, draws 100..103, ")
    [mark] = [one for one in leaderboard.marks if "different draws" in one]
    assert mark.endswith("100..103 (react with openai/small); 100..102 (tree with openai/small)")
    found = compare(row(leaderboard, "react"), row(leaderboard, "tree"), "normalised")
    assert found is not None and found.clusters == (3, 3)
    assert found.difference == pytest.approx(0.1)
    assert found.p == pytest.approx(2 / 2**3)
    # all differences are equal: paired, there is no spread
    assert found.interval is None or found.interval.high - found.interval.low < 1e-6


def test_other_draws_are_another_leaderboard_and_none_are_compared() -> None:
    others = drawn("tree", [0.5, 0.5], draw_policy="200..203")
    boards = leaderboards(cell_statistics([*drawn("react", [0.5, 0.5]), *others]))
    assert len(boards) == 2
    apart = [
        one
        for one in drawn("tree", [0.5, 0.5, 0.5, 0.5])
        if one.result.record.disclosure.draw in ("102", "103")
    ]
    [board] = leaderboards(cell_statistics([*drawn("react", [0.5, 0.5]), *apart]))
    assert compare(row(board, "react"), row(board, "tree"), "success") is None


def test_the_same_name_with_other_data_is_no_pair() -> None:
    react = drawn("react", [0.5, 0.6])
    other = [
        run(1, graded(0.4), task="a", agent="tree", draw="100", data_hash="made elsewhere", **MINI),
        *drawn("tree", [0.4, 0.4])[1:],
    ]
    [board] = leaderboards(cell_statistics([*react, *other]))
    found = compare(row(board, "react"), row(board, "tree"), "normalised")
    assert found is not None and found.clusters == (1, 1)


def test_variants_are_compared_draw_by_draw() -> None:
    range_of_two: dict[str, Any] = {"draw_policy": "100..101"}
    original = drawn("react", [0.8, 0.4, 0.8, 0.4, 0.8], **range_of_two)
    renamed = drawn("react", [0.6, 0.4, 0.6, 0.4, 0.6], **range_of_two, variant="renamed")
    [found] = variant_differences([one.result for one in [*original, *renamed]])
    assert (found.pairs, found.draws) == (5, 2)
    assert found.difference == pytest.approx((-0.2 + 0.0) / 2), "each draw counts once"
    assert found.standard_error == pytest.approx(0.1)
    secret = {"draw_policy": "secret:aa", "draw": "secret:aa"}
    one = run(1, graded(0.5), task="a", **MINI | secret)
    same = run(1, graded(0.4), task="a", variant="renamed", **MINI | secret)
    other = run(1, graded(0.4), task="a", variant="renamed", **MINI | {"draw_policy": "secret:bb"})
    assert len(variant_differences([one.result, same.result])) == 1
    assert variant_differences([one.result, other.result]) == [], "other data are no pair"


def test_a_draw_that_cannot_be_measured_does_not_cost_the_reference_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path))
    task = load_task("house-price")
    spec = task.spec
    for draw in ("100", "101"):
        own = spec.measured["mini"].model_copy(update={"data": f"data of {draw}"})
        store_in_home(task, "mini", own)
    settings = MINI | {"task": "house-price", "agent": "react", "task_version": spec.version}
    runs = [
        run(epoch, graded(0.5), draw=draw, data_hash=f"data of {draw}", **settings)
        for epoch, draw in enumerate(("100", "101"), start=1)
    ]
    failed = run(3, None, draw="102", data_hash="data of 102", outcome=None, **settings)
    [board] = leaderboards(cell_statistics([*runs, failed]))
    assert "nop and baseline without draws on which no run counts: 102" in board.marks
    assert row(board, "baseline").cells[0].normalised.n == 2
