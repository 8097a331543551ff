"""Submissions that cannot be graded, regressions, and the figures around them."""

from typing import Any

import pytest
from told_runs import Run

from mlagentbench.analysis.detectors.milestones import is_same_metric
from mlagentbench.analysis.detectors.submissions import submission_form
from mlagentbench.records import GradeRecord


def grade(
    step: int, score: float | None, normalised: float | None = None, **rest: Any
) -> GradeRecord:
    return GradeRecord.model_validate(
        {"step": step, "valid": score is not None, "score": score, "normalised": normalised, **rest}
    )


@pytest.mark.parametrize(
    ("reason", "form"),
    [
        ("submission.csv not found", "missing"),
        ("no submission: submission.csv not found", "missing"),
        ("row ids differ: 3 missing, first: 7", "rows"),
        ("row ids repeat: 1 too many, first: 7", "rows"),
        ("submission.csv has the columns a, b; expected Id, SalePrice", "columns"),
        ("SalePrice, row 3: 'x' is not a number", "values"),
        ("node 3: label '99' is no whole number from 0 to 39", "values"),
        ("`python tool.py` failed on the hidden inputs: exit status 1\nTraceback", "program"),
        ("convolution.py is not valid Python: invalid syntax", "program"),
        ("submission.csv is larger than 1,000 bytes", "other"),
    ],
)
def test_faults_of_a_submission_by_their_reason(reason: str, form: str) -> None:
    assert submission_form(reason) == form
    text = f"submission.csv is not a valid submission: {reason}"
    run = Run().do("Validate Submission", text, status="error").finish()
    found = run.found("submission-format", grade(2, None, reason=reason))
    assert [(one.steps, one.form) for one in found] == [((1,), form), ((2,), form)]


def test_a_valid_submission_has_no_fault_and_a_first_valid_step() -> None:
    run = (
        Run().execute().do("Validate Submission", "submission.csv is a valid submission.").finish()
    )
    report = run.report(grade(3, 1.0))
    assert [one for one in report.findings if one.kind == "submission-format"] == []
    assert report.first_valid is not None
    assert (report.first_valid.step, report.first_valid.seconds) == (2, 20.0)


def test_a_submission_that_is_worse_than_an_earlier_step_is_a_regression() -> None:
    run = Run().execute().execute().finish()
    grades = (grade(1, 10.0, 0.8), grade(2, 30.0, 0.2), grade(3, 20.0, 0.5))
    [found] = run.found("regression", *grades)
    assert found.steps == (1, 3)
    report = run.report(*grades)
    assert report.regression == pytest.approx(0.3)
    assert report.best is not None
    assert report.best.step == 1


def test_small_losses_and_single_grades_are_none() -> None:
    run = Run().execute().execute().finish()
    assert run.found("regression", grade(1, 10.0, 0.54), grade(3, 11.0, 0.5)) == []
    assert run.report(grade(3, 11.0, 0.5)).best is None
    assert run.report(grade(3, 11.0, 0.5)).regression is None


def test_the_newest_grade_of_a_step_counts() -> None:
    run = Run().execute().finish()
    old, new = grade(1, 1.0, 0.9), grade(1, 19.0, 0.51)
    assert run.found("regression", old, new, grade(2, 20.0, 0.5)) == []


def test_the_validation_gap_is_in_the_metrics_unit_and_only_of_the_same_metric() -> None:
    run = Run().execute(observed="epoch 1\nvalidation MAE=12.5\n").finish()
    report = run.report(grade(2, 15.0))
    assert report.validation_score == 12.5
    assert report.validation_gap == pytest.approx(2.5)
    run = Run(facts={"metric": "accuracy", "better": "higher"})
    run.execute(observed="validation accuracy=0.9").execute(observed="validation loss=0.1").finish()
    assert run.report(grade(3, 0.8)).validation_gap == pytest.approx(0.1)
    run = Run().do("Read File", "validation MAE=12.5", file_name="log.txt").finish()
    assert run.report(grade(2, 15.0)).validation_score is None


@pytest.mark.parametrize(
    ("printed", "metric", "same"),
    [
        ("MAE", "mean absolute error", True),
        ("MCRMSE", "mean columnwise root mean squared error", True),
        ("accuracy", "Floyd-Warshall predecessor accuracy", True),
        ("SMAPE", "SMAPE of the rating plus one", True),
        ("MAP@20", "MAP@20", True),
        ("max_error", "time as a ratio to the starter's", False),
        ("loss", "accuracy", False),
    ],
)
def test_short_names_of_metrics(printed: str, metric: str, same: bool) -> None:
    assert is_same_metric(printed, metric) is same


def test_the_budget_that_was_left() -> None:
    run = Run().execute().finish()
    assert run.report().budget_unused["steps"] == pytest.approx(48 / 50)
    assert set(run.report().budget_unused) == {"steps", "time"}
