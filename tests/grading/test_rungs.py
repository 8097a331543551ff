"""How far up a run got: each rung's border, on one draw and on several."""

import random
import statistics
from collections.abc import Sequence

import pytest
from scipy.stats import t as student

from mlagentbench.grading.measurements import noise_above_floor
from mlagentbench.grading.rungs import (
    NO_ERROR,
    ONE_RUN,
    RUNGS,
    compare_with_rungs,
    mean_shares,
    mean_tolerance,
    reference_spread,
    reported_error,
    rung_of,
    rung_of_draws,
    rung_shares,
    share_of_draws,
    shown_shares,
    with_scale,
)
from mlagentbench.grading.success import from_scale, on_scale
from mlagentbench.records import BarComparison, GradeRecord, RebuiltDraw, Rung, Tier
from mlagentbench.tasks.spec import Measured, Metric, ReferenceMeasurements, StarterMeasurements

ACCURACY = Metric(name="accuracy", better="higher")
ERROR = Metric(name="mean absolute error", better="lower")
RATIO = Metric(name="time", better="lower", scale="log")


def measured(
    floor: float,
    bar: float,
    reference: float,
    ceiling: float | None = None,
    *,
    starter_std: float = 0.0,
    std: float = 0.0,
    runs: int = 8,
    data: str = "public",
) -> Measured:
    return Measured(
        data=data,
        trivial={},
        starter=StarterMeasurements(mean=floor, std=starter_std, runs=30),
        reference=ReferenceMeasurements(mean=reference, std=std, runs=runs),
        bar=bar,
        ceiling=ceiling,
    )


def climbed(
    metric: Metric,
    known: Measured | None,
    score: float | None,
    *,
    public: Measured | None = None,
    error: float | None = 0.001,
    tier: Tier = "mini",
) -> BarComparison:
    return compare_with_rungs(
        metric, known, score, public=public or known, score_error=error, tier=tier
    )


# floor 0.5, luck of the starter 0.0294 (k(30) = 2.94), bar 0.7, reference 0.9, tolerance 0.0201
# (t(0.95, 7) = 1.8946), two thirds of the way to the ceiling 0.96
HIGHER = measured(0.5, 0.7, 0.9, 0.99, starter_std=0.01, std=0.01)
LOWER = measured(100.0, 60.0, 20.0, 5.0, starter_std=1.0, std=1.0)
# on the log scale: tolerance 1.8946 * 0.1 * sqrt(1 + 1/8) = 0.2010, so up to 0.01 * e^0.2010;
# two thirds from 0.01 to 0.001: 0.01 * 10^(-2/3) = 0.002154
LOG = measured(1.0, 0.1, 0.01, 0.001, starter_std=0.05, std=0.001)


@pytest.mark.parametrize(
    ("metric", "known", "score", "rung"),
    [
        (ACCURACY, HIGHER, None, "invalid"),
        (ACCURACY, HIGHER, 0.1, "valid"),
        (ACCURACY, HIGHER, 0.5, "valid"),
        (ACCURACY, HIGHER, 0.529, "valid"),
        (ACCURACY, HIGHER, 0.530, "above the floor"),
        (ACCURACY, HIGHER, 0.6999, "above the floor"),
        (ACCURACY, HIGHER, 0.7, "success"),
        (ACCURACY, HIGHER, 0.8798, "success"),
        (ACCURACY, HIGHER, 0.8800, "matches the reference"),
        (ACCURACY, HIGHER, 0.9599, "matches the reference"),
        (ACCURACY, HIGHER, 0.96, "near the ceiling"),
        (ACCURACY, HIGHER, 1.0, "near the ceiling"),
        (ERROR, LOWER, None, "invalid"),
        (ERROR, LOWER, 100.0, "valid"),
        (ERROR, LOWER, 97.1, "valid"),
        (ERROR, LOWER, 97.0, "above the floor"),
        (ERROR, LOWER, 60.01, "above the floor"),
        (ERROR, LOWER, 60.0, "success"),
        (ERROR, LOWER, 22.02, "success"),
        (ERROR, LOWER, 22.0, "matches the reference"),
        (ERROR, LOWER, 10.01, "matches the reference"),
        (ERROR, LOWER, 10.0, "near the ceiling"),
        (RATIO, LOG, 1.0, "valid"),
        (RATIO, LOG, 0.87, "valid"),
        (RATIO, LOG, 0.86, "above the floor"),
        (RATIO, LOG, 0.1001, "above the floor"),
        (RATIO, LOG, 0.1, "success"),
        (RATIO, LOG, 0.01223, "success"),
        (RATIO, LOG, 0.01222, "matches the reference"),
        (RATIO, LOG, 0.00216, "matches the reference"),
        (RATIO, LOG, 0.00215, "near the ceiling"),
    ],
)
def test_every_border(metric: Metric, known: Measured, score: float | None, rung: Rung) -> None:
    assert climbed(metric, known, score, error=0.0001).rung == rung


