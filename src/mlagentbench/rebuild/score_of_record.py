"""From the draws of a rebuilt submission to its score of record.

    mean     over the fresh draws, of the normalised scores; a draw without a score counts 0, or
             like the worst draw if that is less
    bar      the least mean of a success: 0.5, and above the starter's noise in such a mean
    success  the mean reaches the bar, and the given draw and most fresh ones have a score
    gap      the given draw's normalised score minus the mean
    rung     that of the mean, compared with means over the fresh draws (grading/rungs.py)

A mean of m runs of the starter, one a draw, lies above m floors by luck alone by at most

    t(1 - 1/300, df) * sqrt(sum of s^2 * (1 + 1/n)) / m

where s is the starter's standard deviation on a draw, in normalised scores, and n the runs that the
draw's floor was measured with. The deviations of all draws are pooled with that of the public draw,
so their degrees of freedom are not independent; df is the smallest of them.
"""

import math
import statistics
from collections.abc import Sequence

from mlagentbench.grading.rungs import rung_of_draws, share_of_draws
from mlagentbench.grading.success import SUCCESS_AT, TOLERANCE, exceeds_paper_margin
from mlagentbench.numeric.intervals import standard_error, t_quantile
from mlagentbench.numeric.number_format import counted, fixed
from mlagentbench.records import BarComparison, GradeRecord, Rebuilt, RebuiltDraw, SkippedDraw
from mlagentbench.runs.rebuilds import DrawLine

NOT_REPRODUCED = "not reproduced"
FALSE_ALARM = 1 / 300
"""The probability that the starter's luck alone reaches the bar."""


def rebuilt_of(
    given: DrawLine,
    fresh: Sequence[DrawLine],
    submitted: GradeRecord | None,
    *,
    proposed: bool = False,
    asked_for: bool = False,
    program_only: bool = False,
    skipped: Sequence[SkippedDraw] = (),
) -> Rebuilt:
    """The summary of all draws, at least one of them fresh.

    `program_only`: no file was submitted that could have a score of its own.
    """
    submitted = None if program_only else submitted
    draws = tuple(line.result for line in fresh)
    worth = counted_scores(given.result, draws)
    mean, bar = statistics.fmean(worth), mean_bar(draws)
    spread = statistics.stdev(worth) if len(worth) > 1 else None
    own = given.result.normalised
    success = mean >= bar - TOLERANCE and is_mostly_made(given.result, draws)
    rung, note = rung_of_draws(draws, mean, mean_noise(draws), success=success)
    valid = is_valid(given.result, draws)
    return Rebuilt(
        step=given.step,
        command=given.command,
        proposed=proposed,
        asked_for=asked_for,
        program_only=program_only,
        given=given.result,
        fresh=draws,
        skipped=tuple(skipped),
        mean=mean,
        standard_error=standard_error(worth),
        bar=bar,
        success=success,
        rung=rung if valid else "invalid",
        rung_note=note if valid else None,
        ceiling_share=share_of_draws(draws, worth) if valid else None,
        transfer_gap=None if own is None else own - mean,
        # the given draw is one more of the same kind, unless the submission was fitted to it
        gap_error=None if spread is None else spread * math.sqrt(1 + 1 / len(worth)),
        submitted_score=None if submitted is None else submitted.score,
        submitted_normalised=None if submitted is None else submitted.normalised,
        difference=given.difference,
        left_out=given.left_out,
        warnings=given.warnings,
        literals=given.literals,
    )


def counted_scores(given: RebuiltDraw, fresh: Sequence[RebuiltDraw]) -> list[float]:
    """The normalised scores of fresh draws as they enter the mean.

    A draw without a score counts like the floor, 0, or like the worst draw if that is less.
    """
    failed = _worth_of_failed(given, fresh)
    return [failed if one.normalised is None else one.normalised for one in fresh]


def _worth_of_failed(given: RebuiltDraw, fresh: Sequence[RebuiltDraw]) -> float:
    scored = [one.normalised for one in (given, *fresh) if one.normalised is not None]
    return min([0.0, *scored])


def is_valid(given: RebuiltDraw, fresh: Sequence[RebuiltDraw]) -> bool:
    """Whether the given draw and a fresh one have a score, and no draw breaks a rule."""
    made = given.score is not None and any(one.score is not None for one in fresh)
    return made and not any(one.broken_rule for one in (given, *fresh))


