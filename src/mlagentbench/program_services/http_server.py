"""An HTTP server for untrusted clients: Starlette on uvicorn, with limits on size, time and number.

The clients are programs inside a sandbox. The sandbox opens the listening socket.
"""

import asyncio
import socket
from typing import TYPE_CHECKING

import h11
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

if TYPE_CHECKING:
    from starlette.types import ASGIApp

MAX_HEAD = 1 << 16
MAX_BODY = 4_000_000
READ_TIMEOUT = 60.0
MAX_CONNECTIONS = 64
ERROR_TYPES = {429: "insufficient_quota", 500: "server_error", 503: "server_error"}


class LimitedProtocol(H11Protocol):
    """Uvicorn's HTTP protocol, which also limits connections and the time a request may take."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer = self.loop.call_later(READ_TIMEOUT, self._refuse_incomplete)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep a half-closed connection open: its client may wait for the answer."""
        self._refuse_incomplete()
        return True

    def _refuse_incomplete(self) -> None:
        unanswered = self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE)
        if unanswered and self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self.send_400_response("The request is incomplete.")


class HttpServer:
    """Serves an app on every socket it is given, one request per connection, until closed."""

    def __init__(self, app: "ASGIApp") -> None:
        self._config = Config(
            app,
            http=LimitedProtocol,
            h11_max_incomplete_event_size=MAX_HEAD,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
        )
        self._state = ServerState()
        self._state.default_headers = [(b"connection", b"close")]
        self._servers: list[asyncio.Server] = []

    async def serve(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: LimitedProtocol(self._config, self._state, {}), sock=listening
        )
        self._servers.append(server)

    async def close(self) -> None:
        """Stop listening and cancel the requests in progress."""
        for server in self._servers:
            server.close()
        self._servers.clear()
        for connection in tuple(self._state.connections):
            connection.transport.abort()
        requests = tuple(self._state.tasks)
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)


async def read_body(request: Request) -> bytes:
    """The body of a request; raises HTTPException when it is incomplete or too long."""
    body = bytearray()
    announced = int(request.headers.get("content-length", 0))
    if announced > MAX_BODY:
        raise HTTPException(400, f"the body is longer than {MAX_BODY:,} bytes")
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                raise HTTPException(400, f"the body is longer than {MAX_BODY:,} bytes")
    except ClientDisconnect as error:
        raise HTTPException(400, "the body is incomplete") from error
    return bytes(body)


def error_response(status: int, message: str) -> JSONResponse:
    """An error in the form that clients of OpenAI's API show to their users."""
    kind = ERROR_TYPES.get(status, "invalid_request_error")
    return JSONResponse({"error": {"message": message, "type": kind, "code": status}}, status)
