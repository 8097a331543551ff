"""Compare a score with floor, reference and bar: normalised score, success, the paper's rule."""

import math
import statistics
from collections.abc import Sequence

from mlagentbench.numeric.intervals import noise_factor
from mlagentbench.records import BarComparison
from mlagentbench.tasks.spec import Measured, Metric, PooledNoise, StarterMeasurements

SUCCESS_AT = 0.5
"""The least normalised score of a successful run."""

PAPER_MARGIN = 0.10
"""The paper's rule for success: better than the starter by more than this share."""

TOLERANCE = 1e-9
"""Scores that differ by at most this share are equal, as are improvements that differ by it: stored
measurements have ten significant digits."""

ROOM = 0.1
"""The normalised score by which a reference solution must exceed the bar."""


def floor_of(metric: Metric, measured: Measured) -> float:
    """The best of the starter, the trivial predictors and, in the hard tier, its panel."""
    return metric.best([measured.starter.mean, *measured.beaten.values()])


def on_scale(metric: Metric, score: float) -> float:
    """The score on the task's scale; higher is better."""
    value = math.log(score) if metric.scale == "log" else score
    return value if metric.better == "higher" else -value


def from_scale(metric: Metric, value: float) -> float:
    """The inverse of `on_scale`."""
    value = value if metric.better == "higher" else -value
    return math.exp(value) if metric.scale == "log" else value


def normalised(metric: Metric, score: float, floor: float, reference: float) -> float | None:
    """0 at the floor, 1 at the reference, on the task's scale; never clipped."""
    if metric.scale == "log" and score <= 0:
        return None
    bottom, top = on_scale(metric, floor), on_scale(metric, reference)
    return (on_scale(metric, score) - bottom) / (top - bottom)


def bar_of(
    metric: Metric,
    starter_scores: Sequence[float],
    others: Sequence[float],
    reference: float,
    pooled: PooledNoise | None = None,
) -> float:
    """The lowest score of a success: halfway to the reference, and above the starter's noise.

    The floor is the best of the starter and the `others`.
    """
    floor = metric.best([statistics.fmean(starter_scores), *others])
    bottom, top = on_scale(metric, floor), on_scale(metric, reference)
    spread = statistics.stdev(on_scale(metric, score) for score in starter_scores)
    noise = noise_of(len(starter_scores), spread, pooled)
    return from_scale(metric, bottom + max(SUCCESS_AT * (top - bottom), noise))


def noise_of(runs: int, spread: float, pooled: PooledNoise | None) -> float:
    """How far above the mean of its runs the starter gets by luck alone, on the metric's scale."""
    if pooled is None:
        return noise_factor(runs) * spread
    return noise_factor(runs, degrees=pooled.degrees) * pooled.std


def pooled_noise(metric: Metric, starter_scores: Sequence[float], public: Measured) -> PooledNoise:
    """The starter's noise on a draw, pooled with its noise on the public draw.

    The variances on the metric's scale are weighted by their degrees of freedom.
    """
    own, shipped = len(starter_scores) - 1, public.starter.runs - 1
    values = [on_scale(metric, score) for score in starter_scores]
    variance = statistics.variance(values) if own else 0.0
    spread = spread_on_scale(metric, public.starter)
    total = own * variance + shipped * spread**2
    return PooledNoise(
        std=math.sqrt(total / (own + shipped)), degrees=own + shipped, pooled_with=public.data
    )


def spread_on_scale(metric: Metric, starter: StarterMeasurements) -> float:
    """The starter's standard deviation on the task's scale (log: relative to its mean)."""
    return starter.std / starter.mean if metric.scale == "log" else starter.std


def compare_with_bar(
    metric: Metric, measured: Measured | None, score: float | None
) -> BarComparison:
    """Compare a score, or the lack of one, with the task's measurements."""
    if measured is None:
        return BarComparison(success_reason="floor and bar were not measured on this data")
    floor, bar, reference = floor_of(metric, measured), measured.bar, measured.reference.mean
    if score is None:
        return BarComparison(
            floor=floor,
            bar=bar,
            reference=reference,
            success=False,
            paper_success=False,
            success_reason="no valid submission",
        )
    reached = is_equal(score, bar) or metric.is_better(score, bar)
    improvement = paper_improvement(metric, measured.starter.mean, score)
    return BarComparison(
        floor=floor,
        bar=bar,
        reference=reference,
        normalised=normalised(metric, score, floor, reference),
        success=reached,
        success_reason="reaches the bar" if reached else "below the bar",
        paper_improvement=improvement,
        paper_success=None if improvement is None else exceeds_paper_margin(improvement),
        above_ceiling=exceeds_ceiling(metric, measured, score),
    )


def paper_improvement(metric: Metric, starter: float, score: float) -> float | None:
    """The relative improvement over the starter's mean, as the paper defines it."""
    if starter == 0:
        return None
    gain = score - starter if metric.better == "higher" else starter - score
    return gain / abs(starter)


def exceeds_paper_margin(improvement: float) -> bool:
    """Whether it is more than the paper's margin; exactly 10 % never is, whatever the rounding."""
    return improvement - PAPER_MARGIN > TOLERANCE


def beats_starter(improvement: float) -> bool:
    """Whether it is an improvement at all; the unchanged starter never is one."""
    return improvement > TOLERANCE


def exceeds_ceiling(metric: Metric, measured: Measured, score: float) -> bool:
    """Whether a score is better than the best possible one."""
    ceiling = measured.ceiling
    if ceiling is None or is_equal(score, ceiling):
        return False
    return metric.is_better(score, ceiling)


def is_equal(score: float, stored: float) -> bool:
    """Whether a score is a stored one, as far as its digits were stored."""
    return math.isclose(score, stored, rel_tol=TOLERANCE)