def test_what_a_rung_depends_on_is_stored() -> None:
    found = climbed(ACCURACY, HIGHER, 0.8)
    assert found.ceiling == 0.99
    assert found.reference_tolerance == pytest.approx(student.ppf(0.95, 7) * 0.01 * 1.125**0.5)
    assert found.rung_note is None
    assert climbed(ACCURACY, HIGHER, None).ceiling == 0.99
    assert (
        GradeRecord.model_validate_json(
            GradeRecord(step=1, valid=True, score=0.8, **found.model_dump()).model_dump_json()
        ).rung
        == "success"
    )


@pytest.mark.parametrize("metric", [ACCURACY, ERROR, RATIO])
def test_the_solutions_equal_score_matches_if_it_is_deterministic(metric: Metric) -> None:
    better = metric.better == "higher"
    known = measured(*((0.2, 0.4, 0.7) if better else (0.7, 0.4, 0.2)))
    reference, worse = known.reference.mean, 1 - 1e-7 if better else 1 + 1e-7
    assert climbed(metric, known, reference).rung == "matches the reference"
    assert climbed(metric, known, reference * (1 + 1e-12)).rung == "matches the reference"
    assert climbed(metric, known, reference * (1 - 1e-12)).rung == "matches the reference"
    assert climbed(metric, known, reference * worse).rung == "success"
    assert climbed(metric, known, reference).reference_tolerance == 0.0


def test_the_smallest_gain_is_above_the_floor_of_a_deterministic_starter() -> None:
    known = measured(0.5, 0.7, 0.9)
    assert climbed(ACCURACY, known, 0.5).rung == "valid"
    assert climbed(ACCURACY, known, 0.5 + 1e-6).rung == "above the floor"


def test_without_a_standard_deviation_no_run_matches_the_reference() -> None:
    known = measured(0.5, 0.7, 0.9, 0.99, runs=1)
    found = climbed(ACCURACY, known, 0.95)
    assert found.rung == "success"
    assert found.reference_tolerance is None
    assert found.rung_note == f"matches the reference is not awarded: {ONE_RUN}"
    assert climbed(ACCURACY, known, 0.98).rung == "near the ceiling", "decided by itself"


