"""The checks that compare fresh scores with the recorded figures."""

from pathlib import Path
from typing import Any

import pytest

from mlagentbench.grading.grade import Scored
from mlagentbench.task_checks import verdicts
from mlagentbench.task_checks.leak_probe import ProbeResult, ProbeTest, verdict
from mlagentbench.task_checks.verdicts import CheckResult
from mlagentbench.tasks.spec import Measured, Metric, ReferenceMeasurements, StarterMeasurements
from mlagentbench.tasks.task import Task, load_task


def task_of(kind: str, metric: Metric, folder: Path) -> Task:
    """A task of the suite with another metric, whose starter is in `folder`."""
    spec = load_task("house-price").spec.model_copy(update={"kind": kind, "metric": metric})
    (folder / "starter").mkdir(exist_ok=True)
    return Task(folder, spec)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return task_of("predictions", Metric(name="accuracy", better="higher"), tmp_path)


@pytest.fixture
def timed(tmp_path: Path) -> Task:
    return task_of("timed", Metric(name="ratio", better="lower", scale="log"), tmp_path)


def figures(std: float = 0.01, bar: float = 0.7, **other: Any) -> Measured:
    starter = StarterMeasurements(mean=0.6, std=std, runs=30, deterministic=std == 0)
    return Measured(
        data="-",
        trivial={"majority": 0.5},
        starter=starter,
        reference=ReferenceMeasurements(mean=0.8, std=0.01, runs=8),
        bar=bar,
        **other,
    )


TIMES = Measured(
    data="-",
    trivial={},
    starter=StarterMeasurements(mean=1.0, std=0.01, runs=30),
    reference=ReferenceMeasurements(mean=0.04, std=0.001, runs=8),
    bar=0.2,
)


def scored(score: float | None, reason: str | None = None, **extra: Any) -> Scored:
    return Scored(score=score, reason=reason, extra=extra)


def test_missing_figures_are_a_finding_and_others_wait_for_them(task: Task) -> None:
    recorded = verdicts.measurements_are_recorded(task, "mini", None)
    assert recorded.ok is False and f"mlagentbench tasks measure {task.folder}" in recorded.detail
    shipped = verdicts.measurements_are_recorded(load_task("house-price"), "mini", None)
    assert "mlagentbench tasks measure house-price --tier mini" in shipped.detail
    waiting = [
        verdicts.starter_reproduces(task, None, scored(0.6)),
        verdicts.solution_has_room(task, None, scored(0.8)),
        verdicts.bar_above_noise(task, None),
    ]
    assert all(result.ok is None and "not applicable" in result.detail for result in waiting)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("std", "score", "ok"),
    [(0.01, 0.62, True), (0.01, 0.57, False), (0.0, 0.6, True), (0.0, 0.60001, False)],
)
def test_starter_reproduces_its_score(task: Task, std: float, score: float, ok: bool) -> None:
    assert verdicts.starter_reproduces(task, figures(std), scored(score)).ok is ok


def test_a_starter_without_a_score_reproduces_nothing(task: Task) -> None:
    result = verdicts.starter_reproduces(task, figures(), scored(None, "column y is missing"))
    assert result.ok is False and "column y is missing" in result.detail


def test_a_measured_time_may_be_off_by_as_much_as_its_control(timed: Task) -> None:
    assert verdicts.starter_reproduces(timed, TIMES, scored(1.049)).ok
    assert verdicts.starter_reproduces(timed, TIMES, scored(1.06)).ok is False


@pytest.mark.parametrize(("score", "ok"), [(0.8, True), (0.73, True), (0.71, False), (0.5, False)])
def test_solution_needs_room_beyond_the_bar(task: Task, score: float, ok: bool) -> None:
    assert verdicts.solution_has_room(task, figures(), scored(score)).ok is ok


def test_solution_better_than_possible_is_a_finding(task: Task) -> None:
    result = verdicts.solution_has_room(task, figures(ceiling=0.75), scored(0.8))
    assert result.ok is False and "better than the ceiling" in result.detail


def test_doing_nothing_gives_no_score_and_a_reason(task: Task) -> None:
    missing = scored(None, "submission.csv not found")
    assert verdicts.nothing_is_no_success(task, figures(), missing).ok
    assert verdicts.nothing_is_no_success(task, figures(), scored(None)).ok is False
    assert verdicts.nothing_is_no_success(task, figures(), scored(0.1)).ok is False


