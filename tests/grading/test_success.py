"""What a score is worth: floor, bar, normalised score, success, and the paper's rule."""

import math
import statistics

import pytest

from mlagentbench.grading.success import (
    TOLERANCE,
    bar_of,
    beats_starter,
    compare_with_bar,
    floor_of,
    from_scale,
    normalised,
    on_scale,
    paper_improvement,
)
from mlagentbench.numeric.intervals import noise_factor
from mlagentbench.tasks.spec import Measured, Metric, ReferenceMeasurements, StarterMeasurements

ACCURACY = Metric(name="accuracy", better="higher")
ERROR = Metric(name="mean absolute error", better="lower")
RATIO = Metric(name="time", better="lower", scale="log")


def figures(
    starter: float, trivial: float, reference: float, bar: float, ceiling: float | None = None
) -> Measured:
    return Measured(
        data="-",
        trivial={"constant": trivial},
        starter=StarterMeasurements(mean=starter, std=0.01, runs=30),
        reference=ReferenceMeasurements(mean=reference, std=0.01, runs=8),
        bar=bar,
        ceiling=ceiling,
    )


@pytest.mark.parametrize(
    ("metric", "starter", "trivial", "floor"),
    [(ACCURACY, 0.5, 0.7, 0.7), (ACCURACY, 0.7, 0.5, 0.7), (ERROR, 50.0, 30.0, 30.0)],
)
def test_floor_is_the_best_without_effort(
    metric: Metric, starter: float, trivial: float, floor: float
) -> None:
    assert floor_of(metric, figures(starter, trivial, 0.9, 0.8)) == floor


@pytest.mark.parametrize("metric", [ACCURACY, ERROR, RATIO])
def test_scales_are_oriented_and_can_be_undone(metric: Metric) -> None:
    assert (on_scale(metric, 0.3) > on_scale(metric, 0.2)) == (metric.better == "higher")
    assert from_scale(metric, on_scale(metric, 0.3)) == pytest.approx(0.3)


def test_normalised_score_is_0_at_the_floor_and_1_at_the_reference() -> None:
    assert normalised(ACCURACY, 0.6, 0.5, 0.7) == pytest.approx(0.5)
    assert normalised(ERROR, 30.0, 30.0, 10.0) == 0.0
    assert normalised(ERROR, 10.0, 30.0, 10.0) == 1.0
    assert normalised(RATIO, 0.1, 1.0, 0.01) == pytest.approx(0.5)


def test_normalised_score_is_never_clipped() -> None:
    assert normalised(ERROR, 50.0, 30.0, 10.0) == pytest.approx(-1.0)
    assert normalised(ACCURACY, 0.9, 0.5, 0.7) == pytest.approx(2.0)


def test_a_ratio_that_cannot_be_has_no_normalised_score() -> None:
    assert normalised(RATIO, 0.0, 1.0, 0.1) is None


def test_bar_lies_half_way_when_the_starter_is_calm() -> None:
    assert bar_of(ACCURACY, [0.5] * 30, [0.6], 0.8) == pytest.approx(0.7)
    assert bar_of(ERROR, [50.0] * 30, [30.0], 10.0) == pytest.approx(20.0)
    assert bar_of(RATIO, [1.0] * 30, [], 0.01) == pytest.approx(0.1)


@pytest.mark.parametrize("metric", [ACCURACY, ERROR])
def test_bar_lies_above_the_noise_when_the_starter_is_not(metric: Metric) -> None:
    scores = [0.4, 0.6] * 15
    reference = 0.55 if metric.better == "higher" else 0.45
    gain = noise_factor(30) * statistics.stdev(scores)
    expected = 0.5 + gain if metric.better == "higher" else 0.5 - gain
    assert bar_of(metric, scores, [], reference) == pytest.approx(expected)


def test_noise_of_a_ratio_is_that_of_its_logarithm() -> None:
    scores = [0.5, 2.0] * 15
    spread = statistics.stdev(math.log(score) for score in scores)
    bar = bar_of(RATIO, scores, [], 1.2)
    assert bar == pytest.approx(1.25 * math.exp(-noise_factor(30) * spread))


def test_reaching_the_bar_is_a_success() -> None:
    measured = figures(0.5, 0.6, 0.8, bar=0.7)
    at_the_bar, below = (
        compare_with_bar(ACCURACY, measured, 0.7),
        compare_with_bar(ACCURACY, measured, 0.6999),
    )
    assert at_the_bar.success is True and at_the_bar.success_reason == "reaches the bar"
    assert below.success is False and below.success_reason == "below the bar"
    assert at_the_bar.normalised == pytest.approx(0.5)
    assert (at_the_bar.floor, at_the_bar.bar, at_the_bar.reference) == (0.6, 0.7, 0.8)


