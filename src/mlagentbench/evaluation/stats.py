"""The statistics that figures are reported with."""

import math
import statistics
from collections.abc import Sequence

from mlagentbench.records import Record


class Interval(Record):
    low: float
    high: float


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a success rate; (0, 1) when nothing was tried."""
    if n == 0:
        return Interval(low=0.0, high=1.0)
    z = statistics.NormalDist().inv_cdf(0.5 + confidence / 2)
    rate = successes / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return Interval(low=max(0.0, centre - half), high=min(1.0, centre + half))


def standard_error(values: Sequence[float]) -> float | None:
    """The standard error of a mean; None below two values."""
    if len(values) < 2:
        return None
    return statistics.stdev(values) / math.sqrt(len(values))


def noise_factor(n: int, false_alarm: float = 1 / 300) -> float:
    """k(n): a new run of the starter lies more than k(n) standard deviations above the mean of n
    runs with the probability `false_alarm`."""
    from scipy.stats import t

    return float(t.ppf(1 - false_alarm, n - 1)) * math.sqrt(1 + 1 / n)