def test_a_starter_that_is_a_submission_stays_below_the_bar(task: Task) -> None:
    (task.starter / "submission.csv").write_text("")
    assert verdicts.nothing_is_no_success(task, figures(), scored(0.69)).ok
    assert verdicts.nothing_is_no_success(task, figures(), scored(0.7)).ok is False


def test_grading_twice(task: Task, timed: Task) -> None:
    assert verdicts.same_when_graded_again(task, scored(0.7), scored(0.7)).ok
    assert verdicts.same_when_graded_again(task, scored(0.7), scored(0.7001)).ok is False
    assert verdicts.same_when_graded_again(task, scored(0.7), scored(None, "?")).ok is False


def test_a_time_graded_twice_may_differ_by_its_spread(timed: Task) -> None:
    first = scored(0.1, ratio_quartiles=[0.098, 0.102])
    assert verdicts.same_when_graded_again(timed, first, scored(0.108)).ok
    assert verdicts.same_when_graded_again(timed, first, scored(0.11)).ok is False


def test_bar_below_the_noise(task: Task, timed: Task) -> None:
    assert verdicts.bar_above_noise(task, figures(std=0.01, bar=0.7)).ok
    assert verdicts.bar_above_noise(task, figures(std=0.05, bar=0.7)).ok is False
    assert verdicts.bar_above_noise(task, figures(std=0.05, bar=0.75)).ok
    assert verdicts.bar_above_noise(task, figures(std=0.0, bar=0.69)).ok is False
    assert verdicts.bar_above_noise(timed, TIMES).ok
    assert verdicts.bar_above_noise(timed, TIMES.model_copy(update={"bar": 0.21})).ok is False


@pytest.mark.parametrize(
    ("better", "chance", "ok"),
    [("higher", 0.52, True), ("higher", 0.3, False), ("lower", 0.5, True), ("lower", 0.9, False)],
)
def test_shuffled_predictions(better: Any, chance: float, ok: bool) -> None:
    metric = Metric(name="m", better=better)
    shuffles = [0.5, 0.51, 0.49, 0.5, 0.5]
    assert verdicts.shuffled_like_chance(metric, chance, "best constant", shuffles).ok is ok


def probed(*gains: tuple[float, float]) -> CheckResult:
    tests = tuple(
        ProbeTest(target="y", model="m", sight="id", gain=gain, standard_error=error)
        for gain, error in gains
    )
    return verdict(ProbeResult(rows=100, features={"id": 3}, tests=tests))


def test_the_probe_may_be_lucky_but_not_by_more_than_3_standard_errors() -> None:
    assert probed((0.029, 0.01), (-0.2, 0.01)).ok
    assert probed((-0.2, 0.01), (0.031, 0.01)).ok is False
    assert probed((0.5, 0.0)).ok is False
    assert probed((0.0, 0.0)).ok
    assert probed().ok is None


HIGHER = Metric(name="F1", better="higher")


@pytest.mark.parametrize(
    ("scores", "solution", "ok"),
    [
        ({"bm25": 0.34, "titles": None}, 0.5, True),
        ({"bm25": 0.1, "titles": 0.36}, 0.5, False),
        ({"bm25": None}, 0.5, False),
        ({"bm25": 0.1}, None, False),
    ],
)
def test_search_without_a_model(
    scores: dict[str, float | None], solution: float | None, ok: bool
) -> None:
    trivial = {name: Scored(score=score) for name, score in scores.items()}
    assert verdicts.trivial_is_far(HIGHER, trivial, Scored(score=solution)).ok is ok


@pytest.mark.parametrize(
    ("constant", "ok"), [(0.44, True), (0.46, False), (0.6, False), (None, True)]
)
def test_a_solution_that_does_without_its_model(constant: float | None, ok: bool) -> None:
    result = verdicts.solution_needs_its_model(HIGHER, Scored(score=0.5), Scored(score=constant))
    assert result.ok is ok


def test_a_solution_without_a_score_does_not_show_that_it_needs_its_model() -> None:
    failed = Scored(reason="it failed")
    assert verdicts.solution_needs_its_model(HIGHER, failed, failed).ok is False
