"""Random weighted graphs and their shortest paths: sample as many as you like for training.

The hidden graphs are drawn in the same way, from another seed, all with HIDDEN_PROBABILITY; graphs
for training are denser and sparser, as in the official runs of the benchmark. Weights are multiples
of 2**-16, so lengths of paths are exact in float64 and can be compared with ==.
"""

import numpy as np

UNIT = 2.0**-16
TRAINING_PROBABILITIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
HIDDEN_PROBABILITY = 0.5


def sample(
    count: int,
    nodes: int,
    rng: np.random.Generator,
    probabilities: tuple[float, ...] = TRAINING_PROBABILITIES,
) -> np.ndarray:
    """Symmetric weights, (count, nodes, nodes), float32; 0 where there is no edge.

    For every graph one p is drawn from the probabilities. Two nodes are joined with probability
    p * p; a node has an edge to itself with probability p.
    """
    heads = rng.choice(probabilities, size=(count, 1, 1))
    coins = rng.random((count, nodes, nodes)) < heads
    drawn = rng.random((count, nodes, nodes))
    weights = np.sqrt(drawn * drawn.transpose(0, 2, 1) + 0.001)
    rounded = np.round(weights / UNIT) * UNIT
    return (coins * coins.transpose(0, 2, 1) * rounded).astype(np.float32)


def distances(weights: np.ndarray) -> np.ndarray:
    """Lengths of the shortest paths, float64; infinite where there is none."""
    lengths = np.where(weights > 0, weights.astype(np.float64), np.inf)
    nodes = np.arange(weights.shape[1])
    lengths[:, nodes, nodes] = 0
    for k in nodes:
        lengths = np.minimum(lengths, lengths[:, :, k, None] + lengths[:, None, k, :])
    return lengths


def predecessors(weights: np.ndarray) -> np.ndarray:
    """The node before j on the shortest path from i to j, at [graph, i, j].

    It is -1 where no pointer is asked for: where i is j, and where there is no path.
    """
    lengths = distances(weights)
    edges = np.where(weights > 0, weights.astype(np.float64), np.inf)
    nodes = np.arange(weights.shape[1])
    edges[:, nodes, nodes] = np.inf
    found = np.empty(lengths.shape, dtype=np.int64)
    for j in nodes:  # the path's last edge comes from the k with the shortest way through it
        found[:, :, j] = (lengths + edges[:, None, :, j]).argmin(axis=2)
    found[~np.isfinite(lengths)] = -1
    found[:, nodes, nodes] = -1
    return found
