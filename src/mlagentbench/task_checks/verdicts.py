"""Whether a task's figures hold: each check compares what was just scored with what is recorded."""

import math
import statistics
from collections.abc import Mapping, Sequence

from mlagentbench.grading.grade import Scored
from mlagentbench.grading.measurements import TimedScore, noise_above_floor
from mlagentbench.grading.score import (
    ROOM,
    SUCCESS_AT,
    compare_with_bar,
    floor_of,
    normalised,
    on_scale,
)
from mlagentbench.guest.mlagentbench_task import CONTROL_TOLERANCE
from mlagentbench.numeric.intervals import noise_factor
from mlagentbench.records import Record, Tier
from mlagentbench.tasks.spec import Measured, Metric
from mlagentbench.tasks.task import Task

SAME = 1e-9
"""Scores that differ by no larger share are the same: figures are recorded with ten digits."""
SIGMAS = 3.0
"""How many standard deviations are more than chance."""


TRIVIAL_SHARE = 0.7
"""Of the solution's score: what a program without a model must stay below."""
MODEL_SHARE = 0.1
"""Of its score: what the solution must at least owe to its model."""


class CheckResult(Record):
    """One check: it holds, or it does not, or (None) there is nothing to be checked."""

    name: str
    ok: bool | None
    detail: str


class CheckedTask(Record):
    """All checks of one task, and what its starter and solution just gave."""

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


NOT_MEASURED = "not applicable: nothing is recorded for this data"


def measurements_are_recorded(task: Task, tier: Tier, measured: Measured | None) -> CheckResult:
    """Floor, reference and bar were measured on this very data."""
    name = "measurements are recorded"
    if measured is None:
        command = f"mlagentbench tasks measure {task.address} --tier {tier}"
        return CheckResult(
            name=name, ok=False, detail=f"nothing is recorded for this data; run: {command}"
        )
    return CheckResult(
        name=name, ok=True, detail=f"{measured.starter.runs} runs of the starter on this data"
    )


def starter_reproduces(task: Task, measured: Measured | None, now: Scored) -> CheckResult:
    """The starter gives the recorded score: exactly, or within the noise of its recorded runs."""
    name = "starter reproduces its score"
    if now.score is None:
        return CheckResult(name=name, ok=False, detail=f"no score: {now.reason}")
    if measured is None:
        return CheckResult(name=name, ok=None, detail=NOT_MEASURED)
    starter = measured.starter
    allowed = SAME * abs(starter.mean)
    if not starter.deterministic:
        allowed = noise_factor(starter.runs) * starter.std
    if task.spec.kind == "timed":
        allowed = max(allowed, CONTROL_TOLERANCE * starter.mean)
    ok = abs(now.score - starter.mean) <= allowed
    wanted = f"{starter.mean:.6g}" + ("" if starter.deterministic else f" ± {allowed:.2g}")
    return CheckResult(name=name, ok=ok, detail=f"{now.score:.6g}; recorded: {wanted}")


def solution_has_room(task: Task, measured: Measured | None, now: Scored) -> CheckResult:
    """One run of the solution lies beyond the bar, by at least ROOM in normalised score."""
    name = "solution reaches the bar with room"
    metric = task.spec.metric
    if now.score is None:
        return CheckResult(name=name, ok=False, detail=f"no score: {now.reason}")
    if measured is None:
        return CheckResult(name=name, ok=None, detail=NOT_MEASURED)
    floor, reference = floor_of(metric, measured), measured.reference.mean
    bar = normalised(metric, measured.bar, floor, reference)
    reached = normalised(metric, now.score, floor, reference)
    if bar is None or reached is None:
        return CheckResult(name=name, ok=False, detail=f"score {now.score} has no logarithm")
    detail = f"{now.score:.6g}: normalised {reached:.2f}; wanted: {bar:.2f} + {ROOM:g}"
    beyond = measured.ceiling is not None and metric.is_better(now.score, measured.ceiling)
    if beyond:
        detail += f"; better than the ceiling {measured.ceiling:.6g}"
    return CheckResult(name=name, ok=reached >= bar + ROOM and not beyond, detail=detail)


def nothing_is_no_success(task: Task, measured: Measured | None, now: Scored) -> CheckResult:
    """Submitting at once gives no score and a reason; or, where the starter is a submission, one
    below the bar."""
    name = "doing nothing is no success"
    shipped = (task.starter / task.spec.submission.path).exists()
    if not shipped:
        ok = now.score is None and bool(now.reason)
        detail = f"no score: {now.reason}" if now.score is None else f"scored {now.score:.6g}"
        return CheckResult(name=name, ok=ok, detail=detail)
    if now.score is None:
        return CheckResult(name=name, ok=True, detail=f"no score: {now.reason}")
    if measured is None:
        return CheckResult(name=name, ok=None, detail=NOT_MEASURED)
    success = compare_with_bar(task.spec.metric, measured, now.score).success
    detail = f"the starter is a submission: {now.score:.6g}; bar: {measured.bar:.6g}"
    return CheckResult(name=name, ok=success is False, detail=detail)