def test_the_spread_is_that_of_the_public_draw() -> None:
    public = measured(0.5, 0.7, 0.9, std=0.02)
    other = measured(0.4, 0.6, 0.8, runs=1, data="another")
    spread = reference_spread(ACCURACY, other, public)
    assert spread is not None
    assert (spread.std, spread.degrees) == (0.02, 7)
    found = climbed(ACCURACY, other, 0.8, public=public)
    assert found.reference_tolerance == pytest.approx(student.ppf(0.95, 7) * 0.02 * 2**0.5)
    repeated = measured(0.4, 0.6, 0.8, std=0.5, runs=3, data="another")
    assert reference_spread(ACCURACY, repeated, public) == spread, "n runs of the public draw"
    assert reference_spread(ACCURACY, repeated, None) is not None, "a task without any"
    measured_here = measured(0.5, 0.7, 0.9, std=0.03, runs=5)
    here = reference_spread(ACCURACY, measured_here, public)
    assert here is not None
    assert (here.std, here.degrees) == (0.03, 4), "the public draw, measured on this machine"
    ratio = reference_spread(RATIO, measured(1.0, 0.5, 0.1, std=0.02), None)
    assert ratio is not None
    assert ratio.std == pytest.approx(0.2)


def test_a_match_has_to_be_a_success() -> None:
    known = measured(0.5, 0.88, 0.9, std=0.1)
    assert climbed(ACCURACY, known, 0.8).rung == "above the floor"


@pytest.mark.parametrize(
    ("ceiling", "error", "rung", "note"),
    [
        (None, 0.001, "matches the reference", None),
        (0.93, 0.009, "near the ceiling", None),
        (0.93, 0.011, "matches the reference", "at most 3 standard errors"),
        (0.93, None, "matches the reference", NO_ERROR),
        (0.89, 0.0, "matches the reference", "at most 3 standard errors"),
    ],
)
def test_a_ceiling_must_be_clear_of_the_reference(
    ceiling: float | None, error: float | None, rung: Rung, note: str | None
) -> None:
    found = climbed(ACCURACY, measured(0.5, 0.7, 0.9, ceiling), 0.925, error=error)
    assert found.rung == rung
    assert found.rung_note is None if note is None else note in (found.rung_note or "")


def test_on_a_log_scale_the_standard_error_is_relative() -> None:
    known = measured(1.0, 0.1, 0.01, 0.005)  # room: ln 2 = 0.693
    assert climbed(RATIO, known, 0.006, error=0.006 * 0.230).rung == "near the ceiling"
    assert climbed(RATIO, known, 0.006, error=0.006 * 0.232).rung == "matches the reference"


def test_without_measurements_only_validity_is_known() -> None:
    assert climbed(ACCURACY, None, 0.9).rung == "valid"
    assert climbed(ACCURACY, None, None).rung == "invalid"
    assert climbed(ACCURACY, None, 0.9).success is None


def test_a_score_without_a_place_on_the_scale_breaks_nothing() -> None:
    found = climbed(RATIO, LOG, 0.0)
    assert found.ceiling_share is None
    assert "no place" in (found.rung_note or "")


@pytest.mark.parametrize(
    ("metric", "known", "score", "share"),
    [
        (ACCURACY, HIGHER, 0.5, 0.0),
        (ACCURACY, HIGHER, 0.99, 1.0),
        (ACCURACY, HIGHER, 0.745, 0.5),
        (ACCURACY, HIGHER, 0.255, -0.5),
        (ERROR, LOWER, 52.5, 0.5),
        (RATIO, LOG, 0.01, 2 / 3),
        (RATIO, LOG, None, None),
        (ACCURACY, measured(0.5, 0.7, 0.9), 0.8, None),
    ],
)
def test_share_of_the_way_to_the_ceiling(
    metric: Metric, known: Measured, score: float | None, share: float | None
) -> None:
    found = climbed(metric, known, score).ceiling_share
    assert found is share is None or found == pytest.approx(share)
    assert climbed(metric, known, score, tier="full").ceiling_share is None


def test_each_rung_implies_those_below_it() -> None:
    scores = [at / 200 for at in range(201)]
    places = [RUNGS.index(climbed(ACCURACY, HIGHER, one).rung or "invalid") for one in scores]
    assert places == sorted(places)
    assert set(places) == {1, 2, 3, 4, 5}


