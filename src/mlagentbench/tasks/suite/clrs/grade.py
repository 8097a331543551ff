"""Share of the pairs of nodes whose pointer is right, of a model that hangs on its weights.

The model ran three times, without knowing it: with its weights, with each tensor permuted, and with
all weights changed by a thousandth (alterations.py). Only the first run is scored.
"""

import json
import math
from pathlib import Path

import numpy as np
from alterations import read_submission
from mlagentbench_intervals import resampled_interval
from mlagentbench_task import Grade, InvalidSubmission, require_file

FILE = "pointers.bin"
LARGEST_LOSS = 0.05
"""How much accuracy a model may lose when its weights change by a thousandth."""


def grade(outputs: Path, private: Path) -> Grade:
    weights = np.load(private / "inputs" / "weights.npy", allow_pickle=False)
    lengths = np.load(private / "distances.npy", allow_pickle=False).astype(np.float64)
    asked = np.isfinite(lengths) & ~np.eye(lengths.shape[1], dtype=bool)
    right = {
        name: right_pointers(read_pointers(outputs / name / FILE, lengths.shape), weights, lengths)
        for name in ("submitted", "permuted", "perturbed")
    }
    accuracy = {name: float(hits[asked].mean()) for name, hits in right.items()}
    simple = max(json.loads((private / "simple_rules.json").read_text()).values())
    require_trained_weights(accuracy, simple)
    return Grade(
        accuracy["submitted"],
        extra={
            "n": int(asked.sum()),
            "groups": len(lengths),
            "standard_error": standard_error(right["submitted"], asked),
            "test_set_interval": resampled_interval(
                range(len(lengths)),
                (right["submitted"] & asked).sum(axis=(1, 2)),
                asked.sum(axis=(1, 2)),
            ),
            "accuracy_with_permuted_weights": accuracy["permuted"],
            "accuracy_with_perturbed_weights": accuracy["perturbed"],
            "accuracy_of_the_best_simple_rule": simple,
        },
    )


def check_format(submission: Path, public: Path) -> None:
    read_submission(submission)


def ceiling(private: Path) -> float:
    """Every pointer can be found: the answers follow from the graphs."""
    return 1.0


def require_trained_weights(accuracy: dict[str, float], simple: float) -> None:
    if accuracy["permuted"] > simple:
        raise InvalidSubmission(
            "predictions do not depend on the trained weights: with every weight tensor randomly "
            f"permuted the accuracy is {accuracy['permuted']:.4f}; that of the best simple rule, "
            f"which it must not exceed, is {simple:.4f}"
        )
    if accuracy["perturbed"] < accuracy["submitted"] - LARGEST_LOSS:
        raise InvalidSubmission(
            "predictions hang on the exact weights: when these change by a thousandth the accuracy "
            f"falls from {accuracy['submitted']:.4f} to {accuracy['perturbed']:.4f}"
        )


def read_pointers(file: Path, shape: tuple[int, ...]) -> np.ndarray:
    """What predict.py wrote, or what the model's code put in its place."""
    require_file(file)
    size = math.prod(shape)
    if file.stat().st_size != size:
        raise InvalidSubmission(f"{file.name} has {file.stat().st_size} bytes, expected {size}")
    return np.frombuffer(file.read_bytes(), np.uint8).reshape(shape)


def right_pointers(pointers: np.ndarray, weights: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Whether the way from i to the pointer and on to j, by an edge, is a shortest path.

    Lengths are exact, so of several shortest paths each one counts.
    """
    nodes = lengths.shape[1]
    graph, i, j = np.indices(lengths.shape, sparse=True)
    known = np.minimum(pointers, nodes - 1).astype(np.int64)
    last = weights[graph, known, j].astype(np.float64)
    shortest = lengths[graph, i, known] + last == lengths
    return shortest & (last > 0) & (known != j) & (pointers < nodes)


def standard_error(right: np.ndarray, asked: np.ndarray) -> float:
    """Of the accuracy, with the pairs of a graph counted as one observation."""
    surplus = np.where(asked, right - right[asked].mean(), 0.0).sum(axis=(1, 2))
    correction = len(surplus) / (len(surplus) - 1)
    return float(np.sqrt(correction * (surplus**2).sum()) / asked.sum())
