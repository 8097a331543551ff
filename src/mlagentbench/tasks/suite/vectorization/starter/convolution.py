"""The forward pass of a convolution layer, written the obvious way."""

import numpy as np


def forward(
    inputs: np.ndarray, filters: np.ndarray, bias: np.ndarray, stride: int, padding: int
) -> np.ndarray:
    """Convolve a batch of images with a set of filters, add the bias and apply relu.

    inputs: (batch, height, width, channels); filters: (rows, columns, channels, filters);
    bias: (filters,). Returns (batch, output height, output width, filters).
    """
    batch, height, width, _ = inputs.shape
    rows, columns, _, count = filters.shape
    padded = np.pad(inputs, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    output_height = (height + 2 * padding - rows) // stride + 1
    output_width = (width + 2 * padding - columns) // stride + 1
    outputs = np.zeros((batch, output_height, output_width, count))
    for image in range(batch):
        for y in range(output_height):
            for x in range(output_width):
                top, left = y * stride, x * stride
                patch = padded[image, top : top + rows, left : left + columns]
                for n in range(count):
                    value = np.sum(patch * filters[..., n]) + bias[n]
                    outputs[image, y, x, n] = max(value, 0.0)
    return outputs
