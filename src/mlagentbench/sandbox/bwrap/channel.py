"""The harness's side of the executor: one socket per request, carried over the control socket."""

import asyncio
import json
import os
import secrets
import socket
import struct
from collections.abc import Sequence

from mlagentbench.records import Json, Record
from mlagentbench.sandbox.bwrap.wait_readable import readable

LENGTH = struct.Struct(">I")
CHUNK = 1 << 20
MAX_ANSWER = 1 << 16


class ExecutorGone(Exception):
    """The executor, or the supervisor of a request, died or gave an answer that is not its own."""


class Answer(Record):
    """How a request ended, as the executor says."""

    nonce: str
    errno: int = 0
    exit_code: int | None = None
    start_error: int = 0
    cpu_seconds: float = 0.0
    filled: bool = False
    """Whether the command failed and there was no room left outside of the workspace."""
    clean: bool = True
    """Whether the next command finds the sandbox as this one did."""


class Request:
    """One request: closing it ends whatever it started inside."""

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
            raise ExecutorGone("not an answer of the executor") from error
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
        await readable(self._connection.fileno())
        _message, descriptors, _flags, _address = socket.recv_fds(self._connection, 1, 1)
        if not descriptors:
            raise ExecutorGone("closed before it handed a socket over")
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
        """Ask for the command and all that it started to be killed; the answer still comes."""
        try:
            self._connection.send(b"k")
        except (BrokenPipeError, ConnectionResetError):
            return

    async def gone(self) -> None:
        """Wait until the supervisor of this request has ended, having killed what it started."""
        self._connection.shutdown(socket.SHUT_WR)
        loop = asyncio.get_running_loop()
        try:
            while await loop.sock_recv(self._connection, CHUNK):
                continue
        except ConnectionResetError:
            return

    def close(self) -> None:
        self._connection.close()