def same_when_graded_again(task: Task, first: Scored, second: Scored) -> CheckResult:
    """Grading one submission twice gives one score; a measured time may differ by its spread."""
    name = "grading twice gives the same"
    if first.score is None or second.score is None:
        reason = first.reason or second.reason
        return CheckResult(name=name, ok=False, detail=f"no score: {reason}")
    allowed = SAME * abs(first.score)
    if task.spec.kind == "timed":
        allowed = CONTROL_TOLERANCE * first.score + _middle_half(first) + _middle_half(second)
    ok = abs(first.score - second.score) <= allowed
    return CheckResult(name=name, ok=ok, detail=f"{first.score:.10g}, {second.score:.10g}")


def _middle_half(timed: Scored) -> float:
    low, high = timed.extra.get("ratio_quartiles", (0.0, 0.0))
    return float(high - low)


def bar_above_noise(task: Task, measured: Measured | None) -> CheckResult:
    """The bar is at least half of the way up, and above what the starter reaches by luck."""
    name = "bar lies above the noise"
    if measured is None:
        return CheckResult(name=name, ok=None, detail=NOT_MEASURED)
    metric = task.spec.metric
    bottom = on_scale(metric, floor_of(metric, measured))
    gain = on_scale(metric, measured.bar) - bottom
    way = on_scale(metric, measured.reference.mean) - bottom
    noise = noise_above_floor(metric, measured)
    # The spread of a ratio stands for that of its logarithm, which is right to a few percent.
    slack = 0.05 * noise if metric.scale == "log" else 1e-6 * way
    ok = gain >= noise - slack and gain >= (SUCCESS_AT - 1e-6) * way
    share = f"{gain / way:.2f} of the way to the reference" if way > 0 else "reference below floor"
    times = f"{gain / noise:.1f} times the noise" if noise > 0 else "no noise"
    return CheckResult(name=name, ok=ok and way > 0, detail=f"{share}, {times}")


def trivial_is_far(metric: Metric, trivial: Mapping[str, Scored], solution: Scored) -> CheckResult:
    """Searching without a model comes nowhere near the solution."""
    name = "search without a model is far from the solution"
    scores = {key: one.score for key, one in trivial.items() if one.score is not None}
    if solution.score is None or not scores:
        reason = solution.reason or "no trivial program has a score"
        return CheckResult(name=name, ok=False, detail=f"no score: {reason}")
    best = max(scores, key=lambda key: on_scale(metric, scores[key]))
    share = scores[best] / solution.score
    detail = f"{best}: {scores[best]:.4g}, {share:.2f} of the solution's {solution.score:.4g}"
    return CheckResult(name=name, ok=share < TRIVIAL_SHARE, detail=detail)


def solution_needs_its_model(metric: Metric, solution: Scored, constant: Scored) -> CheckResult:
    """With a model that says always the same, the solution loses much of its score."""
    name = "solution needs its model"
    if solution.score is None:
        return CheckResult(name=name, ok=False, detail=f"no score: {solution.reason}")
    if constant.score is None:
        detail = f"no score with a constant reply: {constant.reason}"
        return CheckResult(name=name, ok=True, detail=detail)
    fall = on_scale(metric, solution.score) - on_scale(metric, constant.score)
    ok = fall >= MODEL_SHARE * abs(on_scale(metric, solution.score))
    detail = f"{solution.score:.4g}; with a constant reply {constant.score:.4g}"
    return CheckResult(name=name, ok=ok, detail=detail)


def shuffled_like_chance(
    metric: Metric, chance: float, chance_name: str, scores: Sequence[float]
) -> CheckResult:
    """Right predictions for the wrong rows are worth no more than a constant."""
    name = "shuffled predictions score like chance"
    shuffled = [on_scale(metric, score) for score in scores]
    gain = statistics.fmean(shuffled) - on_scale(metric, chance)
    spread = statistics.stdev(shuffled)
    detail = (
        f"mean {statistics.fmean(scores):.6g} of {len(scores)} shuffles; "
        f"{chance_name}: {chance:.6g}"
    )
    ok = gain <= SIGMAS * spread + SAME * abs(chance) and math.isfinite(gain)
    return CheckResult(name=name, ok=ok, detail=detail)
