"""Checks that compare fresh scores with a task's recorded measurements."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlagentbench.grading.grade import Scored
from mlagentbench.grading.measurements import TimedScore, noise_above_floor
from mlagentbench.grading.success import (
    ROOM,
    SUCCESS_AT,
    TOLERANCE,
    compare_with_bar,
    exceeds_ceiling,
    floor_of,
    normalised,
    on_scale,
)
from mlagentbench.guest.mlagentbench_task import CONTROL_TOLERANCE
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Record, Tier
from mlagentbench.tasks.spec import Measured, Metric
from mlagentbench.tasks.task import Task

SIGMAS = 3.0
"""This many standard deviations are more than chance."""
TRIVIAL_SHARE = 0.7
"""A program without a model must score below this share of the solution's score."""
MODEL_SHARE = 0.1
"""The solution must lose at least this share of its score without its model."""


class CheckResult(Record):
    """The result of one check; `ok` is None if it is not applicable."""

    name: str
    ok: bool | None
    detail: str


@dataclass(frozen=True)
class Check:
    """A check by its name; makes its results."""

    name: str

    def result(self, ok: bool | None, detail: str) -> CheckResult:
        return CheckResult(name=self.name, ok=ok, detail=detail)

    def holds(self, detail: str) -> CheckResult:
        return self.result(True, detail)

    def fails(self, detail: str) -> CheckResult:
        return self.result(False, detail)

    def not_applicable(self, reason: str) -> CheckResult:
        return self.result(None, f"not applicable: {reason}")


class CheckedTask(Record):
    """All checks of one task, and the fresh scores of its starter and solution."""

    task: str
    version: int
    tier: Tier
    data_hash: str
    metric: Metric
    measured: Measured | None
    starter: TimedScore | None
    solution: TimedScore | None
    results: tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        return all(result.ok is not False for result in self.results)


SHUFFLED = Check("shuffled predictions score like chance")
NOT_MEASURED = "nothing is recorded for this data"


def measurements_are_recorded(task: Task, tier: Tier, measured: Measured | None) -> CheckResult:
    """Floor, reference and bar were measured on this data."""
    check = Check("measurements are recorded")
    if measured is None:
        command = f"mlagentbench tasks measure {task.address} --tier {tier}"
        return check.fails(f"nothing is recorded for this data; run: {command}")
    return check.holds(f"{counted(measured.starter.runs, 'run')} of the starter on this data")


def starter_reproduces(task: Task, measured: Measured | None, now: Scored) -> CheckResult:
    """The starter reaches its recorded score, exactly or within the noise of its recorded runs."""
    check = Check("starter reproduces its score")
    if now.score is None:
        return check.fails(f"no score: {now.reason}")
    if measured is None:
        return check.not_applicable(NOT_MEASURED)
    starter = measured.starter
    allowed = TOLERANCE * abs(starter.mean)
    if not starter.deterministic:
        noise = noise_above_floor(task.spec.metric, measured)
        allowed = noise * starter.mean if task.spec.metric.scale == "log" else noise
    if task.spec.kind == "timed":
        allowed = max(allowed, CONTROL_TOLERANCE * starter.mean)
    ok = abs(now.score - starter.mean) <= allowed
    wanted = f"{starter.mean:.6g}" + ("" if starter.deterministic else f", within {allowed:.2g}")
    return check.result(ok, f"{now.score:.6g}; recorded: {wanted}")


def solution_has_room(task: Task, measured: Measured | None, now: Scored) -> CheckResult:
    """One run of the solution exceeds the bar by at least ROOM in normalised score."""
    check = Check("solution reaches the bar with room")
    metric = task.spec.metric
    if now.score is None:
        return check.fails(f"no score: {now.reason}")
    if measured is None:
        return check.not_applicable(NOT_MEASURED)
    floor, reference = floor_of(metric, measured), measured.reference.mean
    bar = normalised(metric, measured.bar, floor, reference)
    reached = normalised(metric, now.score, floor, reference)
    if bar is None or reached is None:
        return check.fails(f"score {now.score} has no logarithm")
    detail = f"{now.score:.6g}: normalised {reached:.2f}; required: {bar:.2f} + {ROOM:g}"
    beyond = exceeds_ceiling(metric, measured, now.score)
    if beyond:
        detail += f"; better than the ceiling {measured.ceiling:.6g}"
    return check.result(reached >= bar + ROOM and not beyond, detail)


def panel_stays_below(
    task: Task, measured: Measured | None, kind: str, scores: Mapping[str, Scored]
) -> CheckResult:
    """What people write first, or what is almost right, is no success in the hard tier."""
    check = Check(f"{kind} below the bar")
    unscored = {name: one.reason for name, one in scores.items() if one.score is None}
    for name, reason in unscored.items():
        return check.fails(f"{name}: no score: {reason}")
    if measured is None:
        return check.not_applicable(NOT_MEASURED)
    metric = task.spec.metric
    known = {name: one.score for name, one in scores.items() if one.score is not None}
    best = max(known, key=lambda name: on_scale(metric, known[name]))
    success = compare_with_bar(metric, measured, known[best]).success
    detail = f"best of {len(known)}: {best}, {known[best]:.6g}; bar: {measured.bar:.6g}"
    return check.result(success is False, detail)


