"""A small HTTP server on sockets that others opened: one request a connection, everything limited.

What it reads comes from inside of a sandbox and is not trusted.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl, urlsplit

from mlagentbench.records import Json, Record

MAX_HEAD = 1 << 16
MAX_BODY = 4_000_000
READ_TIMEOUT = 60.0
MAX_CONNECTIONS = 64
REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests"}


class HttpRequest(Record):
    method: str
    path: str
    query: dict[str, str]
    body: bytes = b""


class HttpAnswer(Record):
    status: int = 200
    content_type: str = "application/json"
    body: bytes

    @classmethod
    def of_json(cls, value: Json, status: int = 200) -> "HttpAnswer":
        return cls(status=status, body=json.dumps(value).encode())

    @classmethod
    def error(cls, status: int, message: str, kind: str = "invalid_request_error") -> "HttpAnswer":
        """An error in the form that clients of OpenAI's API show to their users."""
        return cls.of_json({"error": {"message": message, "type": kind, "code": status}}, status)


Answer = Callable[[HttpRequest], Awaitable[HttpAnswer]]


class HttpServer:
    """Answers requests on every socket that it is given, until it is closed."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, listening: socket.socket) -> None:
        listening.setblocking(False)
        self._servers.append(
            await asyncio.start_server(self._connected, sock=listening, limit=MAX_HEAD)
        )

    async def close(self) -> None:
        """Listen no more, and break off what is under way."""
        for server in self._servers:
            server.close()
        self._servers.clear()
        under_way = tuple(self._connections)
        for connection in under_way:
            connection.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._connections) >= MAX_CONNECTIONS:
            writer.close()
            return
        self._connections.add(task)
        # The program inside may be gone before it has its answer.
        with contextlib.suppress(ConnectionError):
            try:
                answer = await self._answered(reader)
                writer.write(_head(answer) + answer.body)
                await writer.drain()
            finally:
                self._connections.discard(task)
                writer.close()

    async def _answered(self, reader: asyncio.StreamReader) -> HttpAnswer:
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                request = await _read(reader)
        except (ValueError, EOFError, TimeoutError, asyncio.LimitOverrunError) as error:
            return HttpAnswer.error(400, f"not a request that can be read: {error}")
        return await self._answer(request)


async def _read(reader: asyncio.StreamReader) -> HttpRequest:
    """Read one request; ValueError or EOFError when it is none."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip().split("\r\n")
    method, target, _version = first.split(" ", 2)
    fields = dict(line.partition(":")[::2] for line in lines)
    headers = {name.strip().lower(): value.strip() for name, value in fields.items()}
    if "transfer-encoding" in headers:
        raise ValueError("a body needs a Content-Length")
    length = int(headers.get("content-length", "0"))
    if not 0 <= length <= MAX_BODY:
        raise ValueError(f"a body of {length:,} bytes; at most {MAX_BODY:,} are read")
    body = await reader.readexactly(length) if length else b""
    parts = urlsplit(target)
    query = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=100))
    return HttpRequest(method=method, path=parts.path, query=query, body=body)


def _head(answer: HttpAnswer) -> bytes:
    reason = REASONS.get(answer.status, "Error")
    return (
        f"HTTP/1.1 {answer.status} {reason}\r\n"
        f"Content-Type: {answer.content_type}\r\n"
        f"Content-Length: {len(answer.body)}\r\n"
        "Connection: close\r\n\r\n"
    ).encode()
