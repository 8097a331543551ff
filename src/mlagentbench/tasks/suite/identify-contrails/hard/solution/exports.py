# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""What can have gone wrong with an annotator's masks: orders of records, layouts of pixels."""

from collections.abc import Callable
from itertools import permutations

import numpy as np

WORDS = ("rows", "columns")


def orders(count: int) -> dict[str, np.ndarray]:
    """Which mask is in the place of each record, by name."""
    places = np.arange(count)
    found = {}
    for start in range(count):
        found[f"from {start}"] = np.roll(places, -start)
        found[f"backwards from {start}"] = np.roll(places[::-1], -start)
    for size in range(2, count // 2 + 1):
        blocks = [places[first : first + size][::-1] for first in range(0, count, size)]
        found[f"blocks of {size} backwards"] = np.concatenate(blocks)
        found[f"every {size}th"] = np.concatenate([places[first::size] for first in range(size)])
    return found


def layouts(size: int) -> dict[str, np.ndarray]:
    """From which pixel, counted along rows, each pixel is, by name; -1 is from nowhere."""
    pixels = np.arange(size * size).reshape(size, size)
    half = size // 2
    found = {"straight": pixels}
    for turns in range(4):
        found[f"turned {turns}"] = np.rot90(pixels, turns)
        found[f"mirrored, turned {turns}"] = np.rot90(pixels[:, ::-1], turns)
    parts = [pixels[r : r + half, c : c + half] for r in (0, half) for c in (0, half)]
    for order in permutations(range(4)):
        for turns in range(4):
            chosen = [np.rot90(parts[place], turns) for place in order]
            found[f"tiles {order} turned {turns}"] = np.block([chosen[:2], chosen[2:]])
    for word, side in zip(WORDS, (pixels, pixels.T), strict=True):
        for name, change in changes_of_rows(size):
            changed = change(side)
            found[f"{word} {name}"] = changed if word == WORDS[0] else changed.T
    for scale in np.arange(0.5, 1, 0.05).round(2):
        for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
            found[f"zoomed {scale} {corner}"] = zoomed(pixels, scale, corner)
    return {name: layout.ravel() for name, layout in found.items()}


def changes_of_rows(size: int) -> list[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
    half, changes = size // 2, []
    for width in (w for w in range(1, half + 1) if size % w == 0):

        def reverse(rows: np.ndarray, width: int = width) -> np.ndarray:
            return np.concatenate(np.split(rows, size // width)[::-1])

        changes.append((f"in strips of {width}", reverse))
    for slope in (-2, -1, -0.5, -0.25, 0.25, 0.5, 1, 2):

        def shear(rows: np.ndarray, slope: float = slope) -> np.ndarray:
            return np.stack([np.roll(row, int(slope * i)) for i, row in enumerate(rows)])

        changes.append((f"sheared {slope}", shear))
    for step in range(2, 7):

        def comb(rows: np.ndarray, step: int = step) -> np.ndarray:
            return np.concatenate([rows[first::step] for first in range(step)])

        changes.append((f"combed by {step}", comb))
    return changes


def zoomed(pixels: np.ndarray, scale: float, corner: tuple[int, int]) -> np.ndarray:
    size = len(pixels)
    places = np.floor((np.arange(size) + 0.5) / scale).astype(int)
    sources = []
    for end in corner:
        one = np.where(places < size, places, -1)
        sources.append(np.where(one[::-1] >= 0, size - 1 - one[::-1], -1) if end else one)
    inside = np.logical_and.outer(sources[0] >= 0, sources[1] >= 0)
    return np.where(inside, pixels[np.ix_(*sources)], -1)


def undone(masks: np.ndarray, order: np.ndarray, layout: np.ndarray, shift: list) -> np.ndarray:
    """The masks as they were drawn; NaN where that is not known."""
    rows, columns = masks.shape[1:]
    known = np.full((len(masks), rows, columns), np.nan, dtype=np.float32)
    down, right = shift
    to = np.s_[:, max(-down, 0) : rows - max(down, 0), max(-right, 0) : columns - max(right, 0)]
    of = np.s_[:, max(down, 0) : rows - max(-down, 0), max(right, 0) : columns - max(-right, 0)]
    known[to] = masks[of]
    flat = known.reshape(len(masks), -1)
    drawn = np.full_like(flat, np.nan)
    drawn[:, layout[layout >= 0]] = flat[:, layout >= 0]
    back = np.empty_like(drawn)
    back[order] = drawn
    return back.reshape(masks.shape)


def repair(masks: np.ndarray, annotators: np.ndarray, exports: dict) -> np.ndarray:
    """All masks as they were drawn; NaN where that is not known."""
    repaired = masks.astype(np.float32)
    for who, export in exports.items():
        own = annotators == int(who)
        order = orders(own.sum())[export["order"]]
        layout = layouts(masks.shape[1])[export["layout"]]
        repaired[own] = undone(masks[own], order, layout, export["shift"])
    return repaired
