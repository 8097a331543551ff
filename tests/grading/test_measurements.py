"""From scores to a task's figures, and what about them is not as it should be."""

import pytest

from mlagentbench.errors import RunFailed
from mlagentbench.grading.measurements import TimedScore, concerns, measurements_from
from mlagentbench.tasks.spec import Metric

ACCURACY = Metric(name="accuracy", better="higher")


def runs(*scores: float, seconds: float = 1.0) -> list[TimedScore]:
    return [TimedScore(score=score, seconds=seconds, cpu_seconds=seconds) for score in scores]


def test_equal_scores_are_called_deterministic() -> None:
    figures = measurements_from(ACCURACY, "-", {}, runs(0.5, 0.5, 0.5), runs(0.9), None)
    assert figures.starter.deterministic and figures.starter.std == 0.0
    assert figures.bar == pytest.approx(0.7)
    assert concerns(ACCURACY, "mini", figures) == []


def test_a_solution_below_the_floor_is_refused() -> None:
    with pytest.raises(RunFailed, match=r"0\.6 is not better than the floor 0\.7"):
        measurements_from(ACCURACY, "-", {"rule": 0.7}, runs(0.5, 0.5), runs(0.6), None)


def test_concerns_name_what_is_wrong() -> None:
    figures = measurements_from(
        ACCURACY, "-", {}, runs(0.4, 0.6, seconds=11), runs(0.8, seconds=26), ceiling=0.7
    )
    noisy, high, slow_starter, slow_solution, beyond = concerns(ACCURACY, "mini", figures)
    assert "spread is 47% of the way" in noisy
    assert "puts the bar at" in high
    assert "starter takes 11.0 s" in slow_starter and "solution takes 26.0 s" in slow_solution
    assert "reference 0.8 is better than the ceiling 0.7" in beyond
    assert len(concerns(ACCURACY, "full", figures)) == 3