def nothing_is_no_success(task: Task, measured: Measured | None, now: Scored) -> CheckResult:
    """Submitting at once gives no score and a reason; or, if the starter is a submission, a score
    below the bar."""
    check = Check("doing nothing is no success")
    shipped = (task.starter / task.spec.submission.path).exists()
    if not shipped:
        if now.score is not None:
            return check.fails(f"scored {now.score:.6g}")
        return check.result(bool(now.reason), f"no score: {now.reason}")
    if now.score is None:
        return check.holds(f"no score: {now.reason}")
    if measured is None:
        return check.not_applicable(NOT_MEASURED)
    success = compare_with_bar(task.spec.metric, measured, now.score).success
    return check.result(
        success is False, f"the starter is a submission: {now.score:.6g}; bar: {measured.bar:.6g}"
    )


def same_when_graded_again(task: Task, first: Scored, second: Scored) -> CheckResult:
    """Grading a submission twice gives the same score; a measured time may differ by its spread."""
    check = Check("grading twice gives the same")
    if first.score is None or second.score is None:
        return check.fails(f"no score: {first.reason or second.reason}")
    allowed = TOLERANCE * abs(first.score)
    if task.spec.kind == "timed":
        allowed = CONTROL_TOLERANCE * first.score + _quartile_range(first) + _quartile_range(second)
    ok = abs(first.score - second.score) <= allowed
    return check.result(ok, f"{first.score:.10g}, {second.score:.10g}")


def _quartile_range(timed: Scored) -> float:
    low, high = timed.extra.get("ratio_quartiles", (0.0, 0.0))
    return float(high - low)


def bar_above_noise(task: Task, measured: Measured | None) -> CheckResult:
    """The bar is at least halfway to the reference, and above what the starter reaches by luck."""
    check = Check("bar lies above the noise")
    if measured is None:
        return check.not_applicable(NOT_MEASURED)
    metric = task.spec.metric
    bottom = on_scale(metric, floor_of(metric, measured))
    gain = on_scale(metric, measured.bar) - bottom
    distance = on_scale(metric, measured.reference.mean) - bottom
    noise = noise_above_floor(metric, measured)
    # The relative spread approximates that of the logarithm to a few percent.
    slack = 0.05 * noise if metric.scale == "log" else 1e-6 * distance
    ok = gain >= noise - slack and gain >= (SUCCESS_AT - 1e-6) * distance
    share = "reference below floor"
    if distance > 0:
        share = f"{gain / distance:.2f} of the distance to the reference"
    times = f"{gain / noise:.1f} times the noise" if noise > 0 else "no noise"
    return check.result(ok and distance > 0, f"{share}, {times}")


def trivial_is_far(metric: Metric, trivial: Mapping[str, Scored], solution: Scored) -> CheckResult:
    """Programs without a model score far below the solution."""
    check = Check("search without a model is far from the solution")
    scores = {key: one.score for key, one in trivial.items() if one.score is not None}
    if solution.score is None or not scores:
        reason = solution.reason or "no trivial program has a score"
        return check.fails(f"no score: {reason}")
    best = max(scores, key=lambda key: on_scale(metric, scores[key]))
    share = scores[best] / solution.score
    return check.result(
        share < TRIVIAL_SHARE,
        f"{best}: {scores[best]:.4g}, {share:.2f} of the solution's {solution.score:.4g}",
    )


def solution_needs_its_model(metric: Metric, solution: Scored, constant: Scored) -> CheckResult:
    """With a constant reply in place of its model, the solution loses much of its score."""
    check = Check("solution needs its model")
    if solution.score is None:
        return check.fails(f"no score: {solution.reason}")
    if constant.score is None:
        return check.holds(f"no score with a constant reply: {constant.reason}")
    fall = on_scale(metric, solution.score) - on_scale(metric, constant.score)
    ok = fall >= MODEL_SHARE * abs(on_scale(metric, solution.score))
    return check.result(ok, f"{solution.score:.4g}; with a constant reply {constant.score:.4g}")


def shuffled_like_chance(
    metric: Metric, chance: float, chance_name: str, scores: Sequence[float]
) -> CheckResult:
    """Predictions assigned to the wrong rows score no better than a constant."""
    shuffled = [on_scale(metric, score) for score in scores]
    gain = statistics.fmean(shuffled) - on_scale(metric, chance)
    spread = statistics.stdev(shuffled)
    ok = gain <= SIGMAS * spread + TOLERANCE * abs(chance) and math.isfinite(gain)
    mean = f"mean {statistics.fmean(scores):.6g} of {counted(len(scores), 'shuffle')}"
    return SHUFFLED.result(ok, f"{mean}; {chance_name}: {chance:.6g}")
