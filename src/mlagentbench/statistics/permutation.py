"""Statistical comparison of two agents: a permutation test, the difference's interval, and power.

If two agents were equally good, it would be chance which of a task's runs belongs to whom. So the
runs of each task are reassigned to the agents, in all possible ways or in many random ones, and the
observed difference is compared with the differences that result. Results on the same draw, or from
the same history, are exchanged as a pair: what they share is no difference between the agents.
"""

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from mlagentbench.numeric.intervals import (
    Interval,
    Spread,
    Stratum,
    combined_spread,
    stratified_rate_interval,
    stratum_of,
    t_quantile,
)
from mlagentbench.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SIGNIFICANT = 0.05
POWER = 0.80
EXACT = 20_000
"""Up to this many permutations, all of them are evaluated."""
DRAWS = 9_999
SEED = 20_240_519
ROUNDING = 1e-9
PRIOR_PAIRS = 4
"""Uncorrelated pairs that the correlation of few is estimated with."""


class TaskArms(Record):
    """The runs of two agents on one task: one value for each draw or history of an agent.

    The values of those that both agents have runs from come first in both, in the same order;
    `shared` is their number. They are only swapped as a pair.
    """

    first: tuple[float, ...]
    second: tuple[float, ...]
    shared: int = 0

    @property
    def difference(self) -> float:
        return statistics.fmean(self.first) - statistics.fmean(self.second)

    @property
    def differences(self) -> tuple[float, ...] | None:
        """The difference of each pair; None unless all values are paired."""
        if not self.shared == len(self.first) == len(self.second):
            return None
        return tuple(a - b for a, b in zip(self.first, self.second, strict=True))


class PermutationTest(Record):
    """The mean difference over tasks, and how often chance alone yields one as large."""

    difference: float
    p: float
    task_p: tuple[float, ...]
    """For each task alone; not corrected for their number."""


def permutation_test(tasks: Sequence[TaskArms]) -> PermutationTest:
    """Two-sided test that both agents do equally well on every task.

    Exact for at most 20,000 permutations; otherwise from 9,999 random ones with a fixed seed, plus
    the observed one.
    """
    import numpy as np

    rng = np.random.default_rng(SEED)
    permuted = [_permuted_differences(task, rng) for task in tasks]
    seen = [task.difference for task in tasks]
    difference = statistics.fmean(seen)
    together = _mean_over_tasks(permuted, rng)
    return PermutationTest(
        difference=difference,
        p=_share_beyond(together, difference, exact=_permutations(tasks) <= EXACT),
        task_p=tuple(
            _share_beyond(ways, one, exact=_permutations([task]) <= EXACT)
            for ways, one, task in zip(permuted, seen, tasks, strict=True)
        ),
    )


def _share_beyond(differences: "Array", seen: float, *, exact: bool) -> float:
    import numpy as np

    beyond = int(np.count_nonzero(np.abs(differences) >= abs(seen) - ROUNDING))
    return beyond / len(differences) if exact else (beyond + 1) / (len(differences) + 1)


def _mean_over_tasks(permuted: Sequence["Array"], rng: "np.random.Generator") -> "Array":
    """The mean over tasks of permuted differences, in all combinations or in random ones."""
    import numpy as np

    if math.prod(map(len, permuted)) <= EXACT:
        total = np.zeros(1)
        for one in permuted:
            total = np.add.outer(total, one).ravel()
    else:
        total = np.zeros(DRAWS)
        for one in permuted:
            total += one[rng.integers(len(one), size=DRAWS)]
    return total / len(permuted)


def _permuted_differences(task: TaskArms, rng: "np.random.Generator") -> "Array":
    """The differences on one task in all permutations of its runs, or in random ones."""
    import numpy as np

    first, second = np.array(task.first), np.array(task.second)
    own = len(first) - task.shared
    free = np.concatenate([first[task.shared :], second[task.shared :]])
    pairs = np.stack([first[: task.shared], second[: task.shared]])
    if _permutations([task]) <= EXACT:
        mine = free[_choices(len(free), own)].sum(axis=1)
        swaps = _swaps(task.shared)
        mine, swaps = np.repeat(mine, len(swaps)), np.tile(swaps, (len(mine), 1))
    else:
        mine = _random_sums(free, own, rng)
        swaps = rng.random((DRAWS, task.shared)) < 0.5
    kept, swapped = np.where(swaps, pairs[1], pairs[0]), np.where(swaps, pairs[0], pairs[1])
    firsts = mine + kept.sum(axis=1)
    seconds = free.sum() - mine + swapped.sum(axis=1)
    return np.asarray(firsts / len(first) - seconds / len(second), dtype=float)


@lru_cache(maxsize=64)
def _choices(n: int, k: int) -> "NDArray[np.int64]":
    """All ways to choose k of n places, one per row."""
    import numpy as np

    return np.array(list(combinations(range(n), k)), dtype=np.int64).reshape(math.comb(n, k), k)


def _random_sums(free: "Array", own: int, rng: "np.random.Generator") -> "Array":
    """The sums of `own` randomly chosen values."""
    import numpy as np

    ones = int(np.count_nonzero(free == 1))
    if ones + np.count_nonzero(free == 0) == len(free):
        return rng.hypergeometric(ones, len(free) - ones, own, size=DRAWS).astype(float)
    fewer = min(own, len(free) - own)
    sums = free[_random_choices(len(free), fewer)].sum(axis=1)
    return np.asarray(sums if fewer == own else free.sum() - sums, dtype=float)


