"""MAP@20: the mean over the images of the average precision of the first 20 categories.

The average precision of an image with the categories T and the ranked guesses g1, g2, ... is

    AP@20 = 1 / min(|T|, 20) * sum over k = 1 .. 20 of  [gk in T] * (hits among g1 .. gk) / k
"""

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from mlagentbench_intervals import resampled_interval
from mlagentbench_task import Grade, InvalidSubmission, read_table, require_file, rows_in_order

FILE = "submission.csv"
COLUMNS = ["id", "categories"]
MOST = 20
MAX_BYTES = 20_000_000


def grade(outputs: Path, private: Path) -> Grade:
    facts = json.loads((private / "facts.json").read_text(encoding="utf-8"))
    answers = read_table(private / "answers.csv", COLUMNS)
    guesses = read_guesses(outputs / FILE, answers["id"], set(map(str, facts["categories"])))
    precisions = [
        average_precision(ranked, set(actual.split()))
        for ranked, actual in zip(guesses, answers["categories"], strict=True)
    ]
    table = read_table(private / "dives.csv", ["id", "dive"])
    dives = [table["dive"][row] for row in rows_in_order(table["id"], answers["id"])]
    return Grade(
        math.fsum(precisions) / len(precisions),
        extra={
            "n": len(precisions),
            "groups": len(set(dives)),
            "standard_error": standard_error(dives, precisions),
            "test_set_interval": resampled_interval(dives, precisions),
            "share_of_labels_never_seen_in_training": (
                facts["labels_never_seen_in_training"] / facts["labels"]
            ),
            "images_left_out": facts["images_left_out"],
        },
    )


def check_format(submission: Path, public: Path) -> None:
    ids = read_table(public / "test.csv", ["id", "width", "height"])["id"]
    key = read_table(public / "category_key.csv", ["id", "name", "supercat"])
    read_guesses(submission, ids, set(key["id"]))


def ceiling(private: Path) -> float | None:
    """The score of whoever knows which animals are really there, where that is known."""
    file = private / "noise_free.csv"
    if not file.is_file():
        return None
    facts = json.loads((private / "facts.json").read_text(encoding="utf-8"))
    answers, table = read_table(private / "answers.csv", COLUMNS), read_table(file, COLUMNS)
    precisions = []
    rows = rows_in_order(table["id"], answers["id"])
    for row, actual in zip(rows, answers["categories"], strict=True):
        there = table["categories"][row].split()
        others = [name for name in map(str, facts["categories"]) if name not in there]
        precisions.append(average_precision([*there, *others][:MOST], set(actual.split())))
    return math.fsum(precisions) / len(precisions)


def average_precision(ranked: Sequence[str], actual: set[str]) -> float:
    hits, total = 0, 0.0
    for place, category in enumerate(ranked, start=1):
        if category in actual:
            hits += 1
            total += hits / place
    return total / min(len(actual), MOST)


def standard_error(dives: Sequence[str], precisions: Sequence[float]) -> float | None:
    """Of the mean, with the images of a dive counted as one observation."""
    mean = math.fsum(precisions) / len(precisions)
    surplus: defaultdict[str, float] = defaultdict(float)
    for dive, precision in zip(dives, precisions, strict=True):
        surplus[dive] += precision - mean
    if len(surplus) < 2:
        return None
    correction = len(surplus) / (len(surplus) - 1)
    squares = math.fsum(value**2 for value in surplus.values())
    return math.sqrt(correction * squares) / len(precisions)


def read_guesses(file: Path, ids: Sequence[str], known: set[str]) -> list[list[str]]:
    """The ranked categories of each image, in the order of the ids."""
    require_file(file, MAX_BYTES)
    table = read_table(file, COLUMNS, len(ids))
    guesses = []
    for row in rows_in_order(table["id"], ids):
        ranked = table["categories"][row].split()
        unknown = next((name for name in ranked if name not in known), None)
        if unknown is not None:
            raise InvalidSubmission(
                f"id {table['id'][row]}: {unknown[:50]!r} is no id of category_key.csv"
            )
        if len(ranked) > MOST:
            raise InvalidSubmission(
                f"id {table['id'][row]}: {len(ranked)} categories, expected at most {MOST}"
            )
        if len(set(ranked)) < len(ranked):
            raise InvalidSubmission(f"id {table['id'][row]}: a category is there twice")
        guesses.append(ranked)
    return guesses
