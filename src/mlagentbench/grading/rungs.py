"""How far up a run got: six rungs, each of which implies those below it.

| rung                  | what it takes                                                            |
|-----------------------|--------------------------------------------------------------------------|
| invalid               | no valid submission                                                      |
| valid                 | a valid submission                                                       |
| above the floor       | better than the floor by more than the starter's luck                    |
| success               | reaches the bar                                                          |
| matches the reference | a success, not worse than the reference by more than the solution's luck |
| near the ceiling      | a success, at least two thirds of the way from the reference to the      |
|                       | ceiling, where the test set can tell the two apart                       |

The solution's luck is a one-sided 95 % tolerance: t(0.95, n - 1) * s * sqrt(1 + 1/m), where s is
its standard deviation over n runs on the public draw, and m its runs on the draw at hand. All
distances are on the metric's scale. Without measurements, only the first two rungs are known.
"""

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import get_args

from mlagentbench.grading.measurements import noise_above_floor
from mlagentbench.grading.success import (
    TOLERANCE,
    compare_with_bar,
    floor_of,
    from_scale,
    is_equal,
    normalised,
    on_scale,
)
from mlagentbench.numeric.intervals import t_quantile
from mlagentbench.numeric.number_format import number_text
from mlagentbench.records import BarComparison, GradeRecord, Json, RebuiltDraw, Record, Rung, Tier
from mlagentbench.tasks.spec import Measured, Metric

RUNGS: tuple[Rung, ...] = get_args(Rung)
"""From the lowest to the highest."""
TOLERATED = 0.95
"""The share of the solution's repeated runs that match the reference, at least."""
NEAR = 2 / 3
"""The share of the way from the reference to the ceiling that is near the ceiling."""
CLEAR_ERRORS = 3
"""The ceiling must be so many standard errors of the test set above the reference."""
STANDARD_ERROR = "standard_error"
"""The key under which graders report the standard error of a score."""
ONE_RUN = "the solution's standard deviation is unknown: it has no two runs on the public draw"
NO_ERROR = "the grader reports no standard error"


class ReferenceSpread(Record):
    """The solution's standard deviation on the metric's scale, and its degrees of freedom."""

    std: float
    degrees: int


def reference_spread(
    metric: Metric, measured: Measured, public: Measured | None
) -> ReferenceSpread | None:
    """How much runs of the solution vary, by the measurements of the public draw.

    `public` are those in task.toml. Where there are none, and on the public draw itself, the
    measurements at hand count. None without two runs.
    """
    here = public is None or public.data == measured.data
    for one in (measured, public) if here else (public,):
        if one is not None and one.reference.runs > 1:
            found = one.reference
            std = found.std / abs(found.mean) if metric.scale == "log" else found.std
            return ReferenceSpread(std=std, degrees=found.runs - 1)
    return None


def tolerance_of(spread: ReferenceSpread, variance_factors: Sequence[float]) -> float:
    """How far below the references the mean of repeated runs gets by luck, one a draw.

    Each factor is what the spread's variance is multiplied by on a draw: 1 + 1/m for a reference
    that is the mean of m runs.
    """
    error = spread.std * math.sqrt(sum(variance_factors)) / len(variance_factors)
    return t_quantile(spread.degrees, TOLERATED) * error if error else 0.0


def reported_error(extra: Mapping[str, Json]) -> float | None:
    """The standard error that a grader reported beside the score."""
    found = extra.get(STANDARD_ERROR)
    return float(found) if isinstance(found, int | float) else None