@lru_cache(maxsize=16)
def _random_choices(n: int, k: int) -> "NDArray[np.int32]":
    """Random ways to choose k of n places, one per row; the same for all tasks with n runs.

    `_mean_over_tasks` takes them in another order for each task, so tasks stay independent.
    """
    import numpy as np

    rng = np.random.default_rng([SEED, n, k])
    places = np.broadcast_to(np.arange(n, dtype=np.int32), (DRAWS, n))
    return np.ascontiguousarray(rng.permuted(places, axis=1)[:, :k])


@lru_cache(maxsize=64)
def _swaps(n: int) -> "NDArray[np.bool_]":
    """All ways to swap or not to swap n pairs, one per row."""
    import numpy as np

    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)


def _permutations(tasks: Sequence[TaskArms]) -> int:
    return math.prod(
        math.comb(
            len(task.first) + len(task.second) - 2 * task.shared, len(task.first) - task.shared
        )
        * 2**task.shared
        for task in tasks
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for multiple comparisons."""
    adjusted, least = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = least
    return adjusted


def rate_difference_interval(tasks: Sequence[TaskArms]) -> Interval:
    """Newcombe's interval of a difference of rates, from the two agents' stratified intervals.

    For paired values it takes their correlation into account, as Newcombe's method 10 does.
    """
    first, second = _strata(tasks)
    one, other = stratified_rate_interval(first), stratified_rate_interval(second)
    a = statistics.fmean(stratum.mean for stratum in first)
    b = statistics.fmean(stratum.mean for stratum in second)
    shared = 2 * _correlation(tasks)

    def half(ours: float, theirs: float) -> float:
        return math.sqrt(max(0.0, ours**2 + theirs**2 - shared * ours * theirs))

    return Interval(
        low=a - b - half(a - one.low, other.high - b),
        high=a - b + half(one.high - a, b - other.low),
    )


def _correlation(tasks: Sequence[TaskArms]) -> float:
    """The correlation of paired values within tasks, with PRIOR_PAIRS pairs added that have none.

    Only paired values add to it; all tasks add to the variances that it is a share of.
    """
    together, pairs = 0.0, 0
    for task in tasks:
        if task.differences is not None and task.shared > 1:
            together += statistics.covariance(task.first, task.second) / task.shared
            pairs += task.shared - 1
    first, second = _strata(tasks)
    apart = math.sqrt(_error(first) * _error(second))
    return 0.0 if apart == 0 else together / apart * pairs / (pairs + PRIOR_PAIRS)


def _error(strata: Sequence[Stratum]) -> float:
    """The squared standard error of a sum of means, as far as it is known."""
    return sum(one.variance / one.n for one in strata if one.variance is not None)


def mean_difference_interval(tasks: Sequence[TaskArms]) -> Interval | None:
    """Welch's interval of a difference of means; None if the spread is unknown.

    Where all values of a task are paired, the spread is that of the differences.
    """
    spread = _spread(tasks)
    if spread is None:
        return None
    difference = statistics.fmean(task.difference for task in tasks)
    half = t_quantile(spread.degrees) * spread.error
    return Interval(low=difference - half, high=difference + half)


def _spread(tasks: Sequence[TaskArms]) -> Spread | None:
    strata: list[Stratum] = []
    for task in tasks:
        differences = task.differences
        arms = [task.first, task.second] if differences is None else [differences]
        strata += map(stratum_of, arms)
    return combined_spread(strata, weight=1 / len(tasks))


def _strata(tasks: Sequence[TaskArms]) -> tuple[list[Stratum], list[Stratum]]:
    return ([stratum_of(task.first) for task in tasks], [stratum_of(task.second) for task in tasks])


def detectable_rate_difference(tasks: Sequence[TaskArms]) -> float | None:
    """The true difference of rates that is significant in 80 % of the cases.

    For rates around one half on every task, where chance matters most. None when no difference is
    large enough. Differences of rates come in steps; on average half a step is lost.
    """
    per_run = sum(1 / len(task.first) + 1 / len(task.second) for task in tasks)
    error = math.sqrt(per_run) / 2 / len(tasks)
    half_step = per_run / len(tasks) / 2 / len(tasks)
    noise = half_step + t_quantile(math.inf) * error
    reserve = t_quantile(math.inf, POWER) * error
    if _smallest_p(tasks) > SIGNIFICANT or noise >= 1:
        return None
    # difference = noise + reserve * sqrt(1 - difference²): rates away from one half vary less.
    return (noise + reserve * math.sqrt(1 + reserve**2 - noise**2)) / (1 + reserve**2)


def detectable_mean_difference(tasks: Sequence[TaskArms]) -> float | None:
    """The true difference of means that is significant in 80 % of the cases.

    For the observed spread of runs within tasks. None if that is unknown, or if there are too few
    runs for any difference.
    """
    spread = _spread(tasks)
    if spread is None or _smallest_p(tasks) > SIGNIFICANT:
        return None
    quantiles = t_quantile(spread.degrees) + t_quantile(spread.degrees, POWER)
    return quantiles * spread.error


def _smallest_p(tasks: Sequence[TaskArms]) -> float:
    """The p value of the largest possible difference; with equal arms it has a mirror image."""
    mirrored = all(len(task.first) == len(task.second) for task in tasks)
    return min(1.0, (2 if mirrored else 1) / _permutations(tasks))