def test_the_noise_is_that_of_the_floor() -> None:
    luck = noise_above_floor(ACCURACY, HIGHER)
    assert climbed(ACCURACY, HIGHER, 0.5 + luck).rung == "valid"
    assert climbed(ACCURACY, HIGHER, 0.5 + luck + 1e-6).rung == "above the floor"


# several draws


def draw(
    normalised: float | None,
    *,
    noise: float | None = 0.05,
    runs: int = 1,
    ceiling: float | None = 1.3,
    error: float | None = 0.01,
) -> RebuiltDraw:
    return RebuiltDraw(
        draw="100+1", data_hash="-", score=normalised, normalised=normalised, standard_error=error,
        floor=0.0, reference=1.0, noise=0.02, noise_degrees=31, starter_runs=3,
        reference_noise=noise, reference_degrees=7, reference_runs=runs, normalised_ceiling=ceiling,
    )  # fmt: skip


def test_tolerances_of_draws_are_combined() -> None:
    draws = [draw(1.0, noise=0.03), draw(1.0, noise=0.04, runs=2), draw(1.0, noise=0.0)]
    expected = student.ppf(0.95, 7) * (0.03**2 * 2 + 0.04**2 * 1.5) ** 0.5 / 3
    assert mean_tolerance(draws) == pytest.approx(expected)
    assert mean_tolerance([draw(1.0, noise=0.05)] * 4) == pytest.approx(
        student.ppf(0.95, 7) * 0.05 * 2**0.5 / 2
    ), "half of that of one draw"
    assert mean_tolerance([draw(1.0), draw(1.0, noise=None)]) is None
    assert mean_tolerance([draw(1.0, noise=0.0)]) == 0.0


LIMIT = 1 - student.ppf(0.95, 7) * 0.05 * 2**0.5 / 3**0.5


@pytest.mark.parametrize(
    ("mean", "success", "rung"),
    [
        (-0.3, False, "valid"),
        (0.05, False, "valid"),
        (0.0501, False, "above the floor"),
        (0.5, True, "success"),
        (LIMIT - 1e-6, True, "success"),
        (LIMIT, True, "matches the reference"),
        (1.1999, True, "matches the reference"),
        (1.2, True, "near the ceiling"),
        (1.2, False, "above the floor"),
    ],
)
def test_borders_of_a_mean_over_draws(mean: float, success: bool, rung: Rung) -> None:
    assert rung_of_draws([draw(mean)] * 3, mean, 0.05, success=success) == (rung, None)


def test_a_mean_over_draws_needs_a_clear_ceiling_on_all_of_them() -> None:
    def found(draws: Sequence[RebuiltDraw]) -> tuple[Rung, str | None]:
        return rung_of_draws(draws, 1.29, 0.05, success=True)

    assert found([draw(1.29), draw(1.29, ceiling=None)]) == ("matches the reference", None)
    rung, note = found([draw(1.29), draw(1.29, error=None)])
    assert (rung, note) == ("matches the reference", f"near the ceiling is not awarded: {NO_ERROR}")
    # the error of a mean of four draws is half of that of one
    assert found([draw(1.29, error=0.19)] * 4)[0] == "near the ceiling"
    assert found([draw(1.29, error=0.21)] * 4)[0] == "matches the reference"
    assert (
        found([draw(1.29, noise=None)] * 2)[1] == f"matches the reference is not awarded: {ONE_RUN}"
    )
    assert found([draw(1.4), draw(1.4), draw(None, error=None)])[0] == "near the ceiling"


def test_the_share_of_draws_is_the_mean_of_their_shares() -> None:
    draws = [draw(0.65), draw(1.0, ceiling=2.0)]
    assert share_of_draws(draws, [0.65, 1.0]) == pytest.approx(0.5)
    assert share_of_draws([draw(0.5), draw(0.5, ceiling=None)], [0.5, 0.5]) is None


