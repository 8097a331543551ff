"""A task's measurements: how they follow from scores, and what is wrong with them.

| measurement | how it is measured                                                            |
|-------------|-------------------------------------------------------------------------------|
| floor       | the best of the starter's mean and the trivial predictors; in the hard tier   |
|             | also of its default and ablations, one run each                               |
| starter     | mean and standard deviation over its runs, each with the seed of one epoch    |
| reference   | the shipped solution, likewise                                                |
| bar         | halfway from floor to reference, or the starter's noise, whichever is further |
| ceiling     | the best possible score, where the task knows it                              |
"""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlagentbench.errors import RunFailed, UnusableDraw
from mlagentbench.grading.success import (
    ROOM,
    TOLERANCE,
    bar_of,
    compare_with_bar,
    exceeds_ceiling,
    floor_of,
    noise_of,
    on_scale,
    pooled_noise,
    spread_on_scale,
)
from mlagentbench.numeric.number_format import percent_text
from mlagentbench.records import Profile, Record, Tier
from mlagentbench.tasks.draws import PUBLIC, draws_text, is_public
from mlagentbench.tasks.spec import Measured, Metric, ReferenceMeasurements, StarterMeasurements

MAX_SPREAD = 0.10
"""The starter's standard deviation should be at most this share of the distance from floor to
reference."""
LONGEST_SECONDS: dict[Tier, dict[str, float]] = {
    "mini": {"starter": 10.0, "solution": 25.0},
    "hard": {"starter": 60.0, "solution": 60.0},
    "full": {},
}
"""Wall time on an idle machine that a task should stay within."""
_OTHER_DRAW = "use another draw"
_POOL_NOISE = (
    "or write the public draw's measurements to task.toml (mlagentbench tasks measure --write), so "
    "that the starter's noise is pooled with them"
)


class TimedScore(Record):
    """A score and the time that it took."""

    score: float
    seconds: float
    cpu_seconds: float


class MeasuredTask(Record):
    """The measurements of a task, and the file that they were written to."""

    task: str
    tier: Tier
    profile: Profile | None = None
    metric: Metric
    measured: Measured
    stored_in: Path
    used_instead: str | None = None
    """The file whose measurements of the same data are used instead of these."""


def measurements_from(
    metric: Metric,
    data_hash: str,
    trivial: Mapping[str, float],
    starter: Sequence[TimedScore],
    reference: Sequence[TimedScore],
    ceiling: float | None,
    tool: str | None = None,
    data_bytes: int | None = None,
    public: Measured | None = None,
    draw: str = PUBLIC,
    default: Mapping[str, float] | None = None,
    ablations: Mapping[str, float] | None = None,
) -> Measured:
    """The measurements of these runs; RunFailed when the solution does not beat the floor.

    On a draw other than the public one, the starter's noise is pooled with that of the `public`
    draw, and the solution has to exceed the bar, or the draw is an UnusableDraw.
    """
    starter_scores = [run.score for run in starter]
    reference_mean = statistics.fmean(run.score for run in reference)
    default, ablations = default or {}, ablations or {}
    others = [*trivial.values(), *default.values(), *ablations.values()]
    floor = metric.best([statistics.fmean(starter_scores), *others])
    if not metric.is_better(reference_mean, floor):
        detail = (
            f"the solution's mean score {reference_mean:.6g} is not better than the floor "
            f"{floor:.6g}, so there is no bar"
        )
        if is_public(draw):
            raise RunFailed("task", f"{detail}; improve the solution")
        raise UnusableDraw(f"{draws_text(draw)}: {detail}; {_OTHER_DRAW}")
    noise = None if public is None else pooled_noise(metric, starter_scores, public)
    measured = Measured(
        data=data_hash,
        bytes=data_bytes,
        trivial=_all_rounded(trivial),
        default=_all_rounded(default),
        ablations=_all_rounded(ablations),
        starter=StarterMeasurements(
            **_summary(starter), runs=len(starter), deterministic=len(set(starter_scores)) == 1
        ),
        reference=ReferenceMeasurements(**_summary(reference), runs=len(reference), source="ours"),
        noise=noise,
        bar=_rounded(bar_of(metric, starter_scores, others, reference_mean, noise)),
        ceiling=None if ceiling is None else _rounded(ceiling),
        tool=tool,
    )
    if not is_public(draw):
        _require_room(metric, measured, draw, is_pooled=noise is not None)
    compared = [compare_with_bar(metric, measured, score) for score in starter_scores]
    counted = measured.starter.model_copy(
        update={
            "over_bar": sum(bool(run.success) for run in compared),
            "over_paper_bar": sum(bool(run.paper_success) for run in compared),
        }
    )
    return measured.model_copy(update={"starter": counted})


