# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The forward pass of a convolution layer as one matrix product."""

import numpy as np
from numpy.lib.stride_tricks import as_strided


def forward(
    inputs: np.ndarray, filters: np.ndarray, bias: np.ndarray, stride: int, padding: int
) -> np.ndarray:
    """Convolve a batch of images with a set of filters, add the bias and apply relu.

    inputs: (batch, height, width, channels); filters: (rows, columns, channels, filters);
    bias: (filters,). Returns (batch, output height, output width, filters).
    """
    batch, height, width, channels = inputs.shape
    rows, columns, _, count = filters.shape
    padded = np.zeros((batch, height + 2 * padding, width + 2 * padding, channels))
    padded[:, padding : padding + height, padding : padding + width] = inputs
    output_height = (height + 2 * padding - rows) // stride + 1
    output_width = (width + 2 * padding - columns) // stride + 1

    # A row of a patch, all channels, lies in one piece of memory: patches are copied row by row.
    image_step, row_step, column_step, value_step = padded.strides
    patches = as_strided(
        padded,
        shape=(batch, output_height, output_width, rows, columns * channels),
        strides=(image_step, row_step * stride, column_step * stride, row_step, value_step),
        writeable=False,
    ).reshape(-1, rows * columns * channels)

    outputs = patches @ filters.reshape(-1, count)
    outputs += bias
    np.maximum(outputs, 0.0, out=outputs)
    return outputs.reshape(batch, output_height, output_width, count)
