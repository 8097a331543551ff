"""Comparing two agents: false alarms, power, and what moves together."""

from itertools import combinations
from statistics import fmean

import numpy as np
import pytest

from mlagentbench.statistics.permutation import (
    TaskArms,
    detectable_mean_difference,
    detectable_rate_difference,
    holm,
    mean_difference_interval,
    permutation_test,
    rate_difference_interval,
)


def arms(first: list[float], second: list[float], shared: int = 0) -> TaskArms:
    return TaskArms(first=tuple(first), second=tuple(second), shared=shared)


def test_all_ways_are_looked_at_when_they_are_few() -> None:
    """Held against a count by hand over all 20 ways to deal six runs out."""
    first, second = [0.9, 0.8, 0.3], [0.1, 0.4, 0.2]
    runs = first + second
    differences = []
    for mine in combinations(range(6), 3):
        ours = [runs[place] for place in mine]
        theirs = [runs[place] for place in range(6) if place not in mine]
        differences.append(fmean(ours) - fmean(theirs))
    seen = fmean(first) - fmean(second)
    expected = fmean(abs(one) >= abs(seen) - 1e-12 for one in differences)
    test = permutation_test([arms(first, second)])
    assert test.difference == pytest.approx(seen)
    assert test.p == expected == test.task_p[0]


def test_clear_differences_are_as_unlikely_as_they_are_rare() -> None:
    one_task = arms([1.0] * 3, [0.0] * 3)
    assert permutation_test([one_task]).p == pytest.approx(2 / 20)
    assert permutation_test([one_task] * 3).p == pytest.approx(2 / 20**3)
    assert permutation_test([one_task] * 4).p == pytest.approx(1 / 10_000)  # by random deals


def test_no_difference_is_no_finding() -> None:
    test = permutation_test([arms([0.0] * 4, [0.0] * 4), arms([1.0] * 2, [1.0] * 5)])
    assert test.difference == 0 and test.p == 1


def test_random_deals_are_the_same_every_time() -> None:
    rng = np.random.default_rng(1)
    tasks = [arms(list(rng.normal(size=12)), list(rng.normal(size=12))) for _ in range(2)]
    assert permutation_test(tasks) == permutation_test(tasks)


def test_runs_of_one_history_are_only_swapped_as_a_pair() -> None:
    """Four pairs in which the first is better: of 16 ways to swap, two are as extreme."""
    pairs = arms([0.9, 0.5, 0.7, 0.3], [0.8, 0.4, 0.5, 0.2], shared=4)
    apart = arms(list(pairs.first), list(pairs.second))
    assert permutation_test([pairs]).p == pytest.approx(2 / 16)
    assert permutation_test([apart]).p > 0.4
    mixed = arms([0.9, 1.0, 1.0], [0.8, 0.0, 0.0], shared=1)
    assert permutation_test([mixed]).p == pytest.approx(2 / (2 * 6))


@pytest.mark.parametrize(("tasks", "first", "second"), [(1, 5, 5), (5, 3, 3), (4, 4, 6)])
def test_false_alarms_of_scores(tasks: int, first: int, second: int) -> None:
    assert 0.03 <= _share_found(tasks, first, second, _scores(0.0), _scores(0.0), 800) <= 0.07


def test_false_alarms_of_rates() -> None:
    """Rates come in steps, so that with few runs the test stays well below its level."""
    assert 0.03 <= _share_found(6, 4, 7, _rates(0.5), _rates(0.5), 1000) <= 0.07
    assert _share_found(1, 5, 5, _rates(0.5), _rates(0.5), 300) < 0.05


@pytest.mark.parametrize(("tasks", "n"), [(3, 5), (5, 3)])
def test_a_detectable_difference_of_rates_is_found_in_four_of_five_cases(
    tasks: int, n: int
) -> None:
    gap = detectable_rate_difference([arms([0.0] * n, [0.0] * n)] * tasks)
    assert gap is not None and 0.4 < gap < 0.7
    found = _share_found(tasks, n, n, _rates(0.5 + gap / 2), _rates(0.5 - gap / 2), 500)
    assert 0.74 <= found <= 0.88


def test_a_detectable_difference_of_scores_is_found_in_four_of_five_cases() -> None:
    rng, tasks, n = np.random.default_rng(4), 5, 5
    gaps = [
        detectable_mean_difference(
            [arms(list(rng.normal(size=n)), list(rng.normal(size=n))) for _ in range(tasks)]
        )
        for _ in range(50)
    ]
    gap = fmean(one for one in gaps if one is not None)
    assert 0.74 <= _share_found(tasks, n, n, _scores(gap), _scores(0.0), 400) <= 0.86


def test_more_runs_and_more_tasks_see_smaller_differences() -> None:
    def detectable(tasks: int, n: int) -> float | None:
        return detectable_rate_difference([arms([0.0] * n, [0.0] * n)] * tasks)

    gaps = [detectable(3, 5), detectable(3, 10), detectable(12, 10)]
    assert all(gaps) and gaps == sorted(gaps, key=lambda gap: -(gap or 0))


def test_too_few_runs_see_no_difference_at_all() -> None:
    assert detectable_rate_difference([arms([1.0] * 3, [0.0] * 3)]) is None
    assert detectable_mean_difference([arms([1.0, 0.9, 1.1], [0.0, 0.1, 0.2])]) is None
    assert detectable_mean_difference([arms([1.0] * 8, [0.0] * 8)]) is None  # no spread was seen


def test_holms_correction() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([0.2]) == [0.2] and holm([]) == []


def test_interval_of_a_difference_of_rates() -> None:
    """Newcombe's example of 56/70 against 48/80, for one task; ours differs by its shrinkage."""
    first, second = [1.0] * 56 + [0.0] * 14, [1.0] * 48 + [0.0] * 32
    interval = rate_difference_interval([arms(first, second)])
    assert interval.low == pytest.approx(0.0524, abs=0.005)
    assert interval.high == pytest.approx(0.3339, abs=0.005)


def test_intervals_of_differences_cover_the_truth() -> None:
    rng, draws = np.random.default_rng(8), 500
    rates = scores = 0
    for _ in range(draws):
        own, other = rng.uniform(size=5), rng.uniform(size=5)
        pairs = list(zip(own, other, strict=True))
        interval = rate_difference_interval(
            [arms(_rates(a)(rng, 5), _rates(b)(rng, 5)) for a, b in pairs]
        )
        rates += bool(interval.low <= np.mean(own - other) <= interval.high)
        of_means = mean_difference_interval(
            [arms(_scores(a)(rng, 5), _scores(b)(rng, 5)) for a, b in pairs]
        )
        assert of_means is not None
        scores += bool(of_means.low <= np.mean(own - other) <= of_means.high)
    assert 0.93 <= rates / draws <= 0.98
    assert 0.93 <= scores / draws <= 0.98


def _scores(mean: float):
    return lambda rng, n: list(rng.normal(mean, 1.0, size=n))


def _rates(rate: float):
    return lambda rng, n: list((rng.random(n) < rate).astype(float))


def _share_found(tasks, first, second, draw_first, draw_second, draws) -> float:
    """How often the test calls a difference significant."""
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(draws):
        drawn = [arms(draw_first(rng, first), draw_second(rng, second)) for _ in range(tasks)]
        found += permutation_test(drawn).p <= 0.05
    return found / draws
