"""Step functions of scores: over the resources that runs use, and performance profiles.

All are exact: they have a point wherever their value changes.
"""

import statistics
from collections.abc import Sequence
from typing import Literal

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.records import Record

Axis = Literal["steps", "seconds", "tokens", "dollars"]
"""`seconds` are of the run's own clock, which stops while a provider makes us wait."""
AXIS_FIELDS = {"steps": "step", "seconds": "seconds", "tokens": "tokens", "dollars": "cost"}


class CurvePoint(Record):
    used: float
    normalised: float


class ScoreCurve(Record):
    """A step function: its value holds until the next point; before the first it is 0."""

    axis: Axis
    points: tuple[CurvePoint, ...]

    def at(self, used: float) -> float:
        """The normalised score after using this much."""
        reached = [point.normalised for point in self.points if point.used <= used]
        return reached[-1] if reached else 0.0


def run_curve(summary: RunSummary, axis: Axis) -> ScoreCurve | None:
    """The score of the workspace over time; None unless at least two steps were graded.

    Also None if the usage is unknown, as dollars without prices. Without a valid submission the
    score is that of the floor, 0.
    """
    used = [getattr(point, AXIS_FIELDS[axis]) for point in summary.points]
    if len(used) < 2 or None in used or all(point.success is None for point in summary.points):
        return None
    points = tuple(
        CurvePoint(used=amount, normalised=point.normalised or 0.0)
        for amount, point in zip(used, summary.points, strict=True)
    )
    return ScoreCurve(axis=axis, points=points)


def best_so_far(curve: ScoreCurve) -> ScoreCurve:
    """The score of the best workspace so far; never below the floor."""
    best, points = 0.0, []
    for point in curve.points:
        best = max(best, point.normalised)
        points.append(CurvePoint(used=point.used, normalised=best))
    return ScoreCurve(axis=curve.axis, points=tuple(points))


def mean_curve(curves: Sequence[ScoreCurve]) -> ScoreCurve:
    """The mean over runs; after its end a run keeps its last score."""
    positions = sorted({point.used for curve in curves for point in curve.points})
    points = tuple(
        CurvePoint(used=used, normalised=statistics.fmean(curve.at(used) for curve in curves))
        for used in positions
    )
    return ScoreCurve(axis=curves[0].axis, points=points)


class ProfilePoint(Record):
    """The share of runs with a normalised score of at least `at_least`.

    It holds down to the next lower point; below the lowest the share is 1.
    """

    at_least: float
    share: float


def performance_profile(tasks: Sequence[Sequence[float]]) -> tuple[ProfilePoint, ...]:
    """A point for every score that a run has; the share is the mean over the tasks."""
    return tuple(
        ProfilePoint(
            at_least=level,
            share=statistics.fmean(
                sum(score >= level for score in scores) / len(scores) for scores in tasks
            ),
        )
        for level in sorted({score for scores in tasks for score in scores})
    )
