"""Writes the shape of the timed layer and a few examples with their right outputs.

Nothing is secret here: what is graded is drawn anew by requests.py at every grading.
"""

import json
import shutil
from pathlib import Path
from typing import Any

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
    examples = [_example(*settings, rng) for settings in EXAMPLES]
    (public / "examples.json").write_text(json.dumps(examples))


def _example(
    shape: tuple[int, ...],
    filter_shape: tuple[int, int, int],
    stride: int,
    padding: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Inputs and right outputs; all are multiples of 1/128, so that no machine has to round."""
    rows, columns, count = filter_shape
    inputs = rng.integers(0, 17, size=shape) / 16
    filters = rng.integers(-8, 9, size=(rows, columns, shape[3], count)) / 8
    bias = rng.integers(-8, 9, size=count) / 8
    return {
        "inputs": inputs.tolist(),
        "filters": filters.tolist(),
        "bias": bias.tolist(),
        "stride": stride,
        "padding": padding,
        "outputs": convolve(inputs, filters, bias, stride, padding).tolist(),
    }


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