@pytest.mark.parametrize(("metric", "known"), [(ERROR, LOWER), (RATIO, LOG)])
def test_a_draws_scale_is_in_normalised_scores(metric: Metric, known: Measured) -> None:
    found = with_scale(metric, draw(1.0), known, None)
    bottom, top = (on_scale(metric, one) for one in (known.starter.mean, known.reference.mean))
    assert found.normalised_ceiling is not None
    ceiling = from_scale(metric, bottom + found.normalised_ceiling * (top - bottom))
    assert ceiling == pytest.approx(known.ceiling)
    relative = 0.1 if metric is RATIO else 1.0
    assert found.reference_noise == pytest.approx(relative / (top - bottom))
    assert (found.reference_degrees, found.reference_runs) == (7, 8)


# older grades, reported errors, shares


def test_older_grades_have_what_is_known() -> None:
    def older(**known: object) -> GradeRecord:
        return GradeRecord.model_validate({"step": 1, "valid": True, **known})

    assert rung_of(older(valid=False)) == "invalid"
    assert rung_of(older(score=1.0)) == "valid"
    assert rung_of(older(score=1.0, success=False)) == "valid"
    assert rung_of(older(score=1.0, success=True)) == "success"


def test_the_graders_standard_error() -> None:
    assert reported_error({"standard_error": 0.25}) == 0.25
    assert reported_error({"standard_error": None}) is None
    assert reported_error({}) is None


def test_shares_add_up_to_1() -> None:
    rng = random.Random(5)
    for _ in range(50):
        clusters = [[rng.choice(RUNGS) for _ in range(rng.randint(1, 5))] for _ in range(7)]
        shares = rung_shares(clusters)
        assert tuple(shares) == RUNGS
        assert sum(shares.values()) == pytest.approx(1)
        assert sum(mean_shares([shares, {}, rung_shares([["valid"]])]).values()) == pytest.approx(1)
    assert rung_shares([]) == mean_shares([{}]) == {}


def test_runs_of_one_cluster_count_once() -> None:
    shares = rung_shares([["valid", "success"], ["success"]])
    assert dict(shown_shares(shares)) == {"success": 0.75, "valid": 0.25}
    assert [rung for rung, _ in shown_shares(shares)] == ["success", "valid"], "highest first"


# how often the solution matches itself


def repeated_share(n: int, m: int, *, fresh: int, trials: int = 4000) -> float:
    """How often new runs of a solution match its reference; `fresh` 0 is the public draw itself."""
    rng = random.Random(f"{n} {m} {fresh}")
    hits = 0
    for _ in range(trials):
        public_runs = [rng.gauss(0.8, 0.02) for _ in range(n)]
        public = measured(
            0.3, 0.55, statistics.fmean(public_runs), std=statistics.stdev(public_runs), runs=n
        )
        if not fresh:
            hits += climbed(ACCURACY, public, rng.gauss(0.8, 0.02)).rung == RUNGS[4]
            continue
        draws = []
        for _ in range(fresh):
            own = statistics.fmean(rng.gauss(0.7, 0.02) for _ in range(m))
            here = measured(0.3, 0.5, own, runs=m, data="another")
            worth = (rng.gauss(0.7, 0.02) - 0.3) / (own - 0.3)
            draws.append(with_scale(ACCURACY, draw(worth), here, public))
        mean = statistics.fmean(one.normalised or 0.0 for one in draws)
        hits += rung_of_draws(draws, mean, 0.05, success=True)[0] == RUNGS[4]
    return hits / trials


@pytest.mark.parametrize(
    ("n", "m", "fresh"), [(8, 8, 0), (3, 3, 0), (8, 1, 1), (8, 1, 3), (8, 2, 5), (3, 1, 3)]
)
def test_the_solution_matches_itself_in_95_percent(n: int, m: int, fresh: int) -> None:
    share = repeated_share(n, m, fresh=fresh)
    error = (0.95 * 0.05 / 4000) ** 0.5
    assert 0.95 - 3 * error <= share <= 0.97
