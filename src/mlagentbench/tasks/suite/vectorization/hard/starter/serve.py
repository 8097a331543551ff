"""Answers requests with the layer in convolution.py; this is the program that is timed.

A frame is its length (8 bytes, big-endian) and that many bytes. A request holds arrays in numpy's
.npy format: images (uint8) for the published layer, which is prepared once, at the start; or images,
filters, bias (float64), and stride and padding (int64). The reply holds one: the outputs.
"""

import io
import os
import struct
from typing import BinaryIO

import numpy as np

LENGTH = struct.Struct(">Q")


def main() -> None:
    requests, replies = take_over_standard_streams()
    from convolution import forward, prepare

    published = prepare(*read_layer("layer.npz"))
    while (frame := read_frame(requests)) is not None:
        images, *other = read_arrays(frame)
        layer = published
        if other:
            filters, bias, (stride, padding) = other
            layer = prepare(filters, bias, int(stride), int(padding))
        write_frame(replies, forward(images / 255.0, layer))


def read_layer(file: str) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Filters and bias (float64), stride and padding of the published layer."""
    with np.load(file) as layer:
        filters = layer["weights"] * layer["scale"]
        return filters, layer["bias"], int(layer["stride"]), int(layer["padding"])


def take_over_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep stdin and stdout for frames; what the layer prints goes to stderr."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return requests, replies


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame, or None when there are no more."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return None
    return stream.read(LENGTH.unpack(header)[0])


def read_arrays(frame: bytes) -> list[np.ndarray]:
    stream, arrays = io.BytesIO(frame), []
    while stream.tell() < len(frame):
        arrays.append(np.load(stream, allow_pickle=False))
    return arrays


def write_frame(stream: BinaryIO, array: np.ndarray) -> None:
    frame = io.BytesIO()
    np.save(frame, array, allow_pickle=False)
    contents = frame.getbuffer()
    stream.write(LENGTH.pack(len(contents)))
    stream.write(contents)
    stream.flush()


if __name__ == "__main__":
    main()
