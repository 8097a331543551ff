"""Boards: what may share a table, whose rows always stand there, and means over tasks."""

from statistics import fmean
from typing import Any

import pytest
from made_runs import graded, on_measured_data, row, run, runs_of

from mlagentbench.numeric.intervals import stratified_rate_interval, stratum_of
from mlagentbench.records import Outcome, Usage
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.leaderboard import (
    APART,
    IMPORTED,
    leaderboards,
)
from mlagentbench.statistics.reference_rows import FROM_MEASURED
from mlagentbench.tasks.task import load_task

TASKS = ("house-price", "vectorization")


def test_an_agents_row_is_the_mean_over_tasks() -> None:
    """Each task has the same weight, however many runs it has."""
    scores: dict[str, list[float | None]] = {"a": [0.9, 0.8, 0.1, None], "b": [0.7, 0.6]}
    [leaderboard] = leaderboards(cell_statistics(runs_of("react", scores)))
    react = row(leaderboard, "react")
    assert react.success.mean == pytest.approx(fmean([2 / 4, 2 / 2]))
    strata = [stratum_of([1.0, 1.0, 0.0, 0.0]), stratum_of([1.0, 1.0])]
    assert react.success.on_these_tasks == stratified_rate_interval(strata)
    assert react.success.over_tasks is not None and react.success.tasks == 2
    assert react.normalised.mean == pytest.approx(fmean([1.8 / 4, 1.3 / 2]))
    assert (react.runs, react.successes, react.tokens) == (6, 4, 6000)
    assert react.tokens_per_success == 1500 and react.cost == pytest.approx(3.0)
    levels = {point.at_least: point.share for point in react.profile}
    assert list(levels) == [0.0, 0.1, 0.6, 0.7, 0.8, 0.9]
    assert levels[0.6] == pytest.approx(react.success.mean)
    assert levels[0.7] == pytest.approx(fmean([2 / 4, 1 / 2]))


def test_missing_runs_widen_to_bounds() -> None:
    lost = run(3, None, outcome=Outcome(kind="failed", cause="sandbox"), task="a")
    [leaderboard] = leaderboards(
        cell_statistics([*runs_of("react", {"a": [0.9, 0.1], "b": [0.9]}), lost])
    )
    react = row(leaderboard, "react")
    assert react.success.mean == pytest.approx(0.75)
    assert react.success.bounds is not None
    assert react.success.bounds.low == pytest.approx(fmean([1 / 3, 1]))
    assert react.success.bounds.high == pytest.approx(fmean([2 / 3, 1]))
    assert (react.missing, react.greyed) == (1, True)


def test_the_paper_s_rule_has_bounds_of_its_own() -> None:
    lost = run(3, None, outcome=None, task="a")
    [leaderboard] = leaderboards(
        cell_statistics([*runs_of("react", {"a": [0.2, 0.2], "b": [0.2]}), lost])
    )
    react = row(leaderboard, "react")
    assert react.success.bounds is not None and react.paper_success.bounds is not None
    assert react.success.bounds.high == pytest.approx(fmean([1 / 3, 0]))
    assert react.paper_success.bounds.low == pytest.approx(fmean([2 / 3, 1]))


@pytest.mark.parametrize(
    "other",
    [
        {"tier": "mini", "draw_policy": "public"},
        {"data_hash": "0123"},
        {"task_version": 2},
        {"variant": "renamed"},
    ],
    ids=str,
)
def test_other_data_never_share_a_board(other: dict[str, Any]) -> None:
    ours = runs_of("react", {"a": [0.9], "b": [0.9]})
    both = leaderboards(cell_statistics([*ours, *runs_of("research", {"a": [0.2]}, **other)]))
    assert len(both) == 2 and len({leaderboard.name for leaderboard in both}) == 2
    for leaderboard in both:
        ran_a = [
            one.agent for one in leaderboard.rows for cell in one.cells if cell.key.task == "a"
        ]
        assert len(ran_a) == 1


def test_a_secret_seed_is_one_board_over_tasks_and_not_the_public_ones() -> None:
    mini = {"tier": "mini"}
    secret = [
        *runs_of("react", {"a": [0.9]}, **mini, draw_policy="secret:1", data_hash="1"),
        *runs_of("react", {"b": [0.9]}, **mini, draw_policy="secret:2", data_hash="2"),
    ]
    public = runs_of("react", {"a": [0.9]}, **mini, draw_policy="public", data_hash="3")
    names = {
        leaderboard.name: leaderboard.tasks
        for leaderboard in leaderboards(cell_statistics([*secret, *public]))
    }
    assert names == {
        "mini, public draw: for development, 50 steps, 5 h": ("a",),
        "mini, secret draw, 50 steps, 5 h": ("a", "b"),
    }