def compare_with_rungs(
    metric: Metric,
    measured: Measured | None,
    score: float | None,
    *,
    public: Measured | None,
    score_error: float | None,
    tier: Tier,
) -> BarComparison:
    """Compare a score with the bar, and say how far up it got."""
    compared = compare_with_bar(metric, measured, score)
    if measured is None:
        return compared.model_copy(update={"rung": "invalid" if score is None else "valid"})
    spread = reference_spread(metric, measured, public)
    tolerance = None
    if spread is not None:
        tolerance = tolerance_of(spread, [1 + 1 / measured.reference.runs])
    known = {"ceiling": measured.ceiling, "reference_tolerance": tolerance}
    if score is None:
        return compared.model_copy(update={**known, "rung": "invalid"})
    notes = []
    if tolerance is None:
        notes.append(_not_awarded("matches the reference", ONE_RUN))
    unclear = _unclear_ceiling(metric, measured, score, score_error)
    if unclear is not None:
        notes.append(_not_awarded("near the ceiling", unclear))
    above = [_is_above_floor(metric, measured, score), bool(compared.success)]
    above.append(_matches(metric, measured, score, tolerance))
    above.append(unclear is None and _is_near(metric, measured, score))
    share = None if tier == "full" else ceiling_share(metric, measured, score)
    return compared.model_copy(
        update={
            **known,
            "rung": _highest(*above),
            "rung_note": "; ".join(notes) or None,
            "ceiling_share": share,
        }
    )


def _not_awarded(rung: Rung, reason: str) -> str:
    return f"{rung} is not awarded: {reason}"


def _highest(above_floor: bool, success: bool, matches: bool, near: bool) -> Rung:
    """The highest rung of a valid submission; the last two need a success."""
    if not success:
        return "above the floor" if above_floor else "valid"
    return "near the ceiling" if near else "matches the reference" if matches else "success"


def _has_place(metric: Metric, *scores: float) -> bool:
    return metric.scale != "log" or min(scores) > 0


def _reaches(metric: Metric, score: float, at: float) -> bool:
    return is_equal(score, at) or metric.is_better(score, at)


def _is_above_floor(metric: Metric, measured: Measured, score: float) -> bool:
    floor = on_scale(metric, floor_of(metric, measured))
    luck = from_scale(metric, floor + noise_above_floor(metric, measured))
    return metric.is_better(score, luck) and not is_equal(score, luck)


def _matches(metric: Metric, measured: Measured, score: float, tolerance: float | None) -> bool:
    if tolerance is None:
        return False
    reference = on_scale(metric, measured.reference.mean)
    return _reaches(metric, score, from_scale(metric, reference - tolerance))


def _is_near(metric: Metric, measured: Measured, score: float) -> bool:
    if measured.ceiling is None:
        return False
    reference, ceiling = (
        on_scale(metric, one) for one in (measured.reference.mean, measured.ceiling)
    )
    return _reaches(metric, score, from_scale(metric, reference + NEAR * (ceiling - reference)))


def _unclear_ceiling(
    metric: Metric, measured: Measured, score: float, score_error: float | None
) -> str | None:
    """Why the test set cannot tell ceiling and reference apart; None if it can, or has no ceiling.

    On a log scale, the standard error is relative to the score.
    """
    ceiling = measured.ceiling
    if ceiling is None or not _has_place(metric, ceiling, score):
        return None if ceiling is None else "ceiling or score has no place on the task's scale"
    if score_error is None:
        return NO_ERROR
    room = on_scale(metric, ceiling) - on_scale(metric, measured.reference.mean)
    error = score_error / abs(score) if metric.scale == "log" else score_error
    return _unclear(room, error)


def _unclear(room: float, error: float) -> str | None:
    if room > CLEAR_ERRORS * error:
        return None
    return (
        f"the ceiling is {number_text(room)} above the reference, at most {CLEAR_ERRORS} standard "
        f"errors of the test set ({number_text(error)})"
    )


def ceiling_share(metric: Metric, measured: Measured, score: float) -> float | None:
    """The share of the way from the floor to the ceiling; None without a ceiling."""
    ceiling, floor = measured.ceiling, floor_of(metric, measured)
    if ceiling is None or not _has_place(metric, ceiling) or is_equal(floor, ceiling):
        return None
    return normalised(metric, score, floor, ceiling)


def with_scale(
    metric: Metric, one: RebuiltDraw, measured: Measured, public: Measured | None
) -> RebuiltDraw:
    """A draw with what its rung depends on, in normalised scores."""
    floor, reference = floor_of(metric, measured), measured.reference.mean
    distance = on_scale(metric, reference) - on_scale(metric, floor)
    spread, ceiling = reference_spread(metric, measured, public), measured.ceiling
    has_ceiling = ceiling is not None and _has_place(metric, ceiling)
    return one.model_copy(
        update={
            "normalised_ceiling": normalised(metric, ceiling, floor, reference)
            if ceiling is not None and has_ceiling
            else None,
            "reference_noise": None if spread is None else spread.std / distance,
            "reference_degrees": 0 if spread is None else spread.degrees,
            "reference_runs": measured.reference.runs,
        }
    )


