# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Undoes what the recorder of a dive did; pictures are of shape (frames, rows, columns, planes)."""

import itertools
from typing import Any

import numpy as np


def undo(pictures: np.ndarray, findings: dict[str, Any], dive: str) -> np.ndarray:
    """The pictures of a dive as the camera saw them, as floats."""
    lines, frames = findings["lines"], findings["frames"]
    pictures = undo_lines(pictures, lines["kind"], lines["axis"], lines["settings"][dive])
    return undo_frames(pictures, frames["kind"], frames["settings"][dive])


def undo_lines(pictures: np.ndarray, kind: str, axis: int, setting: list) -> np.ndarray:
    turned = pictures.swapaxes(1, 1 + axis)
    if kind == "reordered":
        turned = turned[:, setting]
    elif kind == "rolled":
        parts = [np.roll(turned[:, n], -offset, axis=1) for n, offset in enumerate(setting)]
        turned = np.stack(parts, axis=1)
    elif kind == "mirrored":
        turned = np.where(np.array(setting)[:, None, None], turned[:, :, ::-1], turned)
    return turned.swapaxes(1, 1 + axis)


def undo_frames(pictures: np.ndarray, kind: str, setting: Any) -> np.ndarray:
    seen = pictures.copy()
    if kind == "delayed":
        for plane, delay in enumerate(setting):
            seen[..., plane] = np.roll(pictures[..., plane], -delay, axis=0)
    elif kind == "predicted":
        for before, plane in itertools.pairwise(setting):
            seen[..., plane] += seen[..., before]
    elif kind in ("differences", "sums"):
        for t in range(1, len(pictures)):
            if t not in setting:
                seen[t] = (
                    pictures[t] + seen[t - 1]
                    if kind == "differences"
                    else seen[t] - pictures[t - 1]
                )
    seen = seen.astype(float)
    if kind == "echo":
        share, lag = setting
        for t in range(lag, len(seen)):
            seen[t] = (seen[t] - (1 - share) * seen[t - lag]) / share
    return seen


def steps(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """How far bytes are apart if 255 is next to 0."""
    return np.abs((first - second).view(np.int8).astype(np.int16))


def roughness(pictures: np.ndarray) -> float:
    """The mean step between neighbouring pixels."""
    values = pictures.astype(np.float32)
    return sum(float(np.abs(np.diff(values, axis=axis)).mean()) for axis in (1, 2))


def round_roughness(pictures: np.ndarray) -> float:
    """The same for bytes that may have overflowed."""
    rows = steps(pictures[:, 1:], pictures[:, :-1]).mean()
    return float(rows + steps(pictures[:, :, 1:], pictures[:, :, :-1]).mean())