def _require_room(metric: Metric, measured: Measured, draw: str, *, is_pooled: bool) -> None:
    """UnusableDraw unless the reference exceeds the bar by ROOM in normalised score."""
    share = bar_share(metric, measured)
    if share <= 1 - ROOM + TOLERANCE:
        return
    pool = "" if is_pooled else f"; {_POOL_NOISE}"
    raise UnusableDraw(
        f"{draws_text(draw)}: floor {floor_of(metric, measured):.6g}, bar {measured.bar:.6g}, "
        f"reference {measured.reference.mean:.6g}: the starter's noise puts the bar at "
        f"{percent_text(share, 0)} % of the distance from floor to reference, at most "
        f"{percent_text(1 - ROOM, 0)} % is usable; {_OTHER_DRAW}{pool}"
    )


def bar_share(metric: Metric, measured: Measured) -> float:
    """The bar as a share of the distance from floor to reference."""
    floor = on_scale(metric, floor_of(metric, measured))
    distance = on_scale(metric, measured.reference.mean) - floor
    return (on_scale(metric, measured.bar) - floor) / distance


def _summary(runs: Sequence[TimedScore]) -> dict[str, Any]:
    scores = [run.score for run in runs]
    return {
        "mean": _rounded(statistics.fmean(scores)),
        "std": _rounded(statistics.stdev(scores)) if len(scores) > 1 else 0.0,
        "seconds": round(statistics.median(run.seconds for run in runs), 2),
        "cpu_seconds": round(statistics.median(run.cpu_seconds for run in runs), 2),
    }


def _all_rounded(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: _rounded(score) for name, score in scores.items()}


def _rounded(value: float) -> float:
    """Ten significant digits."""
    return float(f"{value:.10g}")


def noise_above_floor(metric: Metric, measured: Measured) -> float:
    """How far above the floor, on the task's scale, a run of the starter gets by luck alone."""
    starter = measured.starter
    return noise_of(starter.runs, spread_on_scale(metric, starter), measured.noise)


def concerns(metric: Metric, tier: Tier, measured: Measured) -> list[str]:
    """What a task's author should fix: too much noise, too slow, better than possible."""
    found = []
    starter, reference = measured.starter, measured.reference
    floor = floor_of(metric, measured)
    distance = on_scale(metric, reference.mean) - on_scale(metric, floor)
    share = spread_on_scale(metric, starter) / distance
    if share > MAX_SPREAD:
        found.append(
            f"the starter's standard deviation is {percent_text(share, 0)} % of the distance from "
            f"floor to reference; it should be at most {percent_text(MAX_SPREAD, 0)} %"
        )
    bar = bar_share(metric, measured)
    if bar > 1 - ROOM:
        found.append(
            f"the starter's noise puts the bar at {percent_text(bar, 0)} % of the distance from "
            "floor to reference; even the solution would rarely reach it"
        )
    times = {"starter": starter.seconds, "solution": reference.seconds}
    for name, most in LONGEST_SECONDS[tier].items():
        if (seconds := times[name]) is not None and seconds > most:
            found.append(
                f"the {name} takes {seconds:.1f} s; in the {tier} tier it should take at most "
                f"{most:g} s on an idle machine"
            )
    for name, score in (("floor", floor), ("reference", reference.mean)):
        if exceeds_ceiling(metric, measured, score):
            found.append(
                f"the {name} {score:.6g} is better than the ceiling {measured.ceiling:.6g}"
            )
    return found
