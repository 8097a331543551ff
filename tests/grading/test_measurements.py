"""From scores to a task's measured, and what about them is not as it should be."""

import pytest

from mlagentbench.errors import RunFailed
from mlagentbench.grading.measurements import TimedScore, concerns, measurements_from
from mlagentbench.tasks.spec import Metric

ACCURACY = Metric(name="accuracy", better="higher")


def runs(*scores: float, seconds: float = 1.0) -> list[TimedScore]:
    return [TimedScore(score=score, seconds=seconds, cpu_seconds=seconds) for score in scores]


def test_equal_scores_are_called_deterministic() -> None:
    measured = measurements_from(ACCURACY, "-", {}, runs(0.5, 0.5, 0.5), runs(0.9), None)
    assert measured.starter.deterministic and measured.starter.std == 0.0
    assert measured.bar == pytest.approx(0.7)
    assert concerns(ACCURACY, "mini", measured) == []


def test_a_solution_below_the_floor_is_refused() -> None:
    with pytest.raises(RunFailed, match=r"0\.6 is not better than the floor 0\.7"):
        measurements_from(ACCURACY, "-", {"rule": 0.7}, runs(0.5, 0.5), runs(0.6), None)


def test_concerns_name_what_is_wrong() -> None:
    measured = measurements_from(
        ACCURACY, "-", {}, runs(0.4, 0.6, seconds=11), runs(0.8, seconds=26), ceiling=0.7
    )
    noisy, high, slow_starter, slow_solution, beyond = concerns(ACCURACY, "mini", measured)
    assert "standard deviation is 47 % of the distance" in noisy
    assert "puts the bar at" in high
    assert "starter takes 11.0 s" in slow_starter and "solution takes 26.0 s" in slow_solution
    assert "reference 0.8 is better than the ceiling 0.7" in beyond
    assert len(concerns(ACCURACY, "full", measured)) == 3
