"""The task's grader, for pointers that were found to be right when the graphs were drawn.

Which runs there are, and what they are allowed to reach, is as in the other tiers.
"""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
from alterations import MIXED, PERTURBED, REPLACEMENTS, SUBMITTED, graphs_of, read_submission
from mlagentbench_intervals import resampled_interval
from mlagentbench_task import Grade


def other_tiers() -> ModuleType:
    """The task's own grade.py, which has the name of this module."""
    file = Path(__file__).resolve().parent.parent / "grade.py"
    spec = importlib.util.spec_from_file_location("grade_of_other_tiers", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def grade(outputs: Path, private: Path) -> Grade:
    common = other_tiers()
    right = read_right(private)
    asked = right.any(axis=3)
    hits = np.empty(asked.shape, dtype=bool)
    accuracy = {}
    for name in (*SUBMITTED, PERTURBED, *REPLACEMENTS, *MIXED):
        its_right, its_asked = graphs_of(name, right), graphs_of(name, asked)
        pointers = common.read_pointers(outputs / name / common.FILE, its_asked.shape)
        its_hits = hits_of(pointers, its_right)
        accuracy[name] = float(its_hits[its_asked].mean())
        if name in SUBMITTED:
            graphs_of(name, hits)[:] = its_hits
    score = float(hits[asked].mean())
    simple = max(json.loads((private / "simple_rules.json").read_text()).values())
    common.require_robust_weights(accuracy)
    if score > simple:
        largest = simple + common.LARGEST_SHARE * (score - simple)
        common.require_trained_weights(accuracy, simple, largest)
        if score > simple + common.GOOD * (1 - simple):
            common.require_gradual_loss(accuracy, largest)
    return Grade(
        score,
        extra={
            "n": int(asked.sum()),
            "groups": len(asked),
            "standard_error": common.standard_error(hits, asked),
            "test_set_interval": resampled_interval(
                range(len(asked)), (hits & asked).sum(axis=(1, 2)), asked.sum(axis=(1, 2))
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


def read_right(private: Path) -> np.ndarray:
    """Whether a cheapest way from i to j ends with the edge from k, at [graph, i, j, k]."""
    packed = np.load(private / "right.npy", allow_pickle=False)
    return np.unpackbits(packed, axis=3, count=packed.shape[1]).astype(bool)


def hits_of(pointers: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A pointer to a node that does not exist hits nothing."""
    nodes = right.shape[3]
    known = np.minimum(pointers, nodes - 1).astype(np.int64)
    hits = np.take_along_axis(right, known[..., None], axis=3)[..., 0]
    return hits & (pointers < nodes)
