"""Writes the shape of the timed layer and a few examples with their right outputs.

Nothing is secret here: what is graded is drawn anew by requests.py at every grading.
"""

import shutil
from pathlib import Path

import numpy as np

EXAMPLES = (
    # images (batch, height, width, channels), filters (rows, columns, count), stride, padding
    ((2, 8, 8, 3), (3, 3, 4), 2, 2),
    ((1, 7, 10, 2), (2, 3, 3), 1, 0),
    ((3, 9, 6, 1), (1, 1, 2), 3, 1),
    ((2, 12, 12, 4), (5, 5, 6), 2, 1),
)


def prepare(raw: Path, public: Path, private: Path, rng: np.random.Generator) -> None:
    shutil.copyfile(raw / "layer.json", public / "layer.json")
    shutil.copyfile(raw / "requests.json", private / "requests.json")
    arrays: dict[str, np.ndarray] = {"count": np.array(len(EXAMPLES))}
    for n, (shape, (rows, columns, count), stride, padding) in enumerate(EXAMPLES):
        images = rng.integers(0, 256, size=shape, dtype=np.uint8)
        filters = rng.normal(size=(rows, columns, shape[3], count))
        bias = rng.normal(size=count)
        arrays[f"images_{n}"], arrays[f"filters_{n}"], arrays[f"bias_{n}"] = images, filters, bias
        arrays[f"settings_{n}"] = np.array([stride, padding])
        arrays[f"outputs_{n}"] = convolve(images / 255.0, filters, bias, stride, padding)
    np.savez(public / "examples.npz", **arrays)


def convolve(
    inputs: np.ndarray, filters: np.ndarray, bias: np.ndarray, stride: int, padding: int
) -> np.ndarray:
    """The right outputs: one patch after the other."""
    rows, columns, _, count = filters.shape
    padded = np.pad(inputs, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    height = (padded.shape[1] - rows) // stride + 1
    width = (padded.shape[2] - columns) // stride + 1
    outputs = np.empty((len(inputs), height, width, count))
    for y, x in np.ndindex(height, width):
        top, left = y * stride, x * stride
        patches = padded[:, top : top + rows, left : left + columns]
        outputs[:, y, x] = np.tensordot(patches, filters, axes=3) + bias
    return np.maximum(outputs, 0.0)
