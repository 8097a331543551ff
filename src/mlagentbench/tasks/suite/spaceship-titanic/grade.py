"""Share of the passengers whose fate was predicted rightly."""

import math
from collections import defaultdict
from pathlib import Path

from mlagentbench_intervals import resampled_interval
from mlagentbench_task import Grade, booleans, finite_numbers, read_table, rows_in_order

ID, TARGET = "PassengerId", "Transported"


def grade(outputs: Path, private: Path) -> Grade:
    answers = read_table(private / "answers.csv", [ID, TARGET])
    ids, actual = answers[ID], booleans(answers[TARGET], TARGET)
    predicted = _predictions(outputs / "submission.csv", ids)
    hits = [p == a for p, a in zip(predicted, actual, strict=True)]
    groups = [_group(row) for row in ids]
    extra = {
        "n": len(hits),
        "groups": len(set(groups)),
        "standard_error": _standard_error(ids, hits),
        "test_set_interval": resampled_interval(groups, hits),
    }
    copies = set(read_table(private / "copies.csv", [ID])[ID])
    if copies:
        others = [hit for row, hit in zip(ids, hits, strict=True) if row not in copies]
        extra["copies_of_training_rows"] = len(copies)
        extra["score_without_copies"] = sum(others) / len(others)
    return Grade(sum(hits) / len(hits), extra)


def check_format(submission: Path, public: Path) -> None:
    _predictions(submission, read_table(public / "sample_submission.csv", [ID, TARGET])[ID])


def ceiling(private: Path) -> float | None:
    """The accuracy of predicting the likelier fate, where its probability is known."""
    file = private / "ceiling.csv"
    if not file.is_file():
        return None
    answers = read_table(private / "answers.csv", [ID, TARGET])
    actual = booleans(answers[TARGET], TARGET)
    table = read_table(file, [ID, TARGET])
    rows = rows_in_order(table[ID], answers[ID])
    probability = finite_numbers(table[TARGET], TARGET)
    hits = [(probability[row] > 0.5) == a for row, a in zip(rows, actual, strict=True)]
    return sum(hits) / len(hits)


def _predictions(file: Path, expected_ids: list[str]) -> list[bool]:
    """The predictions of a submission, in the order of the expected ids."""
    table = read_table(file, [ID, TARGET], len(expected_ids))
    rows = rows_in_order(table[ID], expected_ids)
    predictions = booleans(table[TARGET], TARGET)
    return [predictions[row] for row in rows]


def _group(passenger_id: str) -> str:
    return passenger_id.split("_")[0]


def _standard_error(ids: list[str], hits: list[bool]) -> float:
    """Of the accuracy, with the passengers of a group counted as one observation."""
    accuracy = sum(hits) / len(hits)
    surplus: defaultdict[str, float] = defaultdict(float)
    for row, hit in zip(ids, hits, strict=True):
        surplus[_group(row)] += hit - accuracy
    correction = len(surplus) / (len(surplus) - 1)
    return math.sqrt(correction * math.fsum(value**2 for value in surplus.values())) / len(hits)
