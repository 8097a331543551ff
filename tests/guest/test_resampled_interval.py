"""The interval of a score were the test set drawn anew, group by group."""

import math
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
import pytest

from mlagentbench.guest import mlagentbench_intervals


def resampled_interval(
    groups: Sequence[Hashable], values: Iterable[float], weights: Sequence[float] | None = None
) -> list[float] | None:
    return mlagentbench_intervals.resampled_interval(groups, list(values), weights)


def test_groups_are_drawn_as_a_whole() -> None:
    """Twenty groups of 50 equal rows say as much as twenty rows, not as a thousand."""
    rng = np.random.default_rng(1)
    rows = (rng.random(20) < 0.5).astype(float)
    alone = resampled_interval(range(20), rows)
    together = resampled_interval(np.repeat(np.arange(20), 50).tolist(), np.repeat(rows, 50))
    as_if_apart = resampled_interval(range(1000), np.repeat(rows, 50))
    assert alone is not None and together == pytest.approx(alone)
    assert as_if_apart is not None
    assert alone[1] - alone[0] > 5 * (as_if_apart[1] - as_if_apart[0])


def test_it_agrees_with_the_standard_error_of_a_mean() -> None:
    values = np.random.default_rng(2).normal(3.0, 2.0, size=400)
    error = values.std(ddof=1) / math.sqrt(400)
    interval = resampled_interval(range(400), values)
    expected = [values.mean() - 1.96 * error, values.mean() + 1.96 * error]
    assert interval == pytest.approx(expected, abs=0.2 * error)


def test_a_ratio_has_its_own_weights() -> None:
    weights = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    interval = resampled_interval("abcdef", [2 * weight for weight in weights], weights)
    assert interval == pytest.approx([2.0, 2.0])


def test_the_same_rows_always_give_the_same_interval() -> None:
    values = np.random.default_rng(3).random(30)
    assert resampled_interval(range(30), values) == resampled_interval(range(30), values)


def test_it_covers_the_score_on_all_data_there_could_be() -> None:
    """Groups differ, and so rows of a group are alike; 40 groups, as 1,000 rows."""
    rng, covered, draws = np.random.default_rng(4), 0, 200
    groups = np.repeat(np.arange(40), 25).tolist()
    for _ in range(draws):
        rates = np.repeat(rng.beta(2, 2, size=40), 25)
        interval = resampled_interval(groups, (rng.random(1000) < rates).astype(float))
        assert interval is not None
        covered += interval[0] <= 0.5 <= interval[1]
    assert 0.90 <= covered / draws <= 0.98


def test_few_groups_tell_nothing() -> None:
    assert resampled_interval("aabbccdd", [1.0] * 8) is None
    assert resampled_interval("abcdef", [0.0] * 6, [0.0] * 6) is None
