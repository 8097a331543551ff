"""Agents in mini and in hard, side by side: over common tasks, without mixing the tiers."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from made_runs import graded, run

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.numeric.intervals import t_quantile
from mlagentbench.records import Outcome
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.leaderboard import leaderboards
from mlagentbench.statistics.tiers.mini_and_hard import (
    MiniAndHard,
    mini_and_hard,
    notes_of,
)
from mlagentbench.tasks.draws import draw_of

POLICY = "100..101"
MINI: dict[str, Any] = {"tier": "mini", "draw_policy": POLICY, "generator": "9e4e"}
HARD: dict[str, Any] = MINI | {"tier": "hard", "protocol": "rebuild", "rebuild_draws": 3}


def runs(
    tier: Mapping[str, Any], scores: Mapping[str, Sequence[float | None]], **facts: Any
) -> list[RunSummary]:
    """Runs on tasks, the first on draw 100, the second on 101, the third on 100 again.

    The ceiling is twice as far from the floor as the reference; task c has none.
    """
    found = []
    for task, values in scores.items():
        for epoch, score in enumerate(values, start=1):
            draw = draw_of(POLICY, epoch)
            ceiling: dict[str, Any] = (
                {} if task == "c" else {"ceiling": -6.0, "ceiling_share": (score or 0) / 2}
            )
            known = {"task": task, "draw": draw, "data_hash": f"{tier['tier']} {draw}"}
            found.append(run(epoch, graded(score, **ceiling), **{**tier, **known, **facts}))
    return found


def compared(*summaries: Sequence[RunSummary]) -> tuple[MiniAndHard, ...]:
    return mini_and_hard(leaderboards(cell_statistics([one for some in summaries for one in some])))


def test_the_numbers_of_both_tiers_are_those_of_a_calculation_by_hand() -> None:
    [found] = compared(
        # each draw counts once: (0.8 + 0.6) / 2 = 0.7 on draw 100, 0.9 on draw 101
        runs(MINI, {"a": [0.8, 0.9, 0.6], "b": [0.4, 0.6], "c": [1.0, 1.0], "mini only": [1.0]}),
        runs(HARD, {"a": [0.3, 0.1], "b": [None, 0.6], "c": [0.2, 0.4], "hard only": [1.0]}),
    )
    assert (found.name, found.tasks) == ("react with openai/small", ("a", "b", "c"))
    mini, hard = found.tiers
    assert (mini.tier, hard.tier) == ("mini", "hard")
    assert (mini.data, hard.data) == ("draws 100..101", "draws 100..101")
    assert (mini.runs, hard.runs, mini.counted, hard.counted) == (7, 6, 7, 6)
    assert mini.success.mean == pytest.approx((1.0 + 0.5 + 1.0) / 3)
    assert hard.success.mean == pytest.approx((0.0 + 0.5 + 0.0) / 3)
    assert mini.normalised.mean == pytest.approx((0.8 + 0.5 + 1.0) / 3)
    assert hard.normalised.mean == pytest.approx((0.2 + 0.3 + 0.3) / 3)
    # task c has no ceiling
    assert mini.ceiling_share.tasks == hard.ceiling_share.tasks == 2
    assert mini.ceiling_share.mean == pytest.approx((0.4 + 0.25) / 2)
    assert hard.ceiling_share.mean == pytest.approx((0.1 + 0.15) / 2)
    assert sum(mini.rungs.values()) == pytest.approx(1) == sum(hard.rungs.values())
    assert mini.rungs["success"] == pytest.approx((1.0 + 0.5 + 1.0) / 3)
    assert hard.rungs["invalid"] == pytest.approx(0.5 / 3)
    # variances of the means of a, b, c in hard: 0.02 / 2, 0.18 / 2, 0.02 / 2
    parts = [0.01 / 9, 0.09 / 9, 0.01 / 9]
    degrees = sum(parts) ** 2 / sum(part**2 for part in parts)
    assert hard.normalised.on_these_tasks is not None and hard.normalised.mean is not None
    half = hard.normalised.on_these_tasks.high - hard.normalised.mean
    assert half == pytest.approx(t_quantile(degrees) * sum(parts) ** 0.5)
    assert found.notes == (
        "protocol: mini standard; hard rebuild",
        "fresh draws: mini none; hard 3",
        "ceiling known in both tiers: a, b",
    )


def test_nothing_is_said_without_an_agent_in_both_tiers() -> None:
    scores = {"a": [0.8, 0.9]}
    assert compared() == ()
    assert compared(runs(MINI, scores)) == () == compared(runs(HARD, scores))
    assert compared(runs(MINI, scores), runs(HARD, {"b": [0.8]})) == ()
    for other in (
        {"agent": "tree"},
        {"model": "openai/large"},
        {"agent_settings": {"context_tokens": 9}},
        {"roles": {"edit": "openai/large"}},
        {"execution": False},
    ):
        assert compared(runs(MINI, scores), runs(HARD, scores, **other)) == ()


def test_a_task_whose_runs_are_missing_in_one_tier_is_not_common() -> None:
    failed = Outcome(kind="failed", cause="model", detail="503")
    lost = run(1, None, outcome=failed, **HARD, task="b", draw="100", data_hash="hard 100")
    [found] = compared(
        runs(MINI, {"a": [0.8, 0.9], "b": [0.4, 0.6]}), runs(HARD, {"a": [0.3, 0.1]}), [lost]
    )
    assert found.tasks == ("a",) and found.mini.runs == found.hard.runs == 2
    assert found.mini.normalised.mean == pytest.approx(0.85)


def test_a_row_is_beside_the_most_similar_one_in_mini() -> None:
    same = runs(MINI, {"a": [0.8, 0.9]})
    public = {"draw_policy": "public", "draw": "public", "data_hash": "ab"}
    other_data = runs(MINI, {"a": [0.1], "b": [0.1]}, **public)
    other_limits = runs(MINI, {"a": [0.2]}, limits={"steps": 9})
    hard = runs(HARD, {"a": [0.3, 0.1], "b": [0.5, 0.1]})
    [found] = compared(other_data, other_limits, same, hard)
    assert found.mini.normalised.mean == pytest.approx(0.85) and found.tasks == ("a",)
    [found] = compared(other_data, other_limits, hard)
    assert found.mini.normalised.mean == pytest.approx(0.2), "the same draws come first"
    assert found.notes[0] == "limits: mini 9 steps; hard 50 steps, 5 h"
    [found] = compared(other_data, hard)
    assert found.mini.data == "public draw: for development" and len(found.tasks) == 2


def test_reference_agents_that_ran_in_both_tiers_come_last() -> None:
    found = compared(
        *(runs(MINI, {"a": [0.9, 0.9]}, agent=agent) for agent in ("oracle", "react", "tree")),
        *(
            runs(HARD, {"a": [score, score]}, agent=agent)
            for agent, score in (("oracle", 1.0), ("react", 0.1), ("tree", 0.6))
        ),
    )
    assert [one.agent for one in found] == ["tree", "react", "oracle"]
    assert [one.is_reference_agent for one in found] == [False, False, True]


def test_a_note_that_all_agents_share_is_said_once() -> None:
    found = compared(
        runs(MINI, {"a": [0.9], "b": [0.9]}),
        runs(MINI, {"a": [0.9]}, agent="tree"),
        runs(HARD, {"a": [0.9], "b": [0.9]}),
        runs(HARD, {"a": [0.8]}, agent="tree"),
    )
    assert notes_of(found) == (
        "react with openai/small: common tasks: a, b",
        "data: mini, draws 100..101; hard, draws 100..101",
        "protocol: mini standard; hard rebuild",
        "fresh draws: mini none; hard 3",
        "tree with openai/small: common tasks: a",
    )
    assert notes_of(()) == ()
