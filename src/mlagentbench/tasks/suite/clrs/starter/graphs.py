"""Random weighted graphs and their shortest paths: sample as many as you like for training.

The hidden graphs are drawn in the same way, from another seed. Weights are multiples of 2**-16, so
lengths of paths are exact in float64 and can be compared with ==.
"""

import numpy as np

UNIT = 2.0**-16


def sample(count: int, nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Symmetric weights, (count, nodes, nodes), float32; 0 where there is no edge.

    Two nodes are joined with probability 1/4. A node has an edge to itself with probability 1/2.
    """
    coins = rng.integers(0, 2, size=(count, nodes, nodes))
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
