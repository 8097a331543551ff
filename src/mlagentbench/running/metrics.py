"""The metrics that Inspect shows for a task; they see every run, not the mean over its epochs."""

import statistics

from inspect_ai.scorer import Metric, SampleScore, metric

from mlagentbench.evaluation.stats import standard_error, wilson_interval


@metric(scores="unreduced")
def success_rate() -> Metric:
    """The share of runs that reach the bar, with its 95 % Wilson interval."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        successes = sum(score.score.as_float() > 0 for score in scores)
        interval = wilson_interval(successes, len(scores))
        rate = successes / len(scores) if scores else float("nan")
        return {"success_rate": rate, "success_low": interval.low, "success_high": interval.high}

    return compute


@metric(scores="unreduced")
def mean_normalised() -> Metric:
    """The mean normalised score with its standard error; no valid submission is the floor, 0."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        return _mean_and_error("normalised", scores)

    return compute


@metric(scores="unreduced")
def mean_score() -> Metric:
    """The mean score of the valid submissions with its standard error."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        return _mean_and_error("score", scores)

    return compute


def _mean_and_error(name: str, scores: list[SampleScore]) -> dict[str, float]:
    values = [score.score.as_float() for score in scores]
    error = standard_error(values)
    return {
        f"{name}_mean": statistics.fmean(values) if values else float("nan"),
        f"{name}_stderr": float("nan") if error is None else error,
    }