def test_lower_is_better_where_the_metric_says_so() -> None:
    measured = figures(50.0, 30.0, 10.0, bar=20.0)
    assert compare_with_bar(ERROR, measured, 19.0).success is True
    assert compare_with_bar(ERROR, measured, 21.0).success is False


def test_no_submission_is_no_success_and_has_no_normalised_score() -> None:
    comparison = compare_with_bar(ACCURACY, figures(0.5, 0.6, 0.8, bar=0.7), None)
    assert comparison.success is False and comparison.paper_success is False
    assert comparison.normalised is None and comparison.success_reason == "no valid submission"


def test_without_figures_nobody_knows() -> None:
    comparison = compare_with_bar(ACCURACY, None, 0.9)
    assert comparison.success is None and comparison.paper_success is None
    assert comparison.success_reason is not None and "not measured" in comparison.success_reason


def test_better_than_possible_is_flagged() -> None:
    measured = figures(0.5, 0.6, 0.8, bar=0.7, ceiling=0.95)
    assert compare_with_bar(ACCURACY, measured, 0.96).above_ceiling
    assert not compare_with_bar(ACCURACY, measured, 0.95).above_ceiling
    assert not compare_with_bar(ACCURACY, figures(0.5, 0.6, 0.8, bar=0.7), 1.0).above_ceiling


def test_the_papers_rule_asks_for_more_than_10_percent_over_the_starter() -> None:
    measured = figures(0.5, 0.6, 0.8, bar=0.7)
    assert compare_with_bar(ACCURACY, measured, 0.5625).paper_success is True
    assert compare_with_bar(ACCURACY, measured, 0.5).paper_success is False
    assert compare_with_bar(ACCURACY, measured, 0.55 - 1e-9).paper_success is False
    assert compare_with_bar(ERROR, figures(50.0, 30.0, 10.0, bar=20.0), 44.0).paper_success is True


@pytest.mark.parametrize(
    ("metric", "starter", "score"),
    [
        (ACCURACY, 1000.0, 1100.0),
        (ACCURACY, 0.5, 0.55),  # a gain of 0.10000000000000009 in floating point
        (ACCURACY, 0.7, 0.77),
        (ERROR, 50.0, 45.0),
        (ERROR, 0.3, 0.27),
        (ERROR, 7.7, 6.93),
    ],
)
def test_exactly_10_percent_is_not_more_than_10_percent(
    metric: Metric, starter: float, score: float
) -> None:
    measured = figures(starter, starter, 2 * starter, bar=1.5 * starter)
    assert compare_with_bar(metric, measured, score).paper_success is False
    little = 1e-6 * starter if metric.better == "higher" else -1e-6 * starter
    assert compare_with_bar(metric, measured, score + little).paper_success is True
    assert compare_with_bar(metric, measured, score - little).paper_success is False


def test_the_papers_improvement_is_a_share_of_the_starters_score() -> None:
    assert paper_improvement(ACCURACY, 0.5, 0.6) == pytest.approx(0.2)
    assert paper_improvement(ERROR, 50.0, 40.0) == pytest.approx(0.2)
    assert paper_improvement(ERROR, 50.0, 60.0) == pytest.approx(-0.2)
    assert paper_improvement(ACCURACY, 0.0, 0.6) is None


@pytest.mark.parametrize("score", [2 / 3, 1 / 3, 39721.71234567891, 1.0000000004, 0.1017123456789])
@pytest.mark.parametrize("metric", [ACCURACY, ERROR], ids=str)
def test_a_score_is_equal_to_itself_as_it_was_stored(score: float, metric: Metric) -> None:
    """Measurements are stored with ten digits, so a score differs from itself in the eleventh."""
    stored = float(f"{score:.10g}")
    improvement = paper_improvement(metric, stored, score)
    assert improvement is not None and abs(improvement) < TOLERANCE
    assert not beats_starter(improvement)
    reference = score * (2 if metric.better == "higher" else 0.5)
    measured = figures(stored, stored, reference, bar=stored, ceiling=stored)
    compared = compare_with_bar(metric, measured, score)
    assert compared.success and not compared.above_ceiling and not compared.paper_success
