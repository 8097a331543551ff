"""Requests to the executor: one socket per request, passed over the control socket."""

import asyncio
import errno
import json
import os
import secrets
import socket
import struct
from collections.abc import Sequence

import anyio

from mlagentbench.records import Json, Record

LENGTH = struct.Struct(">I")
CHUNK = 1 << 20
MAX_ANSWER = 1 << 16


class ExecutorGone(Exception):
    """The executor or the supervisor of a request died, or sent an invalid answer."""


class Answer(Record):
    """How a request ended, as the executor reports it."""

    nonce: str
    errno: int = 0
    exit_code: int | None = None
    start_error: int = 0
    cpu_seconds: float = 0.0
    filled: bool = False
    """Whether the command failed and a writable place outside of the workspace was full."""
    clean: bool = True
    """Whether the sandbox is in the same state as before the command."""


class Request:
    """One request; closing it ends everything that it started."""

    def __init__(self, control: socket.socket, descriptors: Sequence[int] = ()) -> None:
        self._nonce = secrets.token_hex(8)
        self._connection, theirs = socket.socketpair()
        self._connection.setblocking(False)
        try:
            socket.send_fds(control, [b"r"], [theirs.fileno(), *descriptors])
        except OSError as error:
            self._connection.close()
            raise ExecutorGone(str(error)) from error
        finally:
            theirs.close()

    async def send(self, body: bytes = b"", **fields: Json) -> None:
        message = json.dumps({"nonce": self._nonce, **fields}).encode()
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._connection, LENGTH.pack(len(message)) + message)
            if body:
                await loop.sock_sendall(self._connection, body)
        except OSError as error:
            raise ExecutorGone(str(error)) from error

    async def answer(self) -> Answer:
        try:
            answer = Answer.model_validate_json(await self.frame(MAX_ANSWER))
        except ValueError as error:
            raise ExecutorGone("invalid answer") from error
        if answer.nonce != self._nonce:
            raise ExecutorGone("the answer to another request")
        return answer

    async def frame(self, max_bytes: int = CHUNK) -> bytes:
        (length,) = LENGTH.unpack(await self._exactly(LENGTH.size))
        if length > max_bytes:
            raise ExecutorGone(f"a frame of {length} bytes")
        return await self._exactly(length)

    async def passed_socket(self) -> socket.socket:
        """The socket that follows an answer."""
        await anyio.wait_readable(self._connection.fileno())
        _message, descriptors, _flags, _address = socket.recv_fds(self._connection, 1, 1)
        if not descriptors:
            raise ExecutorGone("closed before it passed a socket")
        os.set_inheritable(descriptors[0], False)
        return socket.socket(fileno=descriptors[0])

    async def _exactly(self, length: int) -> bytes:
        loop = asyncio.get_running_loop()
        received = bytearray()
        while len(received) < length:
            try:
                chunk = await loop.sock_recv(self._connection, length - len(received))
            except OSError as error:
                raise ExecutorGone(str(error)) from error
            if not chunk:
                raise ExecutorGone("closed before it answered")
            received += chunk
        return bytes(received)

    def end(self) -> None:
        """Have the command and everything it started killed; the answer still arrives."""
        try:
            self._connection.send(b"k")
        except (BrokenPipeError, ConnectionResetError):
            return

    async def gone(self) -> None:
        """Wait until the supervisor of this request has killed what it started and has ended."""
        self._connection.shutdown(socket.SHUT_WR)
        loop = asyncio.get_running_loop()
        try:
            while await loop.sock_recv(self._connection, CHUNK):
                continue
        except ConnectionResetError:
            return

    def close(self) -> None:
        self._connection.close()


async def read_file(control: socket.socket, path: str, max_bytes: int) -> bytes:
    """The bytes of a file; raises OSError with EFBIG if there are more than `max_bytes`."""
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
    """Write a complete file, creating its parents."""
    request = Request(control)
    try:
        await request.send(contents, kind="write", path=path, size=len(contents))
        _raise_for((await request.answer()).errno, path)
    finally:
        request.close()


async def listening_socket(control: socket.socket, port: int) -> socket.socket:
    """A socket that listens on a port of the sandbox's loopback."""
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
