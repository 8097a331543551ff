"""Share of the pairs of nodes whose pointer is right, of a model that hangs on its weights.

The model ran several times, without knowing it: with its weights, and with altered ones
(alterations.py). Only the runs with its weights are scored.
"""

import json
import math
from pathlib import Path

import numpy as np
from alterations import MIXED, PERTURBED, REPLACEMENTS, SUBMITTED, graphs_of, read_submission
from mlagentbench_intervals import resampled_interval
from mlagentbench_task import BrokenRule, Grade, InvalidSubmission, require_file

FILE = "pointers.bin"
LARGEST_LOSS = 0.05
"""How much accuracy a model may lose when its weights change by a thousandth."""
LARGEST_SHARE = 0.25
"""How much of what a model is better than simple rules it may keep with other weights."""
EQUAL = 0.002
"""Accuracies that differ by less are not on the way from one to the other."""
GOOD = 0.4
"""Models that come so far from the best simple rule to 1, short of the bar, must lose gradually."""


def grade(outputs: Path, private: Path) -> Grade:
    weights = np.load(private / "inputs" / "weights.npy", allow_pickle=False)
    lengths = np.load(private / "distances.npy", allow_pickle=False).astype(np.float64)
    asked = np.isfinite(lengths) & ~np.eye(lengths.shape[1], dtype=bool)
    right = np.empty(lengths.shape, dtype=bool)
    accuracy = {}
    for name in (*SUBMITTED, PERTURBED, *REPLACEMENTS, *MIXED):
        its_lengths = graphs_of(name, lengths)
        pointers = read_pointers(outputs / name / FILE, its_lengths.shape)
        its_right = right_pointers(pointers, graphs_of(name, weights), its_lengths)
        accuracy[name] = float(its_right[graphs_of(name, asked)].mean())
        if name in SUBMITTED:
            graphs_of(name, right)[:] = its_right
    score = float(right[asked].mean())
    simple = max(json.loads((private / "simple_rules.json").read_text()).values())
    require_robust_weights(accuracy)
    if score > simple:
        largest = simple + LARGEST_SHARE * (score - simple)
        require_trained_weights(accuracy, simple, largest)
        if score > simple + GOOD * (1 - simple):
            require_gradual_loss(accuracy, largest)
    return Grade(
        score,
        extra={
            "n": int(asked.sum()),
            "groups": len(lengths),
            "standard_error": standard_error(right, asked),
            "test_set_interval": resampled_interval(
                range(len(lengths)), (right & asked).sum(axis=(1, 2)), asked.sum(axis=(1, 2))
            ),
            "accuracy_by_run": accuracy,
            "accuracy_of_the_best_simple_rule": simple,
        },
    )


def check_format(submission: Path, public: Path) -> None:
    read_submission(submission)


def ceiling(private: Path) -> float:
    """Every pointer can be found: the answers follow from the graphs."""
    return 1.0


def require_robust_weights(accuracy: dict[str, float]) -> None:
    submitted, perturbed = accuracy[SUBMITTED[0]], accuracy[PERTURBED]
    if perturbed < submitted - LARGEST_LOSS:
        raise BrokenRule(
            "predictions hang on the exact weights: when these change by a thousandth the accuracy "
            f"falls from {submitted:.4f} to {perturbed:.4f}"
        )


def require_trained_weights(accuracy: dict[str, float], simple: float, largest: float) -> None:
    for name in REPLACEMENTS:
        if accuracy[name] > largest:
            raise BrokenRule(
                f"predictions do not depend on the trained weights: with {name} weights the "
                f"accuracy is {accuracy[name]:.4f}; that of the best simple rule is {simple:.4f}, "
                f"and at most {largest:.4f} is allowed"
            )


def require_gradual_loss(accuracy: dict[str, float], largest: float) -> None:
    """With some mixture a trained model is worse than submitted, and better than with others."""
    path = [accuracy[name] for name in MIXED]
    if not any(largest < value < accuracy[SUBMITTED[0]] - EQUAL for value in path):
        raise BrokenRule(
            "predictions switch at once with the weights: the more of permuted weights is mixed "
            f"in, the accuracy goes from {accuracy[SUBMITTED[0]]:.4f} over "
            f"{', '.join(f'{value:.4f}' for value in path)} to {accuracy['permuted']:.4f}; "
            "a trained model loses it gradually"
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
