"""The forward pass of a convolution layer: patches times filters, in pieces that fit the cache."""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

ROWS = 2
"""Rows of the window whose pieces of all patches are multiplied at once."""


class Layer(NamedTuple):
    filters: np.ndarray
    bias: np.ndarray
    stride: int
    padding: int


def prepare(filters: np.ndarray, bias: np.ndarray, stride: int, padding: int) -> Layer:
    """Whatever can be done before inputs are known.

    filters: (rows, columns, channels, filters); bias: (filters,).
    """
    return Layer(np.ascontiguousarray(filters), bias, stride, padding)


def forward(inputs: np.ndarray, layer: Layer) -> np.ndarray:
    """Convolve a batch of images with a set of filters, add the bias and apply relu.

    inputs: (batch, height, width, channels). Returns (batch, output height, output width, filters).
    """
    batch, height, width, channels = inputs.shape
    rows, columns, _, count = layer.filters.shape
    stride, padding = layer.stride, layer.padding
    padded = np.zeros((batch, height + 2 * padding, width + 2 * padding, channels))
    padded[:, padding : padding + height, padding : padding + width] = inputs
    output_height = (height + 2 * padding - rows) // stride + 1
    output_width = (width + 2 * padding - columns) // stride + 1

    image_step, row_step, column_step, value_step = padded.strides
    patches = as_strided(
        padded,
        shape=(batch, output_height, output_width, rows, columns * channels),
        strides=(image_step, row_step * stride, column_step * stride, row_step, value_step),
        writeable=False,
    )
    outputs = np.tile(layer.bias, (batch * output_height * output_width, 1))
    for row in range(0, rows, ROWS):
        pieces = patches[:, :, :, row : row + ROWS].reshape(len(outputs), -1)
        outputs += pieces @ layer.filters[row : row + ROWS].reshape(-1, count)
    np.maximum(outputs, 0.0, out=outputs)
    return outputs.reshape(batch, output_height, output_width, count)