def is_mostly_made(given: RebuiltDraw, fresh: Sequence[RebuiltDraw]) -> bool:
    """Whether the given draw and more than half of the fresh ones have a score."""
    made = sum(one.score is not None for one in fresh)
    return given.score is not None and 2 * made > len(fresh)


def mean_bar(draws: Sequence[RebuiltDraw]) -> float:
    """The least mean over these draws of a success."""
    return max(SUCCESS_AT, mean_noise(draws))


def mean_noise(draws: Sequence[RebuiltDraw]) -> float:
    """How far above 0 the mean of the starter's runs gets by luck alone, one a draw."""
    degrees = min(one.noise_degrees for one in draws)
    if degrees < 1:
        return 0.0
    variance = sum(one.noise**2 * (1 + 1 / one.starter_runs) for one in draws)
    return t_quantile(degrees, 1 - FALSE_ALARM) * math.sqrt(variance) / len(draws)


def grade_of_record(
    submitted: GradeRecord, rebuilt: Rebuilt, given: BarComparison, seconds: float
) -> GradeRecord:
    """The grade of a run under --protocol rebuild.

    `given` compares what was made again on the given draw with that draw's bar. A submission that
    breaks a rule stays invalid, whatever its program makes.
    """
    if submitted.broken_rule:
        return submitted.model_copy(update={"rebuilt": rebuilt, "seconds": seconds})
    valid = is_valid(rebuilt.given, rebuilt.fresh)
    has_share = given.ceiling_share is not None
    improvement = _paper_improvement(rebuilt) if valid else None
    return submitted.model_copy(
        update={
            **given.model_dump(),
            "above_ceiling": rebuilt.above_ceiling,
            "valid": valid,
            "broken_rule": rebuilt.broken_rule,
            "score": rebuilt.given.score if valid else None,
            "reason": None if valid else _first_reason(rebuilt),
            "normalised": rebuilt.mean if valid else None,
            "success": valid and rebuilt.success,
            "success_reason": _success_reason(rebuilt) if valid else NOT_REPRODUCED,
            "rung": rebuilt.rung,
            "rung_note": rebuilt.rung_note,
            "ceiling_share": rebuilt.ceiling_share if has_share else None,
            "paper_improvement": improvement,
            "paper_success": improvement is not None and exceeds_paper_margin(improvement),
            "seconds": seconds,
            "rebuilt": rebuilt,
        }
    )


def _paper_improvement(rebuilt: Rebuilt) -> float | None:
    """The mean over the fresh draws; one without a score counts like one without a submission."""
    found = [one.paper_improvement for one in rebuilt.fresh if one.score is not None]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    failed = min([0.0, *known])
    return statistics.fmean([*known, *[failed] * len(rebuilt.failed)])


def _first_reason(rebuilt: Rebuilt) -> str:
    broken = [one for one in (rebuilt.given, *rebuilt.fresh) if one.broken_rule]
    if broken:
        return f"what is made again on draw {broken[0].draw} breaks a rule: {broken[0].reason}"
    if rebuilt.given.score is None:
        return _not_made("the given draw", rebuilt.given)
    failed = rebuilt.failed
    draws = "the fresh draw" if len(failed) == 1 else f"any of {len(failed)} fresh draws"
    return _not_made(draws, failed[0])


def _not_made(draws: str, one: RebuiltDraw) -> str:
    reason = (one.reason or "no score").removeprefix(f"{NOT_REPRODUCED}: ")
    return f"{NOT_REPRODUCED} on {draws}: {reason}"


def _success_reason(rebuilt: Rebuilt) -> str:
    reaches = rebuilt.mean >= rebuilt.bar - TOLERANCE
    text = (
        f"mean of {counted(len(rebuilt.fresh), 'fresh draw')} {fixed(rebuilt.mean, 2)} "
        f"{'reaches' if reaches else 'is below'} {fixed(rebuilt.bar, 2)}"
    )
    failed = rebuilt.failed
    if not failed:
        return text
    if reaches and not rebuilt.success:
        text += f", but {len(failed)} of {len(rebuilt.fresh)} have no score"
    worth = _worth_of_failed(rebuilt.given, rebuilt.fresh)
    lost = "; ".join(f"{one.draw} ({one.reason})" for one in failed)
    return f"{text}; counted as {fixed(worth, 2)}: {lost}"
