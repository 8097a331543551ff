"""Whether hard and full rank agents alike: tau-b by hand, ties, and missing cells."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from made_runs import graded, run

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.records import Outcome
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.leaderboard import leaderboards
from mlagentbench.statistics.tiers.rank_agreement import (
    AgreementReport,
    kendall_tau,
    rank_agreement,
)

HARD: dict[str, Any] = {
    "tier": "hard", "draw": "public", "draw_policy": "public", "generator": "9e4e",
    "data_hash": "cd" * 32,
}  # fmt: skip
FULL: dict[str, Any] = {"tier": "full", "profile": "cpu"}


def runs(
    tier: Mapping[str, Any], task: str, scores: Mapping[str, Sequence[float | None]], **facts: Any
) -> list[RunSummary]:
    """Runs of agents on a task."""
    return [
        run(epoch, graded(score), **{**tier, "task": task, "agent": agent, **facts})
        for agent, values in scores.items()
        for epoch, score in enumerate(values, start=1)
    ]


def report(*summaries: Sequence[RunSummary]) -> AgreementReport:
    every = [one for some in summaries for one in some]
    return rank_agreement(leaderboards(cell_statistics(every)))


def test_tau_is_that_of_a_calculation_by_hand() -> None:
    assert kendall_tau([0.1, 0.5, 0.9], [0.2, 0.3, 0.8]) == pytest.approx(1)
    assert kendall_tau([0.1, 0.5, 0.9], [0.8, 0.3, 0.2]) == pytest.approx(-1)
    # one of three pairs is in another order
    assert kendall_tau([0.1, 0.5, 0.9], [0.2, 0.8, 0.3]) == pytest.approx((2 - 1) / 3)
    # three pairs agree, two do not, one is tied on the left: (3 - 2) / sqrt(5 * 6)
    tied = kendall_tau([0.9, 0.5, 0.5, 0.1], [0.8, 0.6, 0.4, 0.7])
    assert tied == pytest.approx(1 / math.sqrt(30))
    # ties on both sides, in different pairs: (4 - 0) / sqrt(5 * 5)
    both = kendall_tau([0.9, 0.9, 0.5, 0.1], [0.8, 0.7, 0.2, 0.2])
    assert both == pytest.approx(4 / 5)


def test_scores_that_are_equal_but_for_noise_are_tied() -> None:
    noisy = kendall_tau([0.1 + 0.2, 0.3, 0.9], [0.1, 0.2, 0.3])
    assert noisy == pytest.approx(2 / math.sqrt(2 * 3))
    assert kendall_tau([0.1 + 0.2, 0.3, 0.3], [0.1, 0.2, 0.3]) is None


def test_agreement_is_over_means_of_runs_and_the_mean_of_tasks() -> None:
    found = report(
        # means 0.5, 0.4, 0.0: without a valid submission the score is the floor's
        runs(HARD, "a", {"one": [0.9, 0.1], "two": [0.4], "three": [None]}),
        runs(FULL, "a", {"one": [0.8], "two": [0.6], "three": [0.1]}),
        runs(HARD, "b", {"one": [0.1], "two": [0.5], "three": [0.9]}),
        runs(FULL, "b", {"one": [0.2], "two": [0.8], "three": [0.3]}),
        runs(HARD, "c", {"one": [0.1], "two": [0.5]}),
        runs(FULL, "c", {"one": [0.2], "two": [0.8], "three": [0.3]}),
    )
    [agreement] = found.agreements
    assert found.lacking == ""
    assert {task.task: task.tau for task in agreement.tasks} == pytest.approx({"a": 1, "b": 1 / 3})
    assert agreement.tau == pytest.approx((1 + 1 / 3) / 2)
    assert (agreement.agents, agreement.tasks_with_tau) == (3, 2)
    assert agreement.too_few == {"c": 2}
    assert agreement.hard.startswith("hard, public draw")
    assert agreement.full.startswith("full, cpu profile")
    assert agreement.caution.startswith("Weak evidence: 3 agents on 2 tasks. 3 agents in random")
    assert "1 of 6 cases" in agreement.caution


def test_agents_without_counted_runs_in_both_tiers_are_left_out_of_the_task() -> None:
    failed = Outcome(kind="failed", cause="model", detail="503")
    facts = FULL | {"task": "a", "agent": "four"}
    lost = [run(1, None, outcome=failed, **facts)]
    scores = {"one": [0.1], "two": [0.5], "three": [0.9]}
    found = report(
        runs(HARD, "a", scores | {"four": [0.2], "five": [0.3]}),
        runs(FULL, "a", scores | {"six": [0.0]}),
        lost,
    )
    [agreement] = found.agreements
    [task] = agreement.tasks
    assert sorted(task.agents) == [f"{one} with openai/small" for one in ("one", "three", "two")]
    assert task.tau == pytest.approx(1)


def test_a_task_on_which_all_are_tied_has_no_tau_and_is_not_in_the_mean() -> None:
    agents = ("one", "two", "three")
    found = report(
        runs(HARD, "a", {agent: [None] for agent in agents}),
        runs(FULL, "a", dict(zip(agents, ([0.1], [0.2], [0.3]), strict=True))),
        runs(HARD, "b", dict(zip(agents, ([0.1], [0.2], [0.3]), strict=True))),
        runs(FULL, "b", dict(zip(agents, ([0.1], [0.2], [0.3]), strict=True))),
    )
    [agreement] = found.agreements
    tied, other = agreement.tasks
    assert tied.tau is None and "tied" in tied.note and other.note == ""
    assert agreement.tau == pytest.approx(1) and agreement.tasks_with_tau == 1
    [none] = report(
        runs(HARD, "a", {agent: [None] for agent in agents}),
        runs(FULL, "a", {agent: [0.5] for agent in agents}),
    ).agreements
    assert none.tau is None and none.tasks_with_tau == 0


def test_reference_agents_have_no_rank() -> None:
    agents: dict[str, list[float | None]] = {
        "one": [0.5], "two": [0.6], "baseline": [0.0], "oracle": [1.0], "nop": [None],
    }  # fmt: skip
    found = report(runs(HARD, "a", agents), runs(FULL, "a", agents))
    assert found.agreements == ()
    assert found.lacking.endswith("besides reference agents; a has 2.")


def test_agents_that_differ_in_their_roles_are_different_agents() -> None:
    roles = {"roles": {"edit": "openai/large"}}
    scores = {"one": [0.1], "two": [0.5]}
    found = report(
        runs(HARD, "a", scores), runs(HARD, "a", {"one": [0.9]}, **roles),
        runs(FULL, "a", scores), runs(FULL, "a", {"one": [0.9]}, **roles),
    )  # fmt: skip
    [agreement] = found.agreements
    assert agreement.agents == 3 and agreement.tau == pytest.approx(1)


def test_what_is_missing_is_said_only_if_there_are_runs_in_both_tiers() -> None:
    scores = {"one": [0.1], "two": [0.5], "three": [0.9]}
    assert report() == AgreementReport()
    assert report(runs(HARD, "a", scores)) == AgreementReport() == report(runs(FULL, "a", scores))
    mini = runs(HARD | {"tier": "mini"}, "a", scores)
    assert report(mini, runs(FULL, "a", scores)) == AgreementReport()
    elsewhere = report(runs(HARD, "a", scores), runs(FULL, "b", scores))
    assert elsewhere.agreements == () and elsewhere.lacking.endswith("no task has any.")


def test_results_of_different_draws_are_ranked_separately() -> None:
    scores = {"one": [0.1], "two": [0.5], "three": [0.9]}
    label = {"draw": "label", "draw_policy": "label", "data_hash": "ef" * 32}
    turned = dict(zip(scores, reversed(scores.values()), strict=True))
    found = report(
        runs(HARD, "a", scores), runs(HARD | label, "a", turned), runs(FULL, "a", scores)
    )
    assert sorted(one.tau or 0 for one in found.agreements) == pytest.approx([-1, 1])


def test_of_several_rows_of_an_agent_the_most_similar_counts() -> None:
    scores = {"one": [0.1], "two": [0.5], "three": [0.9]}
    found = report(
        runs(HARD, "a", scores),
        runs(HARD, "a", {"one": [1.0]}, limits={"steps": 9}),
        runs(FULL, "a", scores),
    )
    [agreement] = found.agreements
    assert agreement.tau == pytest.approx(1) and agreement.agents == 3
