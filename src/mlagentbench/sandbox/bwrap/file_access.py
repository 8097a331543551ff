"""Files and ports through the executor, with the sandbox's eyes and rights."""

import errno
import os
import socket

from mlagentbench.sandbox.bwrap.channel import Request


async def read_file(control: socket.socket, path: str, max_bytes: int) -> bytes:
    """The bytes of a file; OSError with EFBIG when there are more than `max_bytes`."""
    request = Request(control)
    try:
        await request.send(kind="read", path=path, max_bytes=max_bytes)
        _raise_for((await request.answer()).errno, path)
        contents = bytearray()
        while chunk := await request.frame():
            contents += chunk
            if len(contents) > max_bytes:
                _raise_for(errno.EFBIG, path)
        return bytes(contents)
    finally:
        request.close()


async def write_file(control: socket.socket, path: str, contents: bytes) -> None:
    """Write a file whole, creating its parents."""
    request = Request(control)
    try:
        await request.send(contents, kind="write", path=path, size=len(contents))
        _raise_for((await request.answer()).errno, path)
    finally:
        request.close()


async def listening_socket(control: socket.socket, port: int) -> socket.socket:
    """A socket that listens on a port of the sandbox's own loopback, to be served from here."""
    request = Request(control)
    try:
        await request.send(kind="listen", port=port)
        _raise_for((await request.answer()).errno, f"port {port}")
        return await request.passed_socket()
    finally:
        request.close()


def _raise_for(number: int, path: str) -> None:
    if number:
        raise OSError(number, os.strerror(number), path)
