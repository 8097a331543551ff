"""Simulated suites of runs on several draws: what intervals cover, and false alarms of the test.

A score is the agent's mean on the task, plus what all agents share on a draw, plus what an agent
has on a draw for itself, plus the noise of the run. A success is a score of at least 0.5. Intervals
and test are those of the reports, beside naive ones that take all runs as independent.
"""

import math
import statistics
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mlagentbench.numeric.intervals import (
    Interval,
    stratified_mean_interval,
    stratified_rate_interval,
    stratum_of,
)
from mlagentbench.records import Record
from mlagentbench.statistics.cells import mean_of, rate_of
from mlagentbench.statistics.permutation import (
    SIGNIFICANT,
    TaskArms,
    mean_difference_interval,
    permutation_test,
    rate_difference_interval,
)

Array = NDArray[np.float64]
SEED = 20_260_101
AT_LEAST = 0.5
LEAST, MOST_ALARMS = 90.0, 8.0
"""Percent."""
SPREADS = (0.2, 0.1, 0.2)
"""Standard deviations: shared on a draw, of one agent on a draw, of one run."""
DESIGNS = ((1, 8, 1), (1, 8, 2), (13, 8, 1), (13, 4, 2), (13, 3, 1))
"""Tasks, draws a task, and runs an agent and draw."""


class Coverage(Record):
    """How often 95 % intervals contained the true value, or a test at 5 % gave a false alarm.

    In percent, with the standard error of the simulation.
    """

    tasks: int
    draws: int
    runs: int
    what: str
    percent: float
    error: float
    naive: float
    """If all runs were taken as independent of each other, and agents as unpaired."""
    suites: int

    @property
    def is_as_promised(self) -> bool:
        """Whether it is at most a few percent from what it should be, on the wrong side."""
        return self.percent <= MOST_ALARMS if "alarms" in self.what else self.percent >= LEAST


class _Counts:
    """Hits of both ways of computing, by what was computed."""

    def __init__(self) -> None:
        self.hits: dict[str, list[tuple[bool, bool]]] = {}

    def add(self, what: str, ours: bool | None, naive: bool | None) -> None:
        if ours is not None and naive is not None:
            self.hits.setdefault(what, []).append((ours, naive))

    def coverage(self, design: tuple[int, int, int]) -> list[Coverage]:
        tasks, draws, runs = design
        found = []
        for what, hits in self.hits.items():
            share, naive = (statistics.fmean(one[place] for one in hits) for place in (0, 1))
            found.append(
                Coverage(
                    tasks=tasks,
                    draws=draws,
                    runs=runs,
                    what=what,
                    percent=round(100 * share, 1),
                    error=round(100 * math.sqrt(share * (1 - share) / len(hits)), 1),
                    naive=round(100 * naive, 1),
                    suites=len(hits),
                )
            )
        return found


def simulated_coverage(suites: int) -> Iterator[Coverage]:
    """All designs, one after the other; the test is carried out on every second suite."""
    for number, design in enumerate(DESIGNS):
        rng = np.random.default_rng([SEED, number])
        counts = _Counts()
        for suite in range(suites):
            means = rng.uniform(0, 1, design[0])
            one, other = _scores(rng, design, means)
            _count_intervals(counts, one, other, means)
            if suite % 2 == 0:
                _count_alarms(counts, one, other)
        yield from counts.coverage(design)


def _scores(rng: np.random.Generator, design: tuple[int, int, int], means: Array) -> list[Array]:
    """Scores of two equally good agents: task, draw, run."""
    shared, own, noise = SPREADS
    tasks, draws, _ = design
    on_draw = means[:, None, None] + rng.normal(0, shared, (tasks, draws, 1))
    return [
        on_draw + rng.normal(0, own, (tasks, draws, 1)) + rng.normal(0, noise, design)
        for _ in range(2)
    ]


def _count_intervals(counts: _Counts, one: Array, other: Array, means: Array) -> None:
    spread = math.hypot(*SPREADS)
    rate = statistics.fmean(
        statistics.NormalDist(float(mean), spread).cdf(math.inf)
        - statistics.NormalDist(float(mean), spread).cdf(AT_LEAST)
        for mean in means
    )
    flags, other_flags = (np.where(array >= AT_LEAST, 1.0, 0.0) for array in (one, other))
    true_mean = float(means.mean())
    counts.add("mean score", _has(_mean(one), true_mean), _has(_mean(_as_runs(one)), true_mean))
    counts.add("success rate", _has(_rate(flags), rate), _has(_rate(_as_runs(flags)), rate))
    scores, naive_scores = _arms(one, other), _unpaired(one, other)
    counts.add(
        "difference of scores",
        _has(mean_difference_interval(scores), 0.0),
        _has(mean_difference_interval(naive_scores), 0.0),
    )
    counts.add(
        "difference of rates",
        _has(rate_difference_interval(_arms(flags, other_flags)), 0.0),
        _has(rate_difference_interval(_unpaired(flags, other_flags)), 0.0),
    )


def _count_alarms(counts: _Counts, one: Array, other: Array) -> None:
    flags = [np.where(array >= AT_LEAST, 1.0, 0.0) for array in (one, other)]
    for what, first, second in (("scores", one, other), ("rates", flags[0], flags[1])):
        ours, naive = (
            permutation_test(arms(first, second)).p <= SIGNIFICANT for arms in (_arms, _unpaired)
        )
        counts.add(f"false alarms, {what}", ours, naive)


def _as_runs(values: Array) -> Array:
    """Every run as if it had a draw for itself."""
    return values.reshape(len(values), -1, 1)


def _has(interval: Interval | None, value: float) -> bool | None:
    return None if interval is None else interval.low <= value <= interval.high


def _mean(values: Array) -> Interval | None:
    if len(values) == 1:
        return mean_of(values[0].tolist()).interval
    return stratified_mean_interval([stratum_of(draws) for draws in _draw_means(values)])


def _rate(flags: Array) -> Interval | None:
    if len(flags) == 1:
        return rate_of(flags[0].tolist()).interval
    return stratified_rate_interval([stratum_of(draws) for draws in _draw_means(flags)])


def _draw_means(values: Array) -> Sequence[list[float]]:
    means: list[list[float]] = values.mean(axis=2).tolist()
    return means


def _arms(one: Array, other: Array) -> list[TaskArms]:
    """Paired by draw."""
    pairs = zip(_draw_means(one), _draw_means(other), strict=True)
    return [TaskArms(first=tuple(a), second=tuple(b), shared=len(a)) for a, b in pairs]


def _unpaired(one: Array, other: Array) -> list[TaskArms]:
    pairs = zip(_draw_means(_as_runs(one)), _draw_means(_as_runs(other)), strict=True)
    return [TaskArms(first=tuple(a), second=tuple(b)) for a, b in pairs]
