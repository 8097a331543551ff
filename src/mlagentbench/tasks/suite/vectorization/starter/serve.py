"""Answers requests with the layer in convolution.py; this is the program that is timed.

A frame is its length (8 bytes, big-endian) and that many bytes. A request holds four arrays in
numpy's .npy format: images (uint8), filters, bias (float64), and stride and padding (int64). The
reply holds one: the outputs.
"""

import io
import os
import struct
from typing import BinaryIO

import numpy as np

LENGTH = struct.Struct(">Q")


def main() -> None:
    requests, replies = take_over_standard_streams()
    from convolution import forward

    while (frame := read_frame(requests)) is not None:
        images, filters, bias, (stride, padding) = read_arrays(frame, 4)
        outputs = forward(images / 255.0, filters, bias, int(stride), int(padding))
        write_frame(replies, outputs)


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


def read_arrays(frame: bytes, count: int) -> list[np.ndarray]:
    stream = io.BytesIO(frame)
    return [np.load(stream, allow_pickle=False) for _ in range(count)]


def write_frame(stream: BinaryIO, array: np.ndarray) -> None:
    frame = io.BytesIO()
    np.save(frame, array, allow_pickle=False)
    contents = frame.getbuffer()
    stream.write(LENGTH.pack(len(contents)))
    stream.write(contents)
    stream.flush()


if __name__ == "__main__":
    main()