def rung_of_draws(
    draws: Sequence[RebuiltDraw], mean: float, noise: float, *, success: bool
) -> tuple[Rung, str | None]:
    """The rung of a submission on fresh draws together, and which rungs cannot be awarded.

    `mean` is that of the normalised scores, `noise` what the mean of the starter's runs gets by
    luck. The reference is 1 on every draw.
    """
    notes = []
    tolerance, ceiling = mean_tolerance(draws), _mean_ceiling(draws)
    if tolerance is None:
        notes.append(_not_awarded("matches the reference", ONE_RUN))
    unclear = None if ceiling is None else _unclear_mean(draws, ceiling)
    if unclear is not None:
        notes.append(_not_awarded("near the ceiling", unclear))
    near = ceiling is not None and unclear is None and mean >= 1 + NEAR * (ceiling - 1) - TOLERANCE
    matches = tolerance is not None and mean >= 1 - tolerance - TOLERANCE
    return _highest(mean > noise + TOLERANCE, success, matches, near), "; ".join(notes) or None


def mean_tolerance(draws: Sequence[RebuiltDraw]) -> float | None:
    """How far below 1 the mean of the solution's runs gets by luck, one a draw.

    All draws have their spread from the public draw, so its degrees of freedom are not added up.
    """
    known = [one for one in draws if one.reference_noise is not None]
    if len(known) < len(draws):
        return None
    degrees = min(one.reference_degrees for one in draws)
    factors = [(one.reference_noise or 0.0) ** 2 * (1 + 1 / one.reference_runs) for one in draws]
    return tolerance_of(ReferenceSpread(std=1.0, degrees=degrees), factors)


def _mean_ceiling(draws: Sequence[RebuiltDraw]) -> float | None:
    known = [one.normalised_ceiling for one in draws if one.normalised_ceiling is not None]
    return statistics.fmean(known) if len(known) == len(draws) else None


def _unclear_mean(draws: Sequence[RebuiltDraw], ceiling: float) -> str | None:
    """Like `_unclear_ceiling`, for a mean over draws; those without a score have no error."""
    errors = [one.standard_error for one in draws if one.score is not None]
    known = [one for one in errors if one is not None]
    if not known or len(known) < len(errors):
        return NO_ERROR
    error = math.sqrt(statistics.fmean(one**2 for one in known) / len(draws))
    return _unclear(ceiling - 1, error)


def share_of_draws(draws: Sequence[RebuiltDraw], worth: Sequence[float]) -> float | None:
    """The mean share of the way to the ceiling; `worth` are the normalised scores that count."""
    known = [one.normalised_ceiling for one in draws if one.normalised_ceiling]
    if len(known) < len(draws):
        return None
    return statistics.fmean(own / top for own, top in zip(worth, known, strict=True))


def rung_of(grade: GradeRecord) -> Rung:
    """The rung of a grade; of an older one, what is known of it."""
    if not grade.valid:
        return "invalid"
    return grade.rung or ("success" if grade.success else "valid")


def rung_shares(clusters: Iterable[Iterable[Rung]]) -> dict[Rung, float]:
    """The share of runs on each rung, which add up to 1; empty without runs.

    Runs of one cluster count once, together.
    """
    shares = [list(runs) for runs in clusters]
    if not shares:
        return {}
    return {
        rung: statistics.fmean(runs.count(rung) / len(runs) for runs in shares) for rung in RUNGS
    }


def mean_shares(shares: Sequence[Mapping[Rung, float]]) -> dict[Rung, float]:
    """The mean over tasks, each with the same weight; tasks without shares are left out."""
    known = [one for one in shares if one]
    if not known:
        return {}
    return {rung: statistics.fmean(one[rung] for one in known) for rung in RUNGS}


def shown_shares(shares: Mapping[Rung, float]) -> Iterator[tuple[Rung, float]]:
    """The rungs that some runs are on, the highest first."""
    yield from ((rung, shares[rung]) for rung in reversed(RUNGS) if shares.get(rung))
