"""What executing is worth to an agent: pairs of runs with and without it, draw by draw."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
from made_runs import graded, run

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.numeric.intervals import t_quantile
from mlagentbench.records import Outcome
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.experimentation_gain import GainReport, experimentation_gains
from mlagentbench.statistics.leaderboard import leaderboards
from mlagentbench.tasks.draws import draw_of

POLICY = "100..103"
FACTS: dict[str, Any] = {
    "tier": "mini", "draw_policy": POLICY, "generator": "9e4e", "protocol": "rebuild",
    "rebuild_draws": 3,
}  # fmt: skip


def runs(
    execution: bool, scores: Mapping[int, float | None], task: str = "a", **facts: Any
) -> list[RunSummary]:
    """Runs by their numbers, each on the draw of its number."""
    drawn = ((epoch, score, draw_of(POLICY, epoch)) for epoch, score in scores.items())
    return [
        run(
            epoch, graded(score), task=task, draw=draw, data_hash=f"data of {draw}",
            execution=execution, **(FACTS | facts),
        )
        for epoch, score, draw in drawn
    ]  # fmt: skip


def reasons(report: GainReport) -> list[str]:
    return [one.reason for one in report.unpaired]


def test_the_gain_is_that_of_a_calculation_by_hand() -> None:
    report = experimentation_gains(
        [
            # draw 100: differences 0.5 and 0.3; draw 101: 0.1; draw 102: no pair
            *runs(True, {1: 0.9, 2: 0.6, 3: 0.8, 5: 0.7}),
            *runs(False, {1: 0.4, 2: 0.5, 5: 0.4}),
            # draws 100 to 102: differences 0.1, 0.2 and 0.3
            *runs(True, {1: 0.3, 2: 0.4, 3: 0.5}, "b"),
            *runs(False, {1: 0.2, 2: 0.2, 3: 0.2}, "b"),
        ]
    )
    [gain] = report.gains
    first, second = gain.tasks
    assert (first.task, first.pairs, first.clusters) == ("a", 3, 2)
    assert first.gain == pytest.approx((0.4 + 0.1) / 2), "each draw counts once"
    assert first.with_execution == pytest.approx((0.8 + 0.6) / 2)
    assert first.without_execution == pytest.approx((0.4 + 0.5) / 2)
    assert (first.successes_with, first.successes_without) == (3, 1)
    # standard deviation of 0.4 and 0.1 is 0.3 / sqrt(2), so the standard error is 0.15
    assert first.interval is not None
    assert first.interval.high - first.gain == pytest.approx(12.7062 * 0.15, rel=1e-4)
    assert second.gain == pytest.approx(0.2) and second.interval is not None
    assert second.interval.high - second.gain == pytest.approx(4.30265 * 0.1 / math.sqrt(3))
    assert (gain.name, gain.data) == ("react with openai/small", "mini, draws 100..103")
    assert gain.gain == pytest.approx((0.25 + 0.2) / 2) and gain.pairs == 6
    error = math.sqrt(0.15**2 + 0.01 / 3) / 2
    degrees = error**4 / ((0.15**2 / 4) ** 2 / 1 + (0.01 / 3 / 4) ** 2 / 2)
    assert gain.interval is not None
    half = gain.interval.high - gain.gain
    assert half == pytest.approx(t_quantile(degrees) * error)
    assert (gain.successes_with, gain.successes_without) == (4, 1)
    [unpaired] = report.unpaired
    assert unpaired.execution and unpaired.path.endswith("/3")
    assert reasons(report) == [
        "no run without executions has the same task, agent, model, draw and number"
    ]


def test_a_run_without_a_valid_submission_counts_as_the_floor() -> None:
    [gain] = experimentation_gains([*runs(True, {1: 0.8}), *runs(False, {1: None})]).gains
    assert gain.gain == pytest.approx(0.8) and gain.interval is None
    assert (gain.successes_with, gain.successes_without) == (1, 0)


def test_nothing_is_said_of_runs_that_all_could_execute() -> None:
    assert experimentation_gains(runs(True, {1: 0.8, 2: 0.9})) == GainReport()
    assert experimentation_gains([]) == GainReport()


def test_runs_that_differ_in_more_are_no_pair() -> None:
    without = runs(False, {1: 0.4})
    for facts, differs in (
        ({"protocol": "standard", "rebuild_draws": None}, "protocol, rebuild draws"),
        ({"limits": {"steps": 10}}, "limits"),
        ({"agent_settings": {"context_tokens": 9}}, "agent settings"),
        ({"draw_policy": "100..107"}, "draw policy"),
        ({"sandbox": "docker"}, "sandbox"),
        ({"interactive": True}, "interactive"),
    ):
        report = experimentation_gains([*runs(True, {1: 0.9}, **facts), *without])
        assert report.gains == ()
        [reason] = reasons(report)
        assert sorted(reason.removeprefix("the run with executions differs in its ").split(", ")) \
            == sorted(differs.split(", "))  # fmt: skip
    others = [
        *runs(True, {1: 0.9}, agent="tree"),
        *runs(True, {1: 0.9}, model="openai/large"),
        *runs(True, {2: 0.9}),
    ]
    report = experimentation_gains([*others, *without])
    assert report.gains == () and len(report.unpaired) == 2, "its own agent's other run, and it"


def test_runs_that_do_not_count_are_named() -> None:
    failed = Outcome(kind="failed", cause="model", detail="503")
    broken = run(
        1, None, outcome=failed, task="a", draw="100", data_hash="data of 100", execution=False,
        **FACTS,
    )  # fmt: skip
    report = experimentation_gains([*runs(True, {1: 0.9}), broken])
    assert report.gains == ()
    assert sorted(reasons(report)) == [
        "does not count: provider failed",
        "the run without executions does not count",
    ]
    elsewhere = run(
        1, graded(0.4), task="a", draw="100", data_hash="made elsewhere", execution=False, **FACTS
    )
    report = experimentation_gains([*runs(True, {1: 0.9}), elsewhere])
    assert "the run with executions has other data" in reasons(report)


def test_pairs_of_different_keys_are_marked() -> None:
    with_execution = runs(True, {1: 0.9}, fresh_key="12" * 32)
    [same] = experimentation_gains(
        [*with_execution, *runs(False, {1: 0.4}, fresh_key="12" * 32)]
    ).gains
    assert same.note == ""
    [other] = experimentation_gains(
        [*with_execution, *runs(False, {1: 0.4}, fresh_key="34" * 32)]
    ).gains
    assert "different keys" in other.note


def test_runs_with_and_without_executions_share_no_cell_and_no_leaderboard() -> None:
    summaries = [*runs(True, {1: 0.9, 2: 0.8}), *runs(False, {1: 0.4})]
    cells = cell_statistics(summaries)
    assert [(cell.key.agent, cell.runs) for cell in cells] == [
        ("react", 2),
        ("react, no execution", 1),
    ]
    boards = leaderboards(cells)
    assert [board.name.partition(", 50 steps")[0] for board in boards] == [
        "mini, draws 100..103",
        "mini, draws 100..103, no execution",
    ]
    oracle = cell_statistics(runs(False, {1: 1.0}, agent="oracle"))
    [board] = leaderboards(oracle)
    [row] = [row for row in board.rows if row.was_run]
    assert row.agent == "oracle, no execution" and row.is_reference_agent
