"""The statistics that figures are reported with."""

import math
import statistics

import numpy as np
import pytest

from mlagentbench.evaluation.stats import noise_factor, standard_error, wilson_interval


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
