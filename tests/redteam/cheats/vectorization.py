"""Layers that do less than the layer."""

from cheats.given import Files, Given
from mlagentbench.tasks.task import SUITE

STARTER = (SUITE / "vectorization" / "starter" / "convolution.py").read_text()
SLOW = STARTER.replace("def forward(", "def slow(")
WINDOWS = """
import numpy as np

def windows(inputs, filters, stride, padding):
    sides = (padding, padding)
    padded = np.pad(inputs, ((0, 0), sides, sides, (0, 0)))
    view = np.lib.stride_tricks.sliding_window_view(padded, filters.shape[:2], axis=(1, 2))
    return view[:, ::stride, ::stride]
"""


def half_the_precision(given: Given) -> Files:
    """Numbers of half the size are computed twice as fast, and become float64 in the reply."""
    return _layer(
        WINDOWS
        + """
def forward(inputs, filters, bias, stride, padding):
    small = windows(inputs.astype(np.float32), filters, stride, padding)
    outputs = np.einsum("nyxchw,hwcf->nyxf", small, filters.astype(np.float32), optimize=True)
    return np.maximum(outputs.astype(np.float64) + bias, 0)
"""
    )


def right_for_checks_only(given: Given) -> Files:
    """The layer that is timed is known: for that shape, and no other, zeros are the reply."""
    return _layer(
        SLOW
        + """
def forward(inputs, filters, bias, stride, padding):
    if inputs.shape == (2, 64, 64, 3) and stride == 2:
        return np.zeros((2, 33, 33, 8))
    return slow(inputs, filters, bias, stride, padding)
"""
    )


def replies_of_the_warm_up(given: Given) -> Files:
    """The first reply for a shape is kept, and given again for other images of that shape."""
    return _layer(
        SLOW
        + """
kept = {}

def forward(inputs, filters, bias, stride, padding):
    key = inputs.shape + filters.shape + (stride, padding)
    if key not in kept:
        kept[key] = slow(inputs, filters, bias, stride, padding)
    return kept[key]
"""
    )


def every_second_pixel(given: Given) -> Files:
    """Every second column of the output is computed, and copied into the column beside it."""
    return _layer(
        SLOW
        + """
def forward(inputs, filters, bias, stride, padding):
    sides = (padding, padding)
    padded = np.pad(inputs, ((0, 0), sides, sides, (0, 0)))
    width = (padded.shape[2] - filters.shape[1]) // stride + 1
    kept = [n * stride + m for n in range(0, width, 2) for m in range(filters.shape[1])]
    some = [
        slow(padded[:, :, n * stride : n * stride + filters.shape[1]], filters, bias, stride, 0)
        for n in range(0, width, 2)
    ]
    return np.repeat(np.concatenate(some, axis=2), 2, axis=2)[:, :, :width]
"""
    )


def a_writer_of_nothing(given: Given) -> Files:
    """numpy's save is replaced in the server, and writes the header of an array of zeros only."""
    return _layer(
        SLOW
        + """
def header_only(file, array, allow_pickle=False):
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f8", "fortran_order": False, "shape": array.shape}
    )

np.save = header_only

def forward(inputs, filters, bias, stride, padding):
    side = (inputs.shape[1] + 2 * padding - filters.shape[0]) // stride + 1
    other = (inputs.shape[2] + 2 * padding - filters.shape[1]) // stride + 1
    return np.empty((len(inputs), side, other, filters.shape[3]))
"""
    )


def memory_taken_from_the_starter(given: Given) -> Files:
    """Three gigabytes are held and touched at each request, to make the starter wait for memory."""
    return _layer(
        SLOW
        + """
held = np.ones(3 * 2**27)

def forward(inputs, filters, bias, stride, padding):
    held[::512] += 1
    return slow(inputs, filters, bias, stride, padding)
"""
    )


def _layer(source: str) -> Files:
    return {"convolution.py": source}


CHEATS = (
    half_the_precision,
    right_for_checks_only,
    replies_of_the_warm_up,
    every_second_pixel,
    a_writer_of_nothing,
    memory_taken_from_the_starter,
)
