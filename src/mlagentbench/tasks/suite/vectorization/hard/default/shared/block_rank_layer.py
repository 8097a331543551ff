# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Each block of the window has its own rank; where it is low, two thin products replace one."""

import numpy as np

TOLERANCE = 1e-13


def prepare(filters, bias, stride, padding):
    rows, columns, channels, count = filters.shape
    high, wide = -(-rows // stride), -(-columns // stride)
    window = np.zeros((high * stride, wide * stride, channels, count))
    window[:rows, :columns] = filters
    blocks = window.reshape(high, stride, wide, stride, channels, count)
    blocks = blocks.transpose(0, 2, 1, 3, 4, 5).reshape(high, wide, -1, count)
    whole, thin, mixing = [], [], []
    for place in np.ndindex(high, wide):
        left, values, right = np.linalg.svd(blocks[place], full_matrices=False)
        rank = max(1, int((values > TOLERANCE * values[0]).sum()))
        if rank * (len(left) + count) < 0.9 * len(left) * count:
            thin.append((place, left[:, :rank] * values[:rank]))
            mixing.append(right[:rank])
        else:
            whole.append((place, np.ascontiguousarray(blocks[place])))
    mixing = np.concatenate(mixing) if mixing else np.zeros((0, count))
    return (rows, columns, high, wide), whole, thin, mixing, bias, stride, padding


def forward(inputs, layer):
    (rows, columns, high, wide), whole, thin, mixing, bias, stride, padding = layer
    batch, height, width, channels = inputs.shape
    down = (height + 2 * padding - rows) // stride + 1
    across = (width + 2 * padding - columns) // stride + 1
    tall = max(down + high - 1, -(-(height + 2 * padding) // stride))
    broad = max(across + wide - 1, -(-(width + 2 * padding) // stride))
    padded = np.zeros((batch, tall * stride, broad * stride, channels))
    padded[:, padding : padding + height, padding : padding + width] = inputs
    blocks = padded.reshape(batch, tall, stride, broad, stride * channels)
    blocks = np.ascontiguousarray(blocks.transpose(0, 1, 3, 2, 4)).reshape(batch, tall, broad, -1)
    outputs = np.tile(bias, (batch * down * across, 1))
    for (y, x), matrix in whole:
        part = blocks[:, y : y + down, x : x + across].reshape(len(outputs), -1)
        outputs += part @ matrix
    between, first = np.empty((len(outputs), len(mixing))), 0
    for (y, x), matrix in thin:
        part = blocks[:, y : y + down, x : x + across].reshape(len(outputs), -1)
        between[:, first : first + matrix.shape[1]] = part @ matrix
        first += matrix.shape[1]
    outputs += between @ mixing
    return np.maximum(outputs, 0).reshape(batch, down, across, -1)
