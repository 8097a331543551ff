"""Intervals: what they say, and how often they hold."""

import math
import statistics
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom, t

from mlagentbench.numeric.intervals import (
    Interval,
    Stratum,
    mean_interval_over_tasks,
    noise_factor,
    rate_interval_over_tasks,
    standard_error,
    stratified_mean_interval,
    stratified_rate_interval,
    stratum_of,
    t_interval,
    wilson_interval,
)

RNG = np.random.default_rng
DESIGNS = [(3, 3), (3, 8), (6, 5), (15, 3), (13, 8)]
"""Tasks, and runs on each."""


def test_wilson_interval_agrees_with_the_textbook() -> None:
    interval = wilson_interval(8, 10)
    assert interval.low == pytest.approx(0.4902, abs=1e-4)
    assert interval.high == pytest.approx(0.9433, abs=1e-4)


@pytest.mark.parametrize("n", [1, 8, 30])
def test_wilson_interval_stays_within_0_and_1(n: int) -> None:
    none, all_of_them = wilson_interval(0, n), wilson_interval(n, n)
    assert none.low == 0.0 < none.high < 1.0
    assert 0.0 < all_of_them.low < 1.0 == pytest.approx(all_of_them.high)
    assert all_of_them.low == pytest.approx(1 - none.high)


def test_wilson_interval_of_nothing_says_nothing() -> None:
    interval = wilson_interval(0, 0)
    assert (interval.low, interval.high) == (0.0, 1.0)


@pytest.mark.parametrize("n", [3, 5, 8, 25])
def test_wilson_interval_covers_the_true_rate(n: int) -> None:
    rates = np.linspace(0.0005, 0.9995, 1000)
    covered = np.zeros_like(rates)
    for successes in range(n + 1):
        interval = wilson_interval(successes, n)
        inside = (interval.low <= rates) & (rates <= interval.high)
        covered += binom.pmf(successes, n, rates) * inside
    assert 0.94 <= covered.mean() <= 0.97
    assert covered.min() >= 0.82


def test_wilson_interval_counts_a_history_once() -> None:
    shares = [1.0, 0.5, 0.0]
    assert wilson_interval(sum(shares), len(shares)) == wilson_interval(1.5, 3)
    wide, narrow = wilson_interval(1.5, 3), wilson_interval(6, 12)
    assert wide.low < narrow.low and narrow.high < wide.high


def test_t_interval_agrees_with_scipy_and_needs_five_values() -> None:
    values = [4.0, 5.5, 6.0, 7.0, 9.5]
    error = standard_error(values)
    assert error is not None
    low, high = t.interval(0.95, 4, statistics.fmean(values), error)
    interval = t_interval(values)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((low, high))
    assert t_interval(values[:4]) is None
    assert t_interval([4.0] * 8) is None  # no spread was seen


@pytest.mark.parametrize("n", [5, 8, 25])
def test_t_interval_covers_the_true_mean(n: int) -> None:
    draws = RNG(n).normal(3.0, 2.0, size=(1500, n))
    assert 0.93 <= _share_covering([t_interval(list(runs)) for runs in draws], 3.0) <= 0.98


def _share_covering(intervals: list[Interval | None], truth: float) -> float:
    found = [interval for interval in intervals if interval is not None]
    assert len(found) == len(intervals)
    return statistics.fmean(one.low <= truth <= one.high for one in found)


@cache
def rates_interval(successes: tuple[int, ...], n: int) -> Interval:
    return stratified_rate_interval([_stratum(one, n) for one in successes])


@cache
def _stratum(successes: int, n: int) -> Stratum:
    return stratum_of([1.0] * successes + [0.0] * (n - successes))


@pytest.mark.parametrize(("tasks", "n"), DESIGNS)
@pytest.mark.parametrize("shape", [(1.0, 1.0), (0.5, 0.5), (0.3, 1.2)], ids=str)
def test_stratified_interval_covers_the_true_mean_rate(
    shape: tuple[float, float], tasks: int, n: int
) -> None:
    rng, draws = RNG(7), 1500
    rates = rng.beta(*shape, size=(draws, tasks))
    successes = np.sort(rng.binomial(n, rates), axis=1)
    covered = 0
    for seen, truth in zip(successes, rates.mean(axis=1), strict=True):
        interval = rates_interval(tuple(map(int, seen)), n)
        covered += interval.low <= truth <= interval.high
    assert 0.93 <= covered / draws <= 0.98


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_stratified_interval_covers_tasks_that_are_alike(rate: float) -> None:
    rng, draws = RNG(3), 4000
    successes = np.sort(rng.binomial(5, rate, size=(draws, 6)), axis=1)
    intervals = [rates_interval(tuple(map(int, seen)), 5) for seen in successes]
    assert 0.93 <= statistics.fmean(one.low <= rate <= one.high for one in intervals) <= 0.98


