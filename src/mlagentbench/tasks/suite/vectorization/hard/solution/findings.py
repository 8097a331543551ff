# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Which filters share a motif, how large it is, and which taps fit none, as the filters show it."""

import numpy as np

JUMP = 1.3
"""Strays are larger than other taps by this factor at least; between others there is no jump."""
ALIKE = 1e-9
NONE_LEFT = 1e-10
"""Of the energy of filters, what rounding leaves where a combination of them vanishes."""


def find(filters: np.ndarray, stride: int, strays: list[int] | None = None) -> dict:
    """Stray taps as flat places in the window, and families of filters with their motif's size."""
    scaled = filters / np.maximum(np.sqrt((filters**2).mean(axis=(0, 1, 2))), 1e-300)
    if strays is None:
        sizes = np.sqrt((scaled**2).mean(axis=3))
        # Channels differ in size, and a stray is large for its channel.
        strays = above_jump(sizes / np.maximum(np.median(sizes, axis=(0, 1)), 1e-300))
    scaled.reshape(-1, filters.shape[3])[strays] = 0
    found = []
    for family in families(scaled[:stride, :stride].reshape(-1, filters.shape[3])):
        if len(family) > 1 and (motif := smallest_motif(scaled[..., family], stride)):
            found.append({"filters": family, "motif": motif})
    return {"strays": strays, "families": found}


def above_jump(sizes: np.ndarray) -> list[int]:
    """The few taps above a jump in size, if there is one."""
    order = np.argsort(-sizes, axis=None)
    top = sizes.ravel()[order[: len(order) // 20]]
    jumps = top[:-1] / np.maximum(top[1:], 1e-300)
    if not (jumps > JUMP).any():
        return []
    return sorted(order[: jumps.argmax() + 1].tolist())


def families(corner: np.ndarray) -> list[list[int]]:
    """Filters that are multiples of each other in a corner, which one copy alone reaches."""
    corner = corner / np.maximum(np.sqrt((corner**2).sum(axis=0)), 1e-300)
    alike = np.abs(corner.T @ corner) > 1 - ALIKE
    first = alike.argmax(axis=1)
    return [np.flatnonzero(first == one).tolist() for one in np.unique(first)]


def smallest_motif(family: np.ndarray, stride: int) -> list[int] | None:
    """The smallest part of the window to which some combination of the filters is confined."""
    rows, columns, _, count = family.shape
    energy = np.einsum("rqcm,rqcn->rqmn", family, family, optimize=True)
    whole = energy.sum(axis=(0, 1))
    sizes = [
        (height, width)
        for height in range(rows, 0, -stride)
        for width in range(columns, 0, -stride)
        if (height, width) != (rows, columns)
    ]
    for height, width in sorted(sizes, key=lambda size: size[0] * size[1]):
        outside = whole - energy[:height, :width].sum(axis=(0, 1))
        if np.linalg.eigvalsh(outside)[0] < NONE_LEFT * np.trace(whole) / count:
            return [height, width]
    return None
