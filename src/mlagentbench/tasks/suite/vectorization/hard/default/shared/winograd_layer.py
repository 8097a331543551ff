# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Blocks of a stride become channels; then Winograd's way of computing tiles of outputs."""

import numpy as np
from numpy.lib.stride_tricks import as_strided

TILE = 6
POINTS = (0, 1, -1, 1 / 2, -1 / 2, 2, -2, 3 / 4, -3 / 4, 4 / 3, -4 / 3, 1 / 4, -1 / 4)


def powers(count, size):
    """Polynomials of a size at the first points, and at infinity."""
    matrix = np.vander(POINTS[: count - 1], size, increasing=True)
    return np.vstack([matrix, np.eye(size)[-1]])


def prepare(filters, bias, stride, padding):
    rows, columns, channels, count = filters.shape
    high, wide = -(-rows // stride), -(-columns // stride)
    window = np.zeros((high * stride, wide * stride, channels, count))
    window[:rows, :columns] = filters
    blocks = window.reshape(high, stride, wide, stride, channels, count)
    blocks = blocks.transpose(0, 2, 1, 3, 4, 5).reshape(high, wide, -1, count)
    down, across = (powers(TILE + size - 1, size) for size in (high, wide))
    blocks = np.tensordot(down, blocks, axes=(1, 0))
    blocks = np.tensordot(across, blocks, axes=(1, 1)).transpose(1, 0, 2, 3)
    return (rows, columns, high, wide), np.ascontiguousarray(blocks), bias, stride, padding


def forward(inputs, layer):
    (rows, columns, high, wide), kernels, bias, stride, padding = layer
    batch, height, width, channels = inputs.shape
    down = (height + 2 * padding - rows) // stride + 1
    across = (width + 2 * padding - columns) // stride + 1
    tiles = -(-down // TILE), -(-across // TILE)
    tall, broad = tiles[0] * TILE + high - 1, tiles[1] * TILE + wide - 1
    tall = max(tall, -(-(height + 2 * padding) // stride))
    broad = max(broad, -(-(width + 2 * padding) // stride))
    padded = np.zeros((batch, tall * stride, broad * stride, channels))
    padded[:, padding : padding + height, padding : padding + width] = inputs
    blocks = padded.reshape(batch, tall, stride, broad, stride * channels)
    blocks = np.ascontiguousarray(blocks.transpose(0, 1, 3, 2, 4)).reshape(batch, tall, broad, -1)
    size = TILE + high - 1, TILE + wide - 1
    image, row, column, value = blocks.strides
    views = as_strided(
        blocks,
        (size[0], size[1], batch, *tiles, blocks.shape[3]),
        (row, column, image, row * TILE, column * TILE, value),
    )
    first, second = (np.linalg.inv(powers(count, count)).T for count in size)
    values = first @ views.reshape(size[0], -1)
    values = second @ values.reshape(size[0], size[1], -1)
    products = values.reshape(size[0] * size[1], -1, kernels.shape[2]) @ kernels.reshape(
        size[0] * size[1], kernels.shape[2], -1
    )
    outputs = powers(size[0], TILE).T @ products.reshape(size[0], -1)
    outputs = powers(size[1], TILE).T @ outputs.reshape(TILE, size[1], -1)
    outputs = outputs.reshape(TILE, TILE, batch, *tiles, -1).transpose(2, 3, 0, 4, 1, 5)
    outputs = outputs.reshape(batch, tiles[0] * TILE, tiles[1] * TILE, -1)[:, :down, :across]
    return np.maximum(outputs + bias, 0)
