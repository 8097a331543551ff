"""Scores against what was used: step functions of one run, and their mean over runs of a cell."""

import statistics
from collections.abc import Sequence
from typing import Literal

from mlagentbench.analysis.run_summary import RunSummary, ScorePoint
from mlagentbench.records import Record

Axis = Literal["steps", "seconds", "tokens", "dollars"]
"""`seconds` are of the run's own clock, which stands still while a provider makes us wait."""


class CurvePoint(Record):
    used: float
    normalised: float


class ScoreCurve(Record):
    """A step function: its value holds until the next point; before the first it is the floor's."""

    axis: Axis
    points: tuple[CurvePoint, ...]

    def at(self, used: float) -> float:
        """The normalised score when so much had been used."""
        reached = [point.normalised for point in self.points if point.used <= used]
        return reached[-1] if reached else 0.0


def run_curve(summary: RunSummary, axis: Axis) -> ScoreCurve | None:
    """The score of the workspace as it stood; None unless at least two of its steps were graded.

    Also None where it is unknown what was used, as dollars without prices. Without a valid
    submission a workspace stands at the floor, which is 0.
    """
    used = [_used(point, axis) for point in summary.points]
    if len(used) < 2 or None in used or all(point.success is None for point in summary.points):
        return None
    points = tuple(
        CurvePoint(used=amount, normalised=point.normalised or 0.0)
        for amount, point in zip(used, summary.points, strict=True)
        if amount is not None
    )
    return ScoreCurve(axis=axis, points=points)


def best_so_far(curve: ScoreCurve) -> ScoreCurve:
    """What the best workspace up to then was worth; never less than the floor."""
    best, points = 0.0, []
    for point in curve.points:
        best = max(best, point.normalised)
        points.append(CurvePoint(used=point.used, normalised=best))
    return ScoreCurve(axis=curve.axis, points=tuple(points))


def mean_curve(curves: Sequence[ScoreCurve]) -> ScoreCurve:
    """The mean over runs; a run that has ended stays where it ended."""
    places = sorted({point.used for curve in curves for point in curve.points})
    points = tuple(
        CurvePoint(used=used, normalised=statistics.fmean(curve.at(used) for curve in curves))
        for used in places
    )
    return ScoreCurve(axis=curves[0].axis, points=points)


def _used(point: ScorePoint, axis: Axis) -> float | None:
    match axis:
        case "steps":
            return float(point.step)
        case "seconds":
            return point.seconds
        case "tokens":
            return float(point.tokens)
        case "dollars":
            return point.cost
