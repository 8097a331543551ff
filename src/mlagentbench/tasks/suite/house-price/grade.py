"""Mean absolute error of the predicted sale prices, in dollars."""

import math
from pathlib import Path

from mlagentbench_task import Grade, InvalidSubmission, finite_numbers, read_table, rows_in_order

ID, TARGET = "Id", "SalePrice"
LARGEST_PRICE = 1e9


def grade(outputs: Path, private: Path) -> Grade:
    answers = read_table(private / "answers.csv", [ID, TARGET])
    predicted = _prices(outputs / "submission.csv", answers[ID])
    actual = [float(price) for price in answers[TARGET]]
    errors = [abs(p - a) for p, a in zip(predicted, actual, strict=True)]
    extra = {
        "n": len(errors),
        "standard_error": _standard_error(errors),
        "root_mean_squared_error": math.sqrt(_mean([error**2 for error in errors])),
    }
    if min(predicted) > 0:
        logs = [(math.log(p) - math.log(a)) ** 2 for p, a in zip(predicted, actual, strict=True)]
        extra["root_mean_squared_log_error"] = math.sqrt(_mean(logs))
    copies = set(read_table(private / "copies.csv", [ID])[ID])
    if copies:
        others = [e for row, e in zip(answers[ID], errors, strict=True) if row not in copies]
        extra["copies_of_training_rows"] = len(copies)
        extra["score_without_copies"] = _mean(others)
    return Grade(_mean(errors), extra)


def check_format(submission: Path, public: Path) -> None:
    _prices(submission, read_table(public / "sample_submission.csv", [ID, TARGET])[ID])


def ceiling(private: Path) -> float | None:
    """The error of the noise-free prices, where they are known: what no model can better."""
    file = private / "ceiling.csv"
    if not file.is_file():
        return None
    answers = read_table(private / "answers.csv", [ID, TARGET])
    noise_free = _prices(file, answers[ID])
    return _mean([abs(n - float(a)) for n, a in zip(noise_free, answers[TARGET], strict=True)])


def _prices(file: Path, expected_ids: list[str]) -> list[float]:
    """The prices of a submission, in the order of the expected ids."""
    table = read_table(file, [ID, TARGET], len(expected_ids))
    rows = rows_in_order(table[ID], expected_ids)
    prices = finite_numbers(table[TARGET], TARGET)
    for row, price in enumerate(prices, start=1):
        if abs(price) > LARGEST_PRICE:
            raise InvalidSubmission(f"{TARGET}, row {row}: {price:g} is no price in dollars")
    return [prices[row] for row in rows]


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _standard_error(values: list[float]) -> float:
    mean = _mean(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return math.sqrt(variance / len(values))
