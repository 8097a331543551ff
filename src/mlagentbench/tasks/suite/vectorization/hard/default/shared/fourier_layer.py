# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Blocks of a stride become channels; tiles of outputs are computed in the frequency domain."""

import numpy as np
from numpy.lib.stride_tricks import as_strided

SIZE = 16


def prepare(filters, bias, stride, padding):
    rows, columns, channels, count = filters.shape
    high, wide = -(-rows // stride), -(-columns // stride)
    size = max(SIZE, 2 * high, 2 * wide)
    window = np.zeros((high * stride, wide * stride, channels, count))
    window[:rows, :columns] = filters
    blocks = window.reshape(high, stride, wide, stride, channels, count)
    blocks = blocks.transpose(0, 2, 1, 3, 4, 5).reshape(high, wide, -1, count)
    spectrum = np.conj(np.fft.rfft2(blocks, s=(size, size), axes=(0, 1)))
    spectrum = np.ascontiguousarray(spectrum).reshape(-1, *spectrum.shape[2:])
    return (rows, columns, high, wide, size), spectrum, bias, stride, padding


def forward(inputs, layer):
    (rows, columns, high, wide, size), kernels, bias, stride, padding = layer
    batch, height, width, channels = inputs.shape
    down = (height + 2 * padding - rows) // stride + 1
    across = (width + 2 * padding - columns) // stride + 1
    tile = size - high + 1, size - wide + 1
    tiles = -(-down // tile[0]), -(-across // tile[1])
    tall = max((tiles[0] - 1) * tile[0] + size, -(-(height + 2 * padding) // stride))
    broad = max((tiles[1] - 1) * tile[1] + size, -(-(width + 2 * padding) // stride))
    padded = np.zeros((batch, tall * stride, broad * stride, channels))
    padded[:, padding : padding + height, padding : padding + width] = inputs
    blocks = padded.reshape(batch, tall, stride, broad, stride * channels)
    blocks = np.ascontiguousarray(blocks.transpose(0, 1, 3, 2, 4)).reshape(batch, tall, broad, -1)
    image, row, column, value = blocks.strides
    views = as_strided(
        blocks,
        (size, size, batch, *tiles, blocks.shape[3]),
        (row, column, image, row * tile[0], column * tile[1], value),
    )
    spectrum = np.fft.rfft2(views.reshape(size, size, -1), axes=(0, 1))
    products = spectrum.reshape(len(kernels), -1, kernels.shape[1]) @ kernels
    products = products.reshape(size, size // 2 + 1, -1)
    outputs = np.fft.irfft2(products, s=(size, size), axes=(0, 1))[: tile[0], : tile[1]]
    outputs = outputs.reshape(*tile, batch, *tiles, -1).transpose(2, 3, 0, 4, 1, 5)
    outputs = outputs.reshape(batch, tiles[0] * tile[0], tiles[1] * tile[1], -1)
    return np.maximum(outputs[:, :down, :across] + bias, 0)