def test_stratified_interval_is_never_a_point() -> None:
    """Also where all runs of a task end alike, as of a task that nobody solves."""
    all_failed = rates_interval((0, 0, 0), 3)
    assert all_failed == wilson_interval(0, 9)
    half = rates_interval((0, 3), 3)
    assert half.low < 0.5 - 0.1 and half.high > 0.5 + 0.1
    assert half.high - half.low < wilson_interval(3, 6).high - wilson_interval(3, 6).low


def test_stratified_interval_of_one_task_is_wilsons() -> None:
    stratified, own = rates_interval((8,), 20), wilson_interval(8, 20)
    assert stratified.low == pytest.approx(own.low, abs=0.01)
    assert stratified.high == pytest.approx(own.high, abs=0.01)


def test_single_runs_count_as_if_all_tasks_were_alike() -> None:
    single = stratified_rate_interval([_stratum(1, 1), _stratum(0, 1), _stratum(0, 1)])
    alike = wilson_interval(1, 3)
    assert (single.low, single.high) == pytest.approx((alike.low, alike.high))


@pytest.mark.parametrize(("tasks", "n"), DESIGNS)
def test_stratified_interval_covers_the_true_mean(tasks: int, n: int) -> None:
    rng, draws = RNG(5), 2000
    spread = 10 ** rng.uniform(-0.5, 0.5, size=(draws, tasks, 1))
    runs = rng.normal(size=(draws, tasks, n)) * spread
    means, variances = runs.mean(axis=2), runs.var(axis=2, ddof=1)
    intervals = [
        stratified_mean_interval(
            [
                Stratum(n=n, mean=m, variance=v)
                for m, v in zip(means[one], variances[one], strict=True)
            ]
        )
        for one in range(draws)
    ]
    assert 0.93 <= _share_covering(intervals, 0.0) <= 0.98


def test_without_any_spread_there_is_no_interval_of_a_mean() -> None:
    assert stratified_mean_interval([stratum_of([2.0, 2.0]), stratum_of([3.0, 3.0])]) is None
    assert stratified_mean_interval([stratum_of([2.0]), stratum_of([3.0, 4.0])]) is None
    assert mean_interval_over_tasks([1.0]) is None
    assert mean_interval_over_tasks([1.0, 1.0]) is None


@pytest.mark.parametrize("shape", [(1.0, 1.0), (0.5, 0.5), (0.3, 1.2)], ids=str)
def test_interval_over_tasks_covers_the_rate_of_all_tasks_there_could_be(
    shape: tuple[float, float],
) -> None:
    """Where most tasks are never solved, the plain t interval covers less than 90 %."""
    rng, draws, truth = RNG(11), 2000, shape[0] / sum(shape)
    rates = rng.binomial(8, rng.beta(*shape, size=(draws, 13))) / 8
    intervals = [rate_interval_over_tasks(list(map(float, one))) for one in rates]
    assert 0.93 <= _share_covering(intervals, truth) <= 0.98


def test_interval_over_tasks_is_wider_than_on_these_tasks() -> None:
    rates = [0.0, 0.2, 0.4, 0.8, 1.0]
    over = rate_interval_over_tasks(rates)
    on_these = stratified_rate_interval([_stratum(round(5 * rate), 5) for rate in rates])
    assert over is not None
    assert 0 <= over.low < on_these.low < 0.48 < on_these.high < over.high <= 1
    assert rate_interval_over_tasks([0.4]) is None


def test_standard_error() -> None:
    assert standard_error([1.0, 3.0]) == pytest.approx(1.0)
    assert standard_error([2.0]) is None
    assert standard_error([]) is None


def test_noise_factor_follows_student() -> None:
    p = 1 - 1 / 300
    one_degree = math.tan(math.pi * (p - 0.5))
    two_degrees = (2 * p - 1) / math.sqrt(2 * p * (1 - p))
    assert noise_factor(2) == pytest.approx(one_degree * math.sqrt(1 + 1 / 2))
    assert noise_factor(3) == pytest.approx(two_degrees * math.sqrt(1 + 1 / 3))
    assert noise_factor(8) > noise_factor(30) > noise_factor(1000)
    assert noise_factor(10**6) == pytest.approx(statistics.NormalDist().inv_cdf(p), abs=1e-3)


@pytest.mark.parametrize("n", [4, 8, 30])
def test_a_new_run_of_the_same_starter_rarely_passes_the_noise(n: int) -> None:
    tries = 100_000
    scores = np.random.default_rng(n).normal(size=(tries, n + 1))
    runs, new = scores[:, :n], scores[:, n]
    alarms = np.sum(new > runs.mean(axis=1) + noise_factor(n) * runs.std(axis=1, ddof=1))
    expected = tries / 300
    assert abs(alarms - expected) < 4 * math.sqrt(expected)
