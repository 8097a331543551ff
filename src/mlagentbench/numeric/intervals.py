"""Confidence intervals of rates and means, at 95 % by default.

docs/evaluation/statistics.md lists which statistic has which interval, and the measured coverage.
"""

import math
import statistics
from collections.abc import Sequence

from mlagentbench.records import Record

CONFIDENCE = 0.95
MIN_FOR_T = 5
"""Below this many values a task's mean has no interval: the points are shown instead."""


class Interval(Record):
    low: float
    high: float


class Stratum(Record):
    """A summary of the independent values of one task: count, mean and unbiased variance.

    The variance is unknown below two values.
    """

    n: int
    mean: float
    variance: float | None


def stratum_of(values: Sequence[float]) -> Stratum:
    """Summarise the values of one task, at least one."""
    variance = statistics.variance(values) if len(values) > 1 else None
    return Stratum(n=len(values), mean=statistics.fmean(values), variance=variance)


def wilson_interval(successes: float, n: float, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of a success rate; (0, 1) without runs.

    If several runs share a history, `n` is the number of histories and each of them adds its share
    of successes. The variance of a share is at most that of a single run, so the interval is rather
    too wide.
    """
    return _score_interval(successes, n, statistics.NormalDist().inv_cdf(0.5 + confidence / 2))


def _score_interval(successes: float, n: float, quantile: float) -> Interval:
    if n == 0:
        return Interval(low=0.0, high=1.0)
    z, rate = quantile, successes / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
    return Interval(low=low, high=high)


def standard_error(values: Sequence[float]) -> float | None:
    """The standard error of a mean; None below two values."""
    if len(values) < 2:
        return None
    return statistics.stdev(values) / math.sqrt(len(values))


def t_interval(values: Sequence[float]) -> Interval | None:
    """Student's interval of a mean; None below five values, or if all values are equal."""
    return t_interval_of(stratum_of(values)) if len(values) >= MIN_FOR_T else None


def t_interval_of(stratum: Stratum) -> Interval | None:
    """Like `t_interval`, for summarised values."""
    if stratum.n < MIN_FOR_T or not stratum.variance:
        return None
    half = t_quantile(stratum.n - 1) * math.sqrt(stratum.variance / stratum.n)
    return Interval(low=stratum.mean - half, high=stratum.mean + half)


def t_quantile(degrees: float, p: float = 0.5 + CONFIDENCE / 2) -> float:
    """The quantile of Student's distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, p))


def stratified_rate_interval(tasks: Sequence[Stratum]) -> Interval:
    """The interval of the mean of several tasks' success rates, for other runs on these tasks.

    Wilson's interval with the number of runs that would be as informative if all tasks were alike:
    runs on tasks that differ vary less, by the ratio of the mean variance within tasks to the
    variance of all pooled runs. The ratio is estimated with one more task that is like the pool, so
    that it is never 0: tasks on which all runs end alike do not make the interval a point.
    """
    n = [task.n for task in tasks]
    rate = statistics.fmean(task.mean for task in tasks)
    alike = rate * (1 - rate)
    within = [alike if task.variance is None else task.variance for task in tasks]
    as_alike = sum(1 / one for one in n)
    seen = sum(variance / one for variance, one in zip(within, n, strict=True))
    effect = _shrunk_ratio(seen, alike * as_alike, len(tasks))
    runs = len(tasks) ** 2 / as_alike / effect
    return _score_interval(rate * runs, runs, t_quantile(math.inf))


def stratified_mean_interval(tasks: Sequence[Stratum]) -> Interval | None:
    """The interval of the mean of several tasks' means, for other runs on these tasks.

    Student's, with Welch's and Satterthwaite's degrees of freedom. None if a task has a single
    value, or if no task shows any spread.
    """
    spread = combined_spread(tasks, weight=1 / len(tasks))
    if spread is None:
        return None
    mean = statistics.fmean(task.mean for task in tasks)
    half = t_quantile(spread.degrees) * spread.error
    return Interval(low=mean - half, high=mean + half)


class Spread(Record):
    """The standard error of a weighted sum of means, and how well it is known."""

    error: float
    degrees: float


def combined_spread(strata: Sequence[Stratum], weight: float) -> Spread | None:
    """The standard error of `weight` times the sum of independent means."""
    parts = [
        (weight**2 * one.variance / one.n, one.n - 1) for one in strata if one.variance is not None
    ]
    variance = sum(part for part, _ in parts)
    if len(parts) < len(strata) or variance == 0:
        return None
    degrees = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    return Spread(error=math.sqrt(variance), degrees=degrees)


def rate_interval_over_tasks(rates: Sequence[float]) -> Interval | None:
    """The interval of the mean rate with the tasks as a sample; None below two tasks.

    Like Student's, but a score interval: it stays within 0 and 1, and is not a point if all tasks
    have the same rate.
    """
    if len(rates) < 2:
        return None
    rate = statistics.fmean(rates)
    ratio = _shrunk_ratio(statistics.variance(rates), rate * (1 - rate), len(rates))
    tasks = len(rates) / ratio
    return _score_interval(rate * tasks, tasks, t_quantile(len(rates) - 1))


def mean_interval_over_tasks(means: Sequence[float]) -> Interval | None:
    """Student's interval with the tasks as a sample; None without any spread between them."""
    error = standard_error(means)
    if not error:
        return None
    mean, half = statistics.fmean(means), t_quantile(len(means) - 1) * error
    return Interval(low=mean - half, high=mean + half)


def _shrunk_ratio(seen: float, as_alike: float, tasks: int) -> float:
    """A ratio of variances, estimated from these tasks and one more for which it is 1."""
    ratio = seen / as_alike if as_alike > 0 else 1.0
    return (tasks * ratio + 1) / (tasks + 1)


def noise_factor(n: int, false_alarm: float = 1 / 300, degrees: int | None = None) -> float:
    """k(n): a new run of the starter lies more than k(n) standard deviations above the mean of n
    runs with the probability `false_alarm`.

    The standard deviation has n - 1 degrees of freedom, or more if it is pooled with others.
    """
    return t_quantile(n - 1 if degrees is None else degrees, 1 - false_alarm) * math.sqrt(1 + 1 / n)
