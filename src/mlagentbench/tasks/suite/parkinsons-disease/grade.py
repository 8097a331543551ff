"""Symmetric mean absolute percentage error (SMAPE) of the ratings plus one, in percent."""

import math
from collections import defaultdict
from pathlib import Path

from mlagentbench_intervals import resampled_interval
from mlagentbench_task import Grade, InvalidSubmission, finite_numbers, read_table, rows_in_order

ID, RATING, PATIENT = "prediction_id", "rating", "patient_id"
LARGEST_RATING = 1000.0


def grade(outputs: Path, private: Path) -> Grade:
    asked = read_table(private / "asked.csv", [ID, PATIENT])
    predicted = _ratings(outputs / "submission.csv", asked[ID])
    answers = read_table(private / "answers.csv", [ID, RATING])
    errors = _errors([predicted[row] for row in answers[ID]], answers[RATING])
    patient_of = dict(zip(asked[ID], asked[PATIENT], strict=True))
    patients = [patient_of[row] for row in answers[ID]]
    extra = {
        "n": len(errors),
        "asked": len(asked[ID]),
        "patients": len(set(patients)),
        "standard_error": _standard_error(patients, errors),
        "test_set_interval": resampled_interval(patients, errors),
    }
    return Grade(_mean(errors), extra)


def check_format(submission: Path, public: Path) -> None:
    _ratings(submission, read_table(public / "sample_submission.csv", [ID, RATING])[ID])


def ceiling(private: Path) -> float | None:
    """The error of whoever knows how each rating was drawn, where that is known."""
    file = private / "ceiling.csv"
    if not file.is_file():
        return None
    answers = read_table(private / "answers.csv", [ID, RATING])
    best = _ratings(file, answers[ID])
    return _mean(_errors([best[row] for row in answers[ID]], answers[RATING]))


def _ratings(file: Path, expected_ids: list[str]) -> dict[str, float]:
    """The ratings of a submission by their ids, which must be the expected ones."""
    table = read_table(file, [ID, RATING], len(expected_ids))
    rows_in_order(table[ID], expected_ids)
    ratings = finite_numbers(table[RATING], RATING)
    for row, rating in enumerate(ratings, start=1):
        if not 0 <= rating <= LARGEST_RATING:
            raise InvalidSubmission(
                f"{RATING}, row {row}: {rating:g} is no rating; expected 0 to {LARGEST_RATING:g}"
            )
    return dict(zip(table[ID], ratings, strict=True))


def _errors(predicted: list[float], actual: list[str]) -> list[float]:
    """Per rating, in percent: the distance as a share of the mean of both, one being added."""
    pairs = zip(predicted, map(float, actual), strict=True)
    return [100 * abs(p - a) / ((p + a) / 2 + 1) for p, a in pairs]


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _standard_error(patients: list[str], errors: list[float]) -> float:
    """Of the mean, with the ratings of a patient counted as one observation."""
    mean = _mean(errors)
    surplus: defaultdict[str, float] = defaultdict(float)
    for patient, error in zip(patients, errors, strict=True):
        surplus[patient] += error - mean
    correction = len(surplus) / (len(surplus) - 1)
    return math.sqrt(correction * math.fsum(value**2 for value in surplus.values())) / len(errors)
