# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Looks for low rank in every direction, drops zero taps, and uses what saves most."""

import numpy as np
from numpy.lib.stride_tricks import as_strided

TOLERANCE = 1e-13


def basis_of(matrix):
    """Columns and coefficients whose product is the matrix, as few as there can be."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    rank = max(1, int((values > TOLERANCE * values[0]).sum()))
    return left[:, :rank] * values[:rank], right[:rank]


def prepare(filters, bias, stride, padding):
    rows, columns, channels, count = filters.shape
    high, wide = -(-rows // stride), -(-columns // stride)
    window = np.zeros((high * stride, wide * stride, channels, count))
    window[:rows, :columns] = filters
    blocks = window.reshape(high, stride, wide, stride, channels, count)
    blocks = blocks.transpose(1, 3, 4, 0, 2, 5).reshape(stride * stride * channels, -1)
    inner, kernel = basis_of(blocks)
    size = inner.shape[1]
    kernel = kernel.reshape(size, high, wide, count).transpose(1, 2, 0, 3)
    outer, mixing = basis_of(kernel.reshape(-1, count))
    saved = outer.shape[1] < 0.8 * count
    if saved:
        kernel = outer.reshape(high, wide, size, -1)
    if size > 0.95 * len(inner):
        inner, kernel = None, blocks.reshape(-1, high, wide, count).transpose(1, 2, 0, 3)
        saved = False
    pieces = np.ascontiguousarray(kernel).reshape(high, -1, kernel.shape[-1])
    shape = (rows, columns, wide)
    return shape, inner, pieces, mixing if saved else None, bias, stride, padding


def forward(inputs, layer):
    (rows, columns, reach), inner, pieces, mixing, bias, stride, padding = layer
    batch, height, width, channels = inputs.shape
    down = (height + 2 * padding - rows) // stride + 1
    across = (width + 2 * padding - columns) // stride + 1
    high = max(down + len(pieces) - 1, -(-(height + 2 * padding) // stride))
    wide = max(across + reach - 1, -(-(width + 2 * padding) // stride))
    padded = np.zeros((batch, high * stride, wide * stride, channels))
    padded[:, padding : padding + height, padding : padding + width] = inputs
    blocks = padded.reshape(batch, high, stride, wide, stride * channels)
    blocks = blocks.transpose(0, 1, 3, 2, 4).reshape(batch * high * wide, -1)
    if inner is not None:
        blocks = blocks @ inner
    blocks = blocks.reshape(batch, high, wide, -1)
    image, row, column, value = blocks.strides
    views = as_strided(
        blocks, (batch, high, across, reach * blocks.shape[3]), (image, row, column, value)
    )
    outputs = 0
    for place, piece in enumerate(pieces):
        part = views[:, place : place + down].reshape(-1, piece.shape[0])
        outputs = outputs + part @ piece
    if mixing is not None:
        outputs = outputs @ mixing
    outputs += bias
    np.maximum(outputs, 0, out=outputs)
    return outputs.reshape(batch, down, across, -1)
