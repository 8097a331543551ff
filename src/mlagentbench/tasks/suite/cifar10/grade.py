"""Accuracy of the most probable class; log loss and accuracy without near copies beside it."""

import math
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
CLASSES = [str(n) for n in range(10)]
SUM_TOLERANCE = 1e-3
LEAST_PROBABILITY = 1e-15
MAX_BYTES = 50_000_000


def grade(outputs: Path, private: Path) -> Grade:
    labels = np.load(private / "labels.npy", allow_pickle=False)
    probabilities = read_probabilities(outputs / FILE, len(labels))
    right = probabilities.argmax(axis=1) == labels
    copies = np.load(private / "near_copies.npy", allow_pickle=False)
    others = np.delete(right, copies)
    chosen = probabilities[np.arange(len(labels)), labels] / probabilities.sum(axis=1)
    score = float(right.mean())
    return Grade(
        score,
        extra={
            "n": len(right),
            "standard_error": math.sqrt(score * (1 - score) / len(right)),
            "log_loss": float(-np.log(np.maximum(chosen, LEAST_PROBABILITY)).mean()),
            "near_copies": len(copies),
            "accuracy_without_near_copies": float(others.mean()) if len(others) else None,
        },
    )


def check_format(submission: Path, public: Path) -> None:
    images = np.load(public / "test_images.npy", mmap_mode="r", allow_pickle=False)
    read_probabilities(submission, len(images))


def ceiling(private: Path) -> float | None:
    """The accuracy of whoever knows the true class of every picture, where that is known."""
    if not (private / "classes.npy").is_file():
        return None
    classes = np.load(private / "classes.npy", allow_pickle=False)
    return float((classes == np.load(private / "labels.npy", allow_pickle=False)).mean())


def read_probabilities(file: Path, images: int) -> np.ndarray:
    """The probabilities, one row per image in order; InvalidSubmission says what is wrong."""
    require_file(file, MAX_BYTES)
    table = read_table(file, ["id", *CLASSES], images)
    order = rows_in_order(table["id"], [str(n) for n in range(images)])
    columns = [finite_numbers(table[name], f"column {name}") for name in CLASSES]
    probabilities = np.array(columns).T[order]
    if (probabilities < 0).any():
        row = int(np.argwhere(probabilities < 0)[0][0])
        raise InvalidSubmission(f"id {row}: a probability is negative")
    sums = probabilities.sum(axis=1)
    off = np.abs(sums - 1) > SUM_TOLERANCE
    if off.any():
        row = int(np.argmax(off))
        raise InvalidSubmission(
            f"id {row}: probabilities add up to {sums[row]:.6g}, expected 1 "
            f"({int(off.sum())} such rows)"
        )
    return probabilities
