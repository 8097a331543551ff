"""Answers requests with generate.py; this is the program that is timed.

A frame is its length (8 bytes, big-endian) and that many bytes of JSON. A request is
{"prompts": [[token, ...], ...], "new_tokens": n}, its reply {"tokens": [[token, ...], ...]}.
"""

import json
import os
import struct
from pathlib import Path
from typing import Any, BinaryIO

import torch

LENGTH = struct.Struct(">Q")


def main() -> None:
    requests, replies = take_over_standard_streams()
    torch.set_num_threads(json.loads(Path("serving.json").read_text())["threads"])
    from generate import generate, load

    model = load(Path("model"))
    while (request := read_frame(requests)) is not None:
        tokens = generate(model, request["prompts"], request["new_tokens"])
        write_frame(replies, {"tokens": tokens})


def take_over_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep stdin and stdout for frames; what generate.py prints goes to stderr."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return requests, replies


def read_frame(stream: BinaryIO) -> Any:
    """The next request, or None when there are no more."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return None
    return json.loads(stream.read(LENGTH.unpack(header)[0]))


def write_frame(stream: BinaryIO, reply: Any) -> None:
    contents = json.dumps(reply).encode()
    stream.write(LENGTH.pack(len(contents)) + contents)
    stream.flush()


if __name__ == "__main__":
    main()
