"""Draws the hidden graphs, finds their shortest paths, and scores what simple rules make of them.

The sampler is the one that the agent has in graphs.py, with the probability of the benchmark's test
set; the official runs draw others for training. Weights are multiples of 2**-16, so that lengths
are exact: machines agree to the bit, and of several shortest paths each counts as right.
"""

import json
import shutil
from pathlib import Path

import numpy as np

UNIT = 2.0**-16
PROBABILITIES = (0.5,)


def prepare(raw: Path, public: Path, private: Path, rng: np.random.Generator) -> None:
    shutil.copyfile(raw / "settings.json", public / "settings.json")
    nodes = json.loads((raw / "settings.json").read_text())["test_nodes"]
    graphs = json.loads((raw / "hidden.json").read_text())["graphs"]
    weights = sample(graphs, nodes, rng)
    lengths = distances(weights)
    (private / "inputs").mkdir()
    np.save(private / "inputs" / "weights.npy", weights)
    np.save(private / "distances.npy", lengths.astype(np.float32))
    rules = {name: accuracy(pointers, weights, lengths) for name, pointers in simple_rules(weights)}
    (private / "simple_rules.json").write_text(json.dumps(rules, indent=2) + "\n")


def sample(count: int, nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Symmetric weights, (count, nodes, nodes), float32; 0 where there is no edge."""
    heads = rng.choice(PROBABILITIES, size=(count, 1, 1))
    coins = rng.random((count, nodes, nodes)) < heads
    drawn = rng.random((count, nodes, nodes))
    weights = np.sqrt(drawn * drawn.transpose(0, 2, 1) + 0.001)
    rounded = np.round(weights / UNIT) * UNIT
    return (coins * coins.transpose(0, 2, 1) * rounded).astype(np.float32)


def distances(weights: np.ndarray) -> np.ndarray:
    """Lengths of the shortest paths, by Floyd and Warshall; infinite where there is none."""
    lengths = np.where(weights > 0, weights.astype(np.float64), np.inf)
    nodes = np.arange(weights.shape[1])
    lengths[:, nodes, nodes] = 0
    for k in nodes:
        lengths = np.minimum(lengths, lengths[:, :, k, None] + lengths[:, None, k, :])
    return lengths


def simple_rules(weights: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Pointers that follow from a look at single edges; trivial.py has the same as models."""
    nodes = np.arange(weights.shape[1])
    edges = np.where(weights > 0, weights, np.inf)
    edges[:, nodes, nodes] = np.inf
    source = np.broadcast_to(nodes[:, None], weights.shape)
    cheapest = np.broadcast_to(edges.argmin(axis=1)[:, None], weights.shape)
    return [
        ("source", source),
        ("cheapest_neighbour", cheapest),
        ("edge_or_cheapest", np.where(np.isfinite(edges), source, cheapest)),
    ]


def accuracy(pointers: np.ndarray, weights: np.ndarray, lengths: np.ndarray) -> float:
    """The share of pairs whose pointer is the last node but one of a shortest path."""
    edges = np.where(weights > 0, weights.astype(np.float64), np.inf)
    nodes = np.arange(weights.shape[1])
    edges[:, nodes, nodes] = np.inf
    last = np.take_along_axis(edges.transpose(0, 2, 1)[:, None], pointers[..., None], axis=3)
    right = np.take_along_axis(lengths, pointers, axis=2) + last[..., 0] == lengths
    asked = np.isfinite(lengths) & (lengths > 0)
    return float(right[asked].mean())
