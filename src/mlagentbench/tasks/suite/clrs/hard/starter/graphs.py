"""Random graphs, without pointers: sample as many as you like.

The labelled and the hidden graphs were drawn in the same way, the labelled ones of up to 8 nodes
with scale 1, those of 16 nodes and the hidden ones with the `hidden_scale` of settings.json.
Lengths are multiples of 2**-14, so sums of them are exact in float64 and can be compared with ==.
"""

import numpy as np

LENGTHS, MARK_COLUMNS, MARKS = 4, 2, 4
UNIT = 2.0**-14


def sample(count: int, nodes: int, rng: np.random.Generator, scale: float = 1.0) -> np.ndarray:
    """Symmetric weights, (count, nodes, nodes, 6), float32; all 0 where there is no edge.

    The nodes are seated round a table, in random order. Those that are at most two seats apart, or
    a fifth of the table, are joined with probability 0.9. Of an edge's six numbers the
    first four are its lengths and the last two its marks, 1 to 4.
    """
    shape = (count, nodes, nodes)
    seats = np.argsort(rng.random((count, nodes)), axis=1)
    apart = np.abs(seats[:, :, None] - seats[:, None])
    near = np.minimum(apart, nodes - apart) <= max(2, nodes // 5)
    drawn = rng.random((*shape, LENGTHS))
    lengths = (0.02 + 0.98 * drawn * drawn * drawn) * scale
    lengths = np.maximum(np.round(lengths / UNIT), 1) * UNIT
    marks = rng.integers(1, MARKS + 1, size=(*shape, MARK_COLUMNS))
    edges = near & (rng.random(shape) < 0.9)
    upper = np.triu(np.ones((nodes, nodes), dtype=bool), 1)[:, :, None]
    drawn = np.concatenate([lengths, marks], axis=3) * (edges[..., None] & upper)
    return (drawn + drawn.transpose(0, 2, 1, 3)).astype(np.float32)


def labelled(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The labelled graphs of that size, and their pointers, [graph, i, j].

    A pointer is the node before j on the cheapest way from i to j. It is -1 where none is asked
    for: where i is j, and where there is no way.
    """
    pointers = np.load(f"pointers_{nodes}.npy").astype(np.int64)
    return np.load(f"weights_{nodes}.npy"), pointers
