"""Share of the reviews whose sentiment was predicted rightly."""

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

from mlagentbench_intervals import resampled_interval
from mlagentbench_task import Grade, InvalidSubmission, read_table, rows_in_order

ID, TARGET = "id", "sentiment"
VALUES = {"0": 0, "1": 1, "0.0": 0, "1.0": 1}


def grade(outputs: Path, private: Path) -> Grade:
    ids, actual = _answers(private)
    predicted = _predictions(outputs / "submission.csv", ids)
    hits = [p == a for p, a in zip(predicted, actual, strict=True)]
    films = _films(private, ids)
    extra: dict[str, Any] = {
        "n": len(hits),
        "films": len(set(films)),
        "standard_error": _standard_error(films, hits),
        "test_set_interval": resampled_interval(films, hits),
        "predicted_positive": sum(predicted) / len(predicted),
    }
    copies = set(read_table(private / "copies.csv", [ID])[ID])
    if copies:
        others = [hit for row, hit in zip(ids, hits, strict=True) if row not in copies]
        extra["copies_of_training_reviews"] = len(copies)
        extra["score_without_copies"] = sum(others) / len(others) if others else None
    return Grade(sum(hits) / len(hits), extra)


def check_format(submission: Path, public: Path) -> None:
    _predictions(submission, read_table(public / "sample_submission.csv", [ID, TARGET])[ID])


def ceiling(private: Path) -> float | None:
    """The accuracy of whoever knows what every review really says, where that is known."""
    if not (private / "ceiling.csv").is_file():
        return None
    ids, actual = _answers(private)
    said = _predictions(private / "ceiling.csv", ids)
    return sum(s == a for s, a in zip(said, actual, strict=True)) / len(ids)


def _answers(private: Path) -> tuple[list[str], list[int]]:
    answers = read_table(private / "answers.csv", [ID, TARGET])
    return answers[ID], _sentiments(answers[TARGET])


def _predictions(file: Path, expected_ids: list[str]) -> list[int]:
    """The predictions of a submission, in the order of the expected ids."""
    table = read_table(file, [ID, TARGET], len(expected_ids))
    rows = rows_in_order(table[ID], expected_ids)
    predictions = _sentiments(table[TARGET])
    return [predictions[row] for row in rows]


def _sentiments(values: list[str]) -> list[int]:
    for row, value in enumerate(values, start=1):
        if value.strip() not in VALUES:
            raise InvalidSubmission(f"{TARGET}, row {row}: {value[:50]!r} is neither 0 nor 1")
    return [VALUES[value.strip()] for value in values]


def _films(private: Path, ids: list[str]) -> list[str]:
    """The film of each review, where it is known; else each review stands for itself."""
    if not (private / "films.csv").is_file():
        return ids
    table = read_table(private / "films.csv", [ID, "film"])
    return [table["film"][row] for row in rows_in_order(table[ID], ids)]


def _standard_error(films: list[str], hits: list[bool]) -> float | None:
    """Of the accuracy, with the reviews of a film counted as one observation."""
    accuracy = sum(hits) / len(hits)
    surplus: defaultdict[str, float] = defaultdict(float)
    for film, hit in zip(films, hits, strict=True):
        surplus[film] += hit - accuracy
    if len(surplus) < 2:
        return None
    correction = len(surplus) / (len(surplus) - 1)
    return math.sqrt(correction * math.fsum(value**2 for value in surplus.values())) / len(hits)
