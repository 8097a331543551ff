"""The metrics that Inspect shows for a task, over all runs instead of means over epochs.

They use the same functions as the report's tables.
"""

from collections.abc import Callable, Sequence

from inspect_ai.scorer import Metric, SampleScore, metric

from mlagentbench.statistics.cells import mean_of, rate_of

UNKNOWN = float("nan")
Runs = Sequence[Sequence[float]]
"""The value of each run, as a history of its own."""


def _over_runs(name: str, value: Callable[[Runs], float | None]) -> Callable[[], Metric]:
    """A metric of that name; NaN without runs, and where the value is unknown."""

    @metric(name=name, scores="unreduced")
    def build() -> Metric:
        def compute(scores: list[SampleScore]) -> float:
            found = value([[score.score.as_float()] for score in scores]) if scores else None
            return UNKNOWN if found is None else found

        return compute

    return build


success_rate = _over_runs("rate", lambda runs: rate_of(runs).rate)
success_low = _over_runs("low95", lambda runs: rate_of(runs).interval.low)
success_high = _over_runs("high95", lambda runs: rate_of(runs).interval.high)
mean = _over_runs("mean", lambda runs: mean_of(runs).mean)
stderr = _over_runs("stderr", lambda runs: mean_of(runs).standard_error)
