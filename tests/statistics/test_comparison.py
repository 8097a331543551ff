"""Comparisons of agents on a leaderboard: who is compared with whom, by what, how sure it is."""

import pytest
from made_runs import graded, on_measured_data, row, run, runs_of

from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.comparison import all_comparisons, compare
from mlagentbench.statistics.leaderboard import leaderboards
from mlagentbench.statistics.permutation import holm

GOOD = {"a": [0.9, 0.8, 0.7, 0.9, 0.6], "b": [0.9, 0.4, 0.7, 0.8, 0.9], "c": [0.6]}
BAD = {"a": [0.1, 0.3, None, 0.2, 0.6], "b": [0.3, 0.2, 0.1, 0.7, None]}


def test_the_difference_is_over_the_tasks_that_both_ran_on() -> None:
    [leaderboard] = leaderboards(
        cell_statistics([*runs_of("react", GOOD), *runs_of("research", BAD)])
    )
    found = compare(row(leaderboard, "react"), row(leaderboard, "research"), "success")
    assert found is not None
    assert [one.task for one in found.tasks] == ["a", "b"]
    assert found.difference == pytest.approx(((1 - 0.2) + (0.8 - 0.2)) / 2)
    assert found.interval is not None
    assert 0 < found.interval.low < found.difference < found.interval.high
    assert 0 < found.p < 0.05 and found.clusters == (10, 10)
    assert found.detectable is not None and 0.5 < found.detectable < 0.8
    assert [one.p_holm for one in found.tasks] == holm([one.p for one in found.tasks])
    assert found.note == ""

    scores = compare(row(leaderboard, "react"), row(leaderboard, "research"), "normalised")
    assert scores is not None and scores.difference == pytest.approx(
        (0.78 - 0.24 + 0.74 - 0.26) / 2
    )
    assert scores.p < 0.01 and scores.detectable is not None and scores.detectable < 0.5


def test_everybody_is_compared_with_everybody_and_with_the_baseline() -> None:
    tasks = {"a": [0.1, 0.2], "b": [0.1, 0.2]}
    runs = [
        *runs_of("react", GOOD), *runs_of("research", BAD), *runs_of("baseline", tasks),
        *runs_of("oracle", tasks), *runs_of("nop", tasks),
    ]  # fmt: skip
    [leaderboard] = leaderboards(cell_statistics(runs))
    pairs = [(one.measure, one.first, one.second) for one in all_comparisons(leaderboard)]
    react, research, baseline = (
        f"{agent} with openai/small" for agent in ("react", "research", "baseline")
    )
    expected = [(react, research), (react, baseline), (research, baseline)]
    assert pairs == [(measure, *pair) for measure in ("success", "normalised") for pair in expected]


def test_a_baseline_that_was_only_measured_is_named() -> None:
    facts = on_measured_data("house-price")
    [leaderboard] = leaderboards(
        cell_statistics([run(n, graded(0.9), **facts) for n in range(1, 4)])
    )
    [found] = all_comparisons(leaderboard)  # by success: single scores of these runs are not known
    assert found.measure == "success" and found.difference == 1.0
    assert found.tasks[0].runs == (3, 30) and found.p < 0.001
    assert "measurements (house-price)" in found.note


def test_other_conditions_are_named() -> None:
    other = runs_of("research", BAD, sandbox="local")
    [leaderboard] = leaderboards(cell_statistics([*runs_of("react", GOOD), *other]))
    found = compare(row(leaderboard, "react"), row(leaderboard, "research"), "success")
    assert found is not None and found.note == "under different conditions: a, b"


def test_runs_branched_from_the_others_history_are_paired() -> None:
    """The second agent took over the first one's runs and bettered each a little."""
    scores = [0.1, 0.9, 0.3, 0.7, 0.5, 0.2]
    first = [run(n, graded(s), cluster=f"{n}") for n, s in enumerate(scores, 1)]
    second = [
        run(n, graded(s + 0.02), cluster=f"{n}", agent="research") for n, s in enumerate(scores, 1)
    ]
    alone = [run(n, graded(s + 0.02), agent="research") for n, s in enumerate(scores, 1)]
    [paired] = leaderboards(cell_statistics([*first, *second]))
    [apart] = leaderboards(cell_statistics([*first, *alone]))
    close = compare(row(paired, "research"), row(paired, "react"), "normalised")
    far = compare(row(apart, "research"), row(apart, "react"), "normalised")
    assert close is not None and far is not None
    assert close.difference == pytest.approx(far.difference) == pytest.approx(0.02)
    assert close.p == pytest.approx(2 / 2**6) and far.p > 0.5


def test_without_common_tasks_there_is_no_comparison() -> None:
    runs = [*runs_of("react", {"a": [0.9]}), *runs_of("research", {"b": [0.2]})]
    [leaderboard] = leaderboards(cell_statistics(runs))
    assert compare(row(leaderboard, "react"), row(leaderboard, "research"), "success") is None
