"""Which printed lines are validation scores, in the many ways in which programs print them."""

import time

import pytest

from mlagentbench.tasks.validation_lines import read_validations


@pytest.mark.parametrize(
    ("text", "metric", "value"),
    [
        ("epochs 23 validation accuracy=0.9060 [0.89, 0.92]", "accuracy", 0.906),
        ("[2 s] epoch 1: validation MAE=3", "MAE", 3.0),
        ("Validation accuracy: 0.9", "accuracy", 0.9),
        ("validation accuracy=90.6%", "accuracy", 0.906),
        ("validation macro F1: 90 %", "macro F1", 0.9),
        ("validation MAP@20=12.5%", "MAP@20", 0.125),
        ("validation SMAPE=103.2%", "SMAPE", 103.2),
        ("validation accuracy=0.9060±0.01", "accuracy", 0.906),
        ("validation accuracy=0.9060+/-0.01", "accuracy", 0.906),
        ("validation accuracy=0.9060 ± 0.01", "accuracy", 0.906),
        ("The validation accuracy = 0.9.", "accuracy", 0.9),
        ("validation MAE=52,151.9", "MAE", 52151.9),
        ("validation MAE=52, as before", "MAE", 52.0),
        ("validation bits per byte=-.5e-1", "bits per byte", -0.05),
    ],
)
def test_a_score_is_read(text: str, metric: str, value: float) -> None:
    [found] = read_validations(text)
    assert found.metric == metric
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "cross-validation accuracy=0.9",
        "my_validation accuracy=0.9",
        "validation accuracy: 90/100",
        "validation finished at: 10:23",
        "validation version=1.2.3",
        "validation accuracy=0.9x",
        "validation accuracy=nan",
        "validation accuracy=1e999",
        "validation accuracy\n=0.9",
        "validation =0.9",
    ],
)
def test_what_is_no_score_is_not_read(text: str) -> None:
    assert list(read_validations(text)) == []


def test_two_scores_of_one_line_are_two() -> None:
    text = "after validation on 100 rows: validation loss: 0.3, validation accuracy: 90%"
    assert [(one.metric, one.value) for one in read_validations(text)] == [
        ("loss", 0.3),
        ("accuracy", 0.9),
    ]


HOSTILE = {
    "spaces": "validation" + " " * 2_000_000,
    "a number": "validation a=" + "1" * 2_000_000 + "x",
    "thousands": "validation a=" + "1,111" * 400_000 + "x",
    "an exponent": "validation a=1e" + "1" * 2_000_000 + "x",
    "words": "validation " * 200_000,
    "names": "validation " + "a " * 1_000_000,
    "signs": "validation a=" * 150_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_output_is_read_in_linear_time(kind: str) -> None:
    started = time.perf_counter()
    list(read_validations(HOSTILE[kind]))
    assert time.perf_counter() - started < 10
