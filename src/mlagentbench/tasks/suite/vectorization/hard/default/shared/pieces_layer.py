# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The starter's way, with pieces of five rows."""

import numpy as np
from numpy.lib.stride_tricks import as_strided

ROWS = 5


def prepare(filters, bias, stride, padding):
    return np.ascontiguousarray(filters), bias, stride, padding


def forward(inputs, layer):
    filters, bias, stride, padding = layer
    batch, height, width, channels = inputs.shape
    rows, columns, _, count = filters.shape
    padded = np.zeros((batch, height + 2 * padding, width + 2 * padding, channels))
    padded[:, padding : padding + height, padding : padding + width] = inputs
    down = (height + 2 * padding - rows) // stride + 1
    across = (width + 2 * padding - columns) // stride + 1
    image, row, column, value = padded.strides
    patches = as_strided(
        padded,
        (batch, down, across, rows, columns * channels),
        (image, row * stride, column * stride, row, value),
    )
    outputs = np.tile(bias, (batch * down * across, 1))
    for first in range(0, rows, ROWS):
        part = patches[:, :, :, first : first + ROWS].reshape(len(outputs), -1)
        outputs += part @ filters[first : first + ROWS].reshape(-1, count)
    np.maximum(outputs, 0, out=outputs)
    return outputs.reshape(batch, down, across, count)
