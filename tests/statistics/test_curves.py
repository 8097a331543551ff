"""Scores against steps, time, tokens and money, of one run and as the mean over runs."""

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import graded, point, run

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.statistics.curves import (
    Axis,
    ScoreCurve,
    best_so_far,
    mean_curve,
    performance_profile,
    run_curve,
)

LOST = run(1, graded(0.2), points=(point(0, None), point(2, 0.8), point(4, None), point(6, 0.2)))
SHORT = run(2, graded(0.6), points=(point(0, -0.4), point(3, 0.6)))


def values(curve: ScoreCurve) -> list[tuple[float, float]]:
    return [(point.used, point.normalised) for point in curve.points]


def curve_of(summary: RunSummary, axis: Axis = "steps") -> ScoreCurve:
    curve = run_curve(summary, axis)
    assert curve is not None
    return curve


def test_a_workspace_without_a_valid_submission_stands_at_the_floor() -> None:
    assert values(curve_of(LOST)) == [(0, 0), (2, 0.8), (4, 0), (6, 0.2)]


@pytest.mark.parametrize(
    ("axis", "per_step"), [("seconds", 10), ("tokens", 100), ("dollars", 0.01)]
)
def test_what_was_used_can_be_time_tokens_or_money(axis: Axis, per_step: float) -> None:
    used = [used for used, _ in values(curve_of(LOST, axis))]
    assert used == pytest.approx([step * per_step for step in (0, 2, 4, 6)])


def test_best_so_far_never_falls() -> None:
    assert values(best_so_far(curve_of(LOST))) == [(0, 0), (2, 0.8), (4, 0.8), (6, 0.8)]
    assert values(best_so_far(curve_of(SHORT))) == [(0, 0), (3, 0.6)]


def test_the_mean_holds_every_runs_last_value() -> None:
    mean = mean_curve([curve_of(LOST), curve_of(SHORT)])
    assert [used for used, _ in values(mean)] == [0, 2, 3, 4, 6]
    heights = [height for _, height in values(mean)]
    assert heights == pytest.approx([-0.2, 0.2, 0.7, 0.3, 0.4])
    assert mean.at(100) == pytest.approx(0.4) and mean.at(2.5) == pytest.approx(0.2)


def test_without_graded_steps_or_prices_there_is_no_curve() -> None:
    assert run_curve(run(1, graded(0.2), points=(point(6, 0.2),)), "steps") is None
    free = tuple(one.model_copy(update={"cost": None}) for one in LOST.points)
    assert run_curve(LOST.model_copy(update={"points": free}), "dollars") is None


SCORES = st.floats(-1, 2) | st.sampled_from([0.0, 0.5, 0.51, 1.0])


@given(st.lists(st.lists(SCORES, min_size=1, max_size=6), min_size=1, max_size=4), SCORES)
def test_a_profile_is_exact_at_every_level(tasks: list[list[float]], level: float) -> None:
    true = fmean(sum(score >= level for score in task) / len(task) for task in tasks)
    profile = performance_profile(tasks)
    assert next((at.share for at in profile if at.at_least >= level), 0.0) == pytest.approx(true)
    assert [at.at_least for at in profile] == sorted({score for task in tasks for score in task})
