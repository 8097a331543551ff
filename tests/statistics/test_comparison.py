"""Comparisons of agents on a leaderboard: who is compared with whom, by what, how sure it is."""

import numpy as np
import pytest
from made_runs import graded, on_measured_data, row, run, runs_of

from mlagentbench.errors import UsageError
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.comparison import all_comparisons, compare, named_pairs
from mlagentbench.statistics.leaderboard import leaderboards
from mlagentbench.statistics.permutation import holm
from mlagentbench.statistics.primary_pair import find_pair

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
    facts = on_measured_data("cifar10")
    [leaderboard] = leaderboards(
        cell_statistics([run(n, graded(0.9), **facts) for n in range(1, 4)])
    )
    [found] = all_comparisons(leaderboard)  # by success: single scores of these runs are not known
    assert found.measure == "success" and found.difference == 1.0
    assert found.tasks[0].runs == (3, 30) and found.p < 0.001
    assert "measured beforehand (cifar10)" in found.note


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


LLAMA = "ollama/llama:8b"
REACT, RESEARCH = "react with openai/small", "research with openai/small"


@pytest.mark.slow
def test_five_equal_agents_rarely_differ_after_holms_correction() -> None:
    """Of studies with five equal agents, far more than 5 % have a pair with a plain p of 0.05."""
    rng = np.random.default_rng(7)
    studies, plain, corrected = 60, 0, 0
    for _ in range(studies):
        scores = {
            f"agent{n}": {task: rng.normal(0.5, 0.2, 8).tolist() for task in "abc"}
            for n in range(5)
        }
        runs = [one for agent, own in scores.items() for one in runs_of(agent, own)]
        [leaderboard] = leaderboards(cell_statistics(runs))
        found = [one for one in all_comparisons(leaderboard) if one.measure == "normalised"]
        pairs = [one for one in found if one.p_holm is not None]
        assert len(pairs) == 10
        plain += any(one.p <= 0.05 for one in pairs)
        corrected += any(one.p_holm <= 0.05 for one in pairs if one.p_holm is not None)
    assert plain / studies > 0.15
    assert corrected / studies <= 0.1


def test_comparisons_with_the_baseline_are_no_part_of_the_correction() -> None:
    runs = [*runs_of("react", GOOD), *runs_of("research", BAD), *runs_of("baseline", BAD)]
    [leaderboard] = leaderboards(cell_statistics(runs))
    found = {(one.measure, one.second): one for one in all_comparisons(leaderboard)}
    assert found["success", RESEARCH].p_holm == found["success", RESEARCH].p  # one pair only
    assert found["success", "baseline with openai/small"].p_holm is None


@pytest.mark.parametrize(
    ("named_by", "when"),
    [
        ({"react": (REACT, RESEARCH), "research": (RESEARCH, REACT)}, "named before the runs"),
        ({"react": (REACT, RESEARCH)}, "named after some of the runs"),
        ({"react": (REACT, "tree"), "research": (REACT, "tree")}, "named after the runs"),
        ({}, "named after the runs"),
    ],
)
def test_a_pair_says_when_it_was_named(named_by: dict, when: str) -> None:
    runs = [
        one
        for agent, scores in (("react", GOOD), ("research", BAD), ("tree", BAD))
        for one in runs_of(agent, scores, primary=named_by.get(agent))
    ]
    [leaderboard] = leaderboards(cell_statistics(runs))
    [pair] = named_pairs("react:research", [leaderboard])
    found = all_comparisons(leaderboard, pair)
    named = [one for one in found if one.primary]
    assert [(one.first, one.second, one.primary) for one in named] == [(REACT, RESEARCH, when)] * 2
    assert found[0] == named[0], "it comes first"
    silent = [one for one in all_comparisons(leaderboard) if one.primary]
    assert bool(silent) == (when != "named after the runs")


def test_a_pair_that_nobody_ran_is_refused() -> None:
    [leaderboard] = leaderboards(cell_statistics(runs_of("react", GOOD)))
    with pytest.raises(UsageError, match=r"--primary react:tree: .* of: react with openai/small"):
        named_pairs("react:tree", [leaderboard])


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("react:tree", (f"react with {LLAMA}", f"tree with {LLAMA}")),
        (f"react with {LLAMA}:tree", (f"react with {LLAMA}", f"tree with {LLAMA}")),
        ("tree(drafts=3):react", None),
        ("react:react", None),
        ("react", None),
    ],
)  # fmt: skip
def test_names_in_a_pair_may_contain_colons(text: str, pair: tuple | None) -> None:
    assert find_pair(text, [("react", LLAMA), ("tree", LLAMA)]) == pair


def test_a_pair_may_name_two_models_of_one_agent_or_settings() -> None:
    models = [("react", "lab/large:1"), ("react", "lab/small")]
    assert find_pair("lab/large:1:lab/small", models) == tuple(
        f"react with {model}" for _, model in models
    )
    settings = [("tree(drafts=3, top=1)", "m"), ("tree", "m")]
    assert find_pair("tree(drafts=3,top=1):tree", settings) == (
        "tree(drafts=3, top=1) with m", "tree with m",
    )  # fmt: skip
