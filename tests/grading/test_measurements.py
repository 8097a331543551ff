"""From scores to a task's measured, and what about them is not as it should be."""

import math
import re
import statistics

import pytest

from mlagentbench.errors import RunFailed, UnusableDraw
from mlagentbench.grading.measurements import TimedScore, concerns, measurements_from
from mlagentbench.numeric.intervals import t_quantile
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


def test_a_draw_whose_bar_is_above_its_reference_is_refused() -> None:
    scores = [0.6 + 0.02 * (number % 3) for number in range(30)]
    public = measurements_from(ACCURACY, "-", {}, runs(*scores), runs(0.9), None)
    close = (runs(0.60, 0.62, 0.61), runs(0.615), None)
    with pytest.raises(UnusableDraw) as raised:
        measurements_from(ACCURACY, "-", {}, *close, public=public, draw="100~1")
    assert re.search(
        r"draw 100~1: floor 0\.61, bar 0\.66\d+, reference 0\.615: .* use another draw$",
        str(raised.value),
    )
    with pytest.raises(UnusableDraw, match="use another draw; or write the public draw's"):
        measurements_from(ACCURACY, "-", {}, *close, draw="100~1")
    wide = (runs(0.60, 0.62, 0.61), runs(0.9), None)
    assert measurements_from(ACCURACY, "-", {}, *wide, public=public, draw="100~1").bar < 0.8
    assert measurements_from(ACCURACY, "-", {}, *close).bar > 0.615, "authors are told by concerns"


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


def test_the_noise_of_a_draw_is_pooled_with_the_public_draws() -> None:
    scores = [0.5 + 0.01 * (number % 3) for number in range(30)]
    public = measurements_from(ACCURACY, "public", {}, runs(*scores), runs(0.9), None)
    own = [0.50, 0.54, 0.58]
    drawn = measurements_from(ACCURACY, "drawn", {}, runs(*own), runs(0.56), None, public=public)
    assert drawn.noise is not None and drawn.noise.pooled_with == "public"
    assert drawn.noise.degrees == 29 + 2
    variance = (29 * statistics.variance(scores) + 2 * statistics.variance(own)) / 31
    assert drawn.noise.std == pytest.approx(math.sqrt(variance))
    factor = t_quantile(31, 1 - 1 / 300) * math.sqrt(1 + 1 / 3)
    assert drawn.bar == pytest.approx(0.54 + factor * math.sqrt(variance))
    alone = measurements_from(ACCURACY, "drawn", {}, runs(*own), runs(0.56), None)
    assert alone.bar > drawn.bar, "three runs alone know little of the noise"


def test_pooled_noise_of_a_ratio_is_relative_and_none_stays_none() -> None:
    ratio = Metric(name="time", better="lower", scale="log")
    public = measurements_from(ratio, "public", {}, runs(1.0, 1.1, 0.9), runs(0.2), None)
    drawn = measurements_from(ratio, "drawn", {}, runs(2.0, 2.2), runs(0.3), None, public=public)
    own = statistics.variance([math.log(2.0), math.log(2.2)])
    assert drawn.noise is not None and drawn.noise.degrees == 3
    assert drawn.noise.std == pytest.approx(math.sqrt((2 * 0.1**2 + own) / 3))
    calm = measurements_from(ACCURACY, "public", {}, runs(0.5, 0.5, 0.5), runs(0.9), None)
    same = measurements_from(ACCURACY, "x", {}, runs(0.6, 0.6), runs(0.9), None, public=calm)
    assert same.noise is not None and same.noise.std == 0.0
    assert same.bar == pytest.approx(0.75)
