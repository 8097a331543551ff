"""Which of the printed scores counts."""

import pytest

from mlagentbench.agents.best_submission import Candidate, read_validation, validation_metric
from mlagentbench.tasks.task import load_task, task_folders
from mlagentbench.tasks.validation_lines import Validation


@pytest.mark.parametrize(
    ("text", "metric", "value"),
    [
        ("validation MAE=3.5", "MAE", 3.5),
        ("validation MAE=4\nvalidation MAE=3\nbye", "MAE", 3.0),
        ("validation MAE=3\nvalidation RMSE=5", "MAE", 3.0),
        ("epoch 1: validation MAE=3", "MAE", 3.0),
        ("Validation mae = 1e-3 (before: 2)", "MAE", 0.001),
        ("validation bits  per byte=-.5, as before", "bits per byte", -0.5),
        ("validation accuracy=81.3%", "accuracy", 0.813),
        ("validation accuracy=nan", "accuracy", None),
        ("validation accuracy=0.5\nvalidation accuracy=1e999", "accuracy", 0.5),
        ("validation accuracy=", "accuracy", None),
        ("validation accuracy of fold 1=0.5", "accuracy", None),
        ("validation score=0.5", None, 0.5),
        ("", None, None),
    ],
)
def test_the_last_line_of_the_metric_counts(
    text: str, metric: str | None, value: float | None
) -> None:
    found = read_validation(text, metric)
    assert (None if found is None else found.value) == value


def test_every_task_says_which_metric_is_compared() -> None:
    metrics = {name: validation_metric(load_task(name)) for name in task_folders()}
    assert all(metrics.values())
    assert metrics["house-price"] == "MAE"
    assert metrics["babylm"] == "bits per byte"
    assert metrics["fathomnet"] == "MAP@20"
    assert metrics["vectorization"] == metrics["llama-inference"] == "seconds"


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ((None, 0.2, True), (None, 0.9, True)),
        ((True, 0.2, True), (None, 0.9, True)),
        ((None, 0.9, True), (True, 0.9, True)),
        ((None, None, True), (True, None, True)),
        ((False, 0.9, True), (True, 0.2, True)),
        ((False, 0.9, True), (None, 0.2, True)),
        ((None, 0.9, False), (None, 0.2, True)),
    ],
)
def test_the_best_score_counts_unless_it_cannot_be_made_again(
    worse: tuple[bool | None, float | None, bool], better: tuple[bool | None, float | None, bool]
) -> None:
    def candidate(made_again: bool | None, score: float | None, has_program: bool) -> Candidate:
        return Candidate.model_construct(
            validation=None if score is None else Validation(metric="accuracy", value=score),
            has_program=has_program,
            is_made_again=made_again,
        )

    metric = load_task("imdb").spec.metric
    assert candidate(*better).is_better(candidate(*worse), metric, or_equal=True)
    assert not candidate(*worse).is_better(candidate(*better), metric, or_equal=True)
