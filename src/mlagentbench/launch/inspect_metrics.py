"""The metrics that Inspect shows for a task; they see every run, not the mean over its epochs.

They are computed by the same functions as the figures of our own tables.
"""

from inspect_ai.scorer import Metric, SampleScore, metric

from mlagentbench.statistics.cells import Mean, Rate, mean_of, rate_of

UNKNOWN = float("nan")


@metric(name="rate", scores="unreduced")
def success_rate() -> Metric:
    """The share of runs that reach the bar."""

    def compute(scores: list[SampleScore]) -> float:
        return _known(_rate(scores).rate)

    return compute


@metric(name="low95", scores="unreduced")
def success_low() -> Metric:
    """The lower end of the rate's 95 % Wilson interval."""

    def compute(scores: list[SampleScore]) -> float:
        return _rate(scores).interval.low if scores else UNKNOWN

    return compute


@metric(name="high95", scores="unreduced")
def success_high() -> Metric:
    """The upper end of the rate's 95 % Wilson interval."""

    def compute(scores: list[SampleScore]) -> float:
        return _rate(scores).interval.high if scores else UNKNOWN

    return compute


@metric(name="mean", scores="unreduced")
def mean() -> Metric:
    """The mean over runs."""

    def compute(scores: list[SampleScore]) -> float:
        return _known(_mean(scores).mean)

    return compute


@metric(name="stderr", scores="unreduced")
def stderr() -> Metric:
    """The mean's standard error; unknown below two runs."""

    def compute(scores: list[SampleScore]) -> float:
        return _known(_mean(scores).standard_error)

    return compute


def _rate(scores: list[SampleScore]) -> Rate:
    return rate_of([[value] for value in _values(scores)])


def _mean(scores: list[SampleScore]) -> Mean:
    return mean_of([[value] for value in _values(scores)])


def _values(scores: list[SampleScore]) -> list[float]:
    return [score.score.as_float() for score in scores]


def _known(value: float | None) -> float:
    return UNKNOWN if value is None else value
