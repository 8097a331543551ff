"""Mean, over the six ratings, of the root mean squared error (MCRMSE)."""

import math
from pathlib import Path

from mlagentbench_task import Grade, InvalidSubmission, finite_numbers, read_table, rows_in_order

ID = "text_id"
TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
LARGEST_RATING = 100.0


def grade(outputs: Path, private: Path) -> Grade:
    ids, actual = _answers(private)
    errors = _squared_errors(_ratings(outputs / "submission.csv", ids), actual)
    extra = {
        "n": len(ids),
        "standard_error": _standard_error(errors),
        "root_mean_squared_errors": {t: math.sqrt(_mean(errors[t])) for t in TARGETS},
    }
    copies = set(read_table(private / "copies.csv", [ID])[ID])
    others = [row for row, essay in enumerate(ids) if essay not in copies]
    if copies:
        extra["copies_of_training_rows"] = len(copies)
    if copies and others:
        apart = {target: [errors[target][row] for row in others] for target in TARGETS}
        extra["score_without_copies"] = _score(apart)
    return Grade(_score(errors), extra)


def check_format(submission: Path, public: Path) -> None:
    _ratings(submission, read_table(public / "sample_submission.csv", [ID, *TARGETS])[ID])


def ceiling(private: Path) -> float | None:
    """The error of the ratings before raters' noise, where they are known."""
    file = private / "ceiling.csv"
    if not file.is_file():
        return None
    ids, actual = _answers(private)
    return _score(_squared_errors(_ratings(file, ids), actual))


Columns = dict[str, list[float]]


def _answers(private: Path) -> tuple[list[str], Columns]:
    table = read_table(private / "answers.csv", [ID, *TARGETS])
    return table[ID], {target: [float(value) for value in table[target]] for target in TARGETS}


def _ratings(file: Path, expected_ids: list[str]) -> Columns:
    """The ratings of a submission, in the order of the expected ids."""
    table = read_table(file, [ID, *TARGETS], len(expected_ids))
    rows = rows_in_order(table[ID], expected_ids)
    ratings = {}
    for target in TARGETS:
        values = finite_numbers(table[target], target)
        for row, value in enumerate(values, start=1):
            if abs(value) > LARGEST_RATING:
                raise InvalidSubmission(f"{target}, row {row}: {value:g} is no rating")
        ratings[target] = [values[row] for row in rows]
    return ratings


def _squared_errors(predicted: Columns, actual: Columns) -> Columns:
    return {
        target: [(p - a) ** 2 for p, a in zip(predicted[target], actual[target], strict=True)]
        for target in TARGETS
    }


def _score(errors: Columns) -> float:
    return _mean([math.sqrt(_mean(errors[target])) for target in TARGETS])


def _standard_error(errors: Columns) -> float:
    """Of the score, by the delta method: how much each essay pulls at the six roots."""
    roots = {target: math.sqrt(_mean(errors[target])) for target in TARGETS}
    pulls = [
        _mean([(errors[t][row] - roots[t] ** 2) / (2 * roots[t]) for t in TARGETS if roots[t] > 0])
        for row in range(len(errors[TARGETS[0]]))
        if any(roots.values())
    ]
    if len(pulls) < 2:
        return 0.0
    return math.sqrt(math.fsum(pull**2 for pull in pulls) / (len(pulls) - 1) / len(pulls))


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)
