"""A small server on 127.0.0.1 that a provider's real client takes for the provider."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What the server sends back: JSON, or a text that is sent as it is."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    path: str
    headers: Mapping[str, str]
    body: Any


Aside = Callable[[Request], Answer | None]
"""Answers what a client asks of its own accord, beside what we ask; else None."""


class WireServer:
    """Gives planned answers, one for each request, and the last one again and again."""

    def __init__(self, aside: Aside) -> None:
        self.requests: list[Request] = []
        self._planned: list[Answer] = []
        self._aside = aside
        self._turn = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def plan(self, *answers: Answer) -> None:
        """Say these from now on; what was asked before is forgotten."""
        self._planned = list(answers)
        self.requests.clear()

    def answer(self, request: Request) -> Answer:
        with self._turn:
            aside = self._aside(request)
            if aside is not None:
                return aside
            self.requests.append(request)
            return self._planned[min(len(self.requests), len(self._planned)) - 1]

    @contextmanager
    def running(self) -> Iterator["WireServer"]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self._send(server.answer(Request(self.path, headers, json.loads(sent or "null"))))

            do_GET = do_POST

            def _send(self, answer: Answer) -> None:
                text = isinstance(answer.body, str)
                sent = (answer.body if text else json.dumps(answer.body)).encode()
                kind = "text/event-stream" if text else "application/json"
                self.send_response(answer.status)
                for name, value in {"Content-Type": kind, **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_: object) -> None:
                """The test looks at the requests instead."""

        return Handler
