"""Share of the test papers whose field was predicted rightly."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
from mlagentbench_task import (
    Grade,
    InvalidSubmission,
    finite_numbers,
    read_table,
    require_file,
    rows_in_order,
)

FILE = "submission.csv"
COLUMNS = ["node", "label"]
CLASSES = 40
MAX_BYTES = 20_000_000


def grade(outputs: Path, private: Path) -> Grade:
    nodes, labels = read_answers(private / "answers.csv", "label")
    predicted = read_labels(outputs / FILE, nodes)
    hits = [guess == label for guess, label in zip(predicted, labels, strict=True)]
    score = sum(hits) / len(hits)
    sizes, found = Counter(labels), Counter(labels[row] for row, hit in enumerate(hits) if hit)
    extra = {
        "n": len(hits),
        "standard_error": math.sqrt(score * (1 - score) / len(hits)),
        "mean_class_accuracy": sum(found[label] / sizes[label] for label in sizes) / len(sizes),
    }
    copies = set(read_table(private / "copies.csv", ["node"])["node"])
    others = [hit for node, hit in zip(nodes, hits, strict=True) if node not in copies]
    if copies and others:
        extra["copies_of_training_papers"] = len(copies)
        extra["score_without_copies"] = sum(others) / len(others)
    return Grade(score, extra)


def check_format(submission: Path, public: Path) -> None:
    nodes = np.load(public / "test_nodes.npy", allow_pickle=False)
    read_labels(submission, [str(node) for node in nodes])


def ceiling(private: Path) -> float | None:
    """The accuracy of whoever knows the true field of every paper, where that is known."""
    if not (private / "classes.csv").is_file():
        return None
    _, labels = read_answers(private / "answers.csv", "label")
    _, classes = read_answers(private / "classes.csv", "class")
    return sum(a == b for a, b in zip(labels, classes, strict=True)) / len(labels)


def read_answers(file: Path, column: str) -> tuple[list[str], list[int]]:
    table = read_table(file, ["node", column])
    return table["node"], [int(value) for value in table[column]]


def read_labels(file: Path, nodes: list[str]) -> list[int]:
    """The labels, in the order of the nodes; InvalidSubmission says what is wrong."""
    require_file(file, MAX_BYTES)
    table = read_table(file, COLUMNS, len(nodes))
    order = rows_in_order(table["node"], nodes)
    labels = finite_numbers(table["label"], "label")
    for row in order:
        if not (labels[row].is_integer() and 0 <= labels[row] < CLASSES):
            raise InvalidSubmission(
                f"node {table['node'][row]}: label {table['label'][row][:50]!r} is no whole "
                f"number from 0 to {CLASSES - 1}"
            )
    return [int(labels[row]) for row in order]
