"""Inspect's metrics of a task are the figures of our own tables, digit by digit."""

import math
from collections.abc import Callable
from typing import cast

import pytest
from inspect_ai.scorer import Metric, SampleScore, Score
from made_runs import graded, run

from mlagentbench.launch.inspect_metrics import (
    mean,
    stderr,
    success_high,
    success_low,
    success_rate,
)
from mlagentbench.statistics.cells import CellStatistics, cell_statistics

NORMALISED = [0.31, 0.77, None, 0.123456789, 1.1, 0.5, 0.69]


def cell(normalised: list[float | None]) -> CellStatistics:
    [found] = cell_statistics([run(n, graded(one)) for n, one in enumerate(normalised, start=1)])
    return found


def scores(values: list[float]) -> list[SampleScore]:
    return [SampleScore(score=Score(value=value)) for value in values]


def value(metric: Metric, values: list[SampleScore]) -> float:
    measure = cast(Callable[[list[SampleScore]], float], metric)
    return measure(values)


def test_means_and_rates_agree_with_the_cells() -> None:
    statistics = cell(NORMALISED)
    grades = [graded(one) for one in NORMALISED]
    normalised = scores([grade.normalised or 0.0 for grade in grades])
    assert value(mean(), normalised) == statistics.normalised.mean
    assert value(stderr(), normalised) == statistics.normalised.standard_error
    # Inspect leaves out what is NaN, so that a score is there for valid submissions only.
    valid = scores([grade.score for grade in reversed(grades) if grade.score is not None])
    assert value(mean(), valid) == statistics.score.mean
    assert value(stderr(), valid) == statistics.score.standard_error
    reached = scores([float(bool(grade.success)) for grade in grades])
    assert value(success_rate(), reached) == statistics.success.rate
    assert value(success_low(), reached) == statistics.success.interval.low
    assert value(success_high(), reached) == statistics.success.interval.high


@pytest.mark.parametrize("metric", [mean, stderr, success_rate, success_low, success_high])
def test_without_runs_nothing_is_known(metric: Callable[[], Metric]) -> None:
    assert math.isnan(value(metric(), []))


def test_one_run_has_no_standard_error() -> None:
    assert math.isnan(value(stderr(), scores([0.5])))
    assert cell([0.5]).normalised.standard_error is None
