"""The metrics that Inspect shows for a task; they see every run, not the mean over its epochs."""

import statistics

from inspect_ai.scorer import Metric, SampleScore, metric

from mlagentbench.evaluation.stats import Interval, standard_error, wilson_interval

UNKNOWN = float("nan")


@metric(name="rate", scores="unreduced")
def success_rate() -> Metric:
    """The share of runs that reach the bar."""

    def compute(scores: list[SampleScore]) -> float:
        return _successes(scores) / len(scores) if scores else UNKNOWN

    return compute


@metric(name="low95", scores="unreduced")
def success_low() -> Metric:
    """The lower end of the rate's 95 % Wilson interval."""

    def compute(scores: list[SampleScore]) -> float:
        return _interval(scores).low if scores else UNKNOWN

    return compute


@metric(name="high95", scores="unreduced")
def success_high() -> Metric:
    """The upper end of the rate's 95 % Wilson interval."""

    def compute(scores: list[SampleScore]) -> float:
        return _interval(scores).high if scores else UNKNOWN

    return compute


@metric(name="mean", scores="unreduced")
def mean() -> Metric:
    """The mean over runs."""

    def compute(scores: list[SampleScore]) -> float:
        return statistics.fmean(_values(scores)) if scores else UNKNOWN

    return compute


@metric(name="stderr", scores="unreduced")
def stderr() -> Metric:
    """The mean's standard error; unknown below two runs."""

    def compute(scores: list[SampleScore]) -> float:
        error = standard_error(_values(scores))
        return UNKNOWN if error is None else error

    return compute


def _values(scores: list[SampleScore]) -> list[float]:
    return [score.score.as_float() for score in scores]


def _successes(scores: list[SampleScore]) -> int:
    return sum(value > 0 for value in _values(scores))


def _interval(scores: list[SampleScore]) -> Interval:
    return wilson_interval(_successes(scores), len(scores))
