"""From the draws of a rebuilt submission to its score of record.

    mean     over the fresh draws, of the normalised scores; a draw without a score counts 0
    bar      the least mean of a success: 0.5, and above the starter's noise in such a mean
    gap      the given draw's normalised score minus the mean

A mean of m runs of the starter, one a draw, lies above m floors by luck alone by at most

    t(1 - 1/300, df) * sqrt(sum of s^2 * (1 + 1/n)) / m

where s is the starter's standard deviation on a draw, in normalised scores, and n the runs that the
draw's floor was measured with. The deviations of all draws are pooled with that of the public draw,
so their degrees of freedom are not independent; df is the smallest of them.
"""

import math
import statistics
from collections.abc import Sequence

from mlagentbench.grading.success import SUCCESS_AT, TOLERANCE
from mlagentbench.numeric.intervals import standard_error, t_quantile
from mlagentbench.numeric.number_format import fixed
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
    proposed: bool,
    skipped: Sequence[SkippedDraw] = (),
) -> Rebuilt:
    """The summary of all draws, at least one of them fresh."""
    draws = tuple(line.result for line in fresh)
    worth = [one.counted for one in draws]
    mean, bar = statistics.fmean(worth), mean_bar(draws)
    spread = statistics.stdev(worth) if len(worth) > 1 else None
    return Rebuilt(
        step=given.step,
        command=given.command,
        proposed=proposed,
        given=given.result,
        fresh=draws,
        skipped=tuple(skipped),
        mean=mean,
        standard_error=standard_error(worth),
        bar=bar,
        success=mean >= bar - TOLERANCE,
        transfer_gap=given.result.counted - mean,
        # the given draw is one more of the same kind, unless the submission was fitted to it
        gap_error=None if spread is None else spread * math.sqrt(1 + 1 / len(worth)),
        submitted_score=None if submitted is None else submitted.score,
        submitted_normalised=None if submitted is None else submitted.normalised,
        difference=given.difference,
        left_out=given.left_out,
        warnings=given.warnings,
    )


def mean_bar(draws: Sequence[RebuiltDraw]) -> float:
    """The least mean over these draws of a success."""
    degrees = min(one.noise_degrees for one in draws)
    if degrees < 1:
        return SUCCESS_AT
    variance = sum(one.noise**2 * (1 + 1 / one.starter_runs) for one in draws)
    noise = t_quantile(degrees, 1 - FALSE_ALARM) * math.sqrt(variance) / len(draws)
    return max(SUCCESS_AT, noise)


def grade_of_record(
    submitted: GradeRecord, rebuilt: Rebuilt, given: BarComparison, seconds: float
) -> GradeRecord:
    """The grade of a run under --protocol rebuild.

    `given` compares what was made again on the given draw with that draw's bar. A submission that
    breaks a rule stays invalid, whatever its program makes.
    """
    if submitted.broken_rule:
        return submitted.model_copy(update={"rebuilt": rebuilt, "seconds": seconds})
    failed = rebuilt.failed
    valid = len(failed) < len(rebuilt.fresh) and not rebuilt.broken_rule
    return submitted.model_copy(
        update={
            **given.model_dump(),
            "valid": valid,
            "broken_rule": rebuilt.broken_rule,
            "score": rebuilt.given.score if valid else None,
            "reason": None if valid else _first_reason(rebuilt),
            "normalised": rebuilt.mean if valid else None,
            "success": valid and rebuilt.success,
            "success_reason": _success_reason(rebuilt) if valid else NOT_REPRODUCED,
            "seconds": seconds,
            "rebuilt": rebuilt,
        }
    )


def _first_reason(rebuilt: Rebuilt) -> str:
    broken = [one for one in (rebuilt.given, *rebuilt.fresh) if one.broken_rule]
    if broken:
        return f"what is made again on draw {broken[0].draw} breaks a rule: {broken[0].reason}"
    failed = rebuilt.failed
    draws = "the fresh draw" if len(failed) == 1 else f"any of {len(failed)} fresh draws"
    reason = (failed[0].reason or "").removeprefix(f"{NOT_REPRODUCED}: ")
    return f"{NOT_REPRODUCED} on {draws}: {reason}"


def _success_reason(rebuilt: Rebuilt) -> str:
    compared = "reaches" if rebuilt.success else "is below"
    text = (
        f"mean of {len(rebuilt.fresh)} fresh draws {fixed(rebuilt.mean, 2)} {compared} "
        f"{fixed(rebuilt.bar, 2)}"
    )
    lost = [f"{one.draw} ({one.reason})" for one in rebuilt.failed]
    return f"{text}; counted as 0: {'; '.join(lost)}" if lost else text