@pytest.mark.parametrize(
    ("other", "mark"),
    [
        ({"limits": {"steps": 20, "time": 18000.0}}, "limits: 20 steps, 5 h"),
        ({"sandbox": "local"}, "sandbox: local"),
        ({"feedback": "validation:3"}, "feedback: validation:3"),
        ({"protocol": "paper"}, "protocol: paper"),
    ],
    ids=str,
)
def test_other_conditions_share_a_board_with_a_mark(other: dict[str, Any], mark: str) -> None:
    ours = runs_of("react", {"a": [0.9, 0.8], "b": [0.9, 0.8]})
    [leaderboard] = leaderboards(
        cell_statistics([*ours, *runs_of("research", {"a": [0.2], "b": [0.2]}, **other)])
    )
    assert (
        mark in row(leaderboard, "research").marks and mark not in row(leaderboard, "react").marks
    )
    [differs] = [text for text in leaderboard.marks if "different" in text]
    assert mark.split(": ", 1)[1] in differs

    twice = [*ours, *runs_of("react", {"a": [0.2]}, **other)]
    [leaderboard] = leaderboards(cell_statistics(twice))
    assert len([one for one in leaderboard.rows if one.agent == "react"]) == 2


def test_imported_runs_stand_beside_ours_with_a_mark() -> None:
    ours = runs_of("react", {"a": [0.9]})
    facts = {"task_version": 0, "data_hash": "unknown", "limits": {}, "sandbox": "unknown"}
    [leaderboard] = leaderboards(
        cell_statistics([*ours, *runs_of("research", {"a": [0.2]}, **facts)])
    )
    assert IMPORTED in row(leaderboard, "research").marks
    assert IMPORTED not in row(leaderboard, "react").marks


def test_nop_and_baseline_always_stand_in_the_table() -> None:
    """Made from the task's figures: the starter's runs, and what doing nothing hands in."""
    summaries = [run(1, graded(0.9), **on_measured_data(task)) for task in TASKS]
    [leaderboard] = leaderboards(cell_statistics(summaries))
    baseline, nop = row(leaderboard, "baseline"), row(leaderboard, "nop")
    assert baseline.is_reference_agent and nop.is_reference_agent and baseline.runs == nop.runs == 0
    assert FROM_MEASURED in baseline.marks and FROM_MEASURED in nop.marks
    measured = load_task("house-price").spec.measured["mini"]
    price, vector = baseline.cells
    assert price.score.mean == measured.starter.mean
    assert (price.success.successes, price.success.n) == (0, measured.starter.runs)
    assert price.normalised.mean is not None and price.normalised.mean < 0
    assert vector.normalised.mean == pytest.approx(0, abs=0.01)
    assert nop.cells[0].valid.rate == 0.0 and nop.cells[0].normalised.mean == 0.0
    assert nop.cells[1].valid.rate == 1.0  # the starter is itself a submission there
    assert baseline.tokens_per_success is None and baseline.profile == ()


def test_rulers_that_ran_are_filled_up_where_they_did_not() -> None:
    ran = run(1, graded(0.0), agent="baseline", model="none", **on_measured_data("house-price"))
    agents = [run(1, graded(0.9), **on_measured_data(task)) for task in TASKS]
    [leaderboard] = leaderboards(cell_statistics([ran, *agents]))
    baseline = row(leaderboard, "baseline")
    assert [cell.from_measured for cell in baseline.cells] == [False, True]
    assert f"{FROM_MEASURED}: vectorization" in baseline.marks


def test_what_nobody_measured_is_said() -> None:
    facts = on_measured_data("house-price") | {"data_hash": "0123"}
    unknown = run(1, graded(0.9), task="no-such-task")
    texts = [
        mark
        for leaderboard in leaderboards(cell_statistics([run(1, graded(0.9), **facts), unknown]))
        for mark in leaderboard.marks
    ]
    assert any("not measured on this data" in text for text in texts)
    assert any("unknown task 'no-such-task'" in text for text in texts)


def test_imported_runs_that_saw_other_data_have_rows_of_their_own() -> None:
    """Each row has a task once, so that its mean gives no task more weight than others."""
    imported: dict[str, Any] = {
        "agent": "legacy-agent",
        "task_version": 0,
        "tier": "full",
        "limits": {},
    }
    runs = [
        *runs_of("react", {"a": [0.9], "b": [0.9]}),
        run(1, graded(0.9), task="a", data_hash="legacy:1", **imported),
        *(run(n, graded(0.1), task="a", data_hash="legacy:2", **imported) for n in (2, 3)),
        run(1, graded(0.9), task="b", data_hash="legacy:3", **imported),
    ]
    [leaderboard] = leaderboards(cell_statistics(runs))
    rows = [one for one in leaderboard.rows if one.agent == "legacy-agent"]
    found = {tuple((cell.key.task, cell.runs) for cell in one.cells): one for one in rows}
    assert set(found) == {(("a", 2), ("b", 1)), (("a", 1),)}
    assert found[("a", 2), ("b", 1)].success.mean == 0.5
    assert f"{APART} (2)" in found[("a", 1),].marks


def test_a_rows_totals_are_those_of_its_runs() -> None:
    """Also where runs share a history; what is unknown for one run is unknown for all."""
    used = Usage(input_tokens=10, cost=1.0, seconds=5.0)
    runs = [
        *(run(n, graded(0.8), cluster="one", usage=used) for n in (1, 2, 3)),
        run(4, graded(0.2), cluster="two", usage=Usage(input_tokens=90, seconds=85.0)),
    ]
    [leaderboard] = leaderboards(cell_statistics(runs))
    react = row(leaderboard, "react")
    assert (react.tokens, react.working_seconds, react.tokens_per_success) == (120, 100.0, 40)
    assert react.cost is None and react.cost_per_success is None
