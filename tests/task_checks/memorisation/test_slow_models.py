"""A model on a slow server: nothing that it answered is lost, whatever ends the command."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from inspect_ai.model import get_model

from mlagentbench.task_checks.memorisation.kept_replies import AT_ONCE, KeptReplies
from mlagentbench.tasks.data.preparation import PreparedData

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
COMMAND = str(Path(sys.executable).with_name("mlagentbench"))
QUESTIONS = 60
"""Three tests of 10 rows, each about the full and the mini tier."""


class SlowServer:
    """Speaks OpenAI's protocol, and works on one request at a time, as llama.cpp does."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.answered: list[str] = []
        """The prompts whose answers were sent."""
        self._turn = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                prompt = json.loads(self.rfile.read(length))["messages"][-1]["content"]
                with server._turn:
                    time.sleep(server.seconds)
                    body = json.dumps(_reply()).encode()
                    try:
                        self.send_response(200)
                        self.send_header("Content-Type", "application/json")
                        self.send_header("Content-Length", str(len(body)))
                        self.end_headers()
                        self.wfile.write(body)
                    except OSError:
                        return  # the client has gone
                    server.answered.append(prompt)

            def log_message(self, *_: object) -> None: ...

        return Handler


def _reply() -> dict[str, Any]:
    message = {"role": "assistant", "content": "1"}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "slow",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


@pytest.fixture
def server() -> Iterator[SlowServer]:
    slow = SlowServer(0.2)
    yield slow
    slow.close()


@pytest.fixture
def command(
    server: SlowServer, data: PreparedData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    monkeypatch.setenv("LOCAL_BASE_URL", server.url)
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    line = "tasks memorisation openai-api/local/slow --tasks house-price --rows 10 --out"
    return [COMMAND, *line.split(), str(tmp_path / "result.json")]


def kept(home: Path) -> int:
    files = home.glob("memorisation/*.replies.jsonl")
    return sum(len(file.read_text().split("\n\n")) for file in files)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_stopped_command_keeps_every_reply_and_continues(
    number: signal.Signals, command: list[str], server: SlowServer, full_home: Path, tmp_path: Path
) -> None:
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as first:
        while kept(full_home) < 12:
            assert first.poll() is None
            time.sleep(0.05)
        os.kill(first.pid, number)
        said = first.communicate()[1]
    before = kept(full_home)
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Traceback" not in said + second.stderr
    assert f"\n{before} replies kept from before\n" in second.stderr
    assert len(set(server.answered)) == QUESTIONS
    # What was being written when it was killed may have been asked again.
    assert before >= 12 and len(server.answered) <= QUESTIONS + AT_ONCE
    assert len(json.loads((tmp_path / "result.json").read_text())["tasks"][0]["answers"]) == 60
    assert kept(full_home) == 0


def test_fewer_questions_are_asked_at_once_when_they_time_out(
    server: SlowServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_BASE_URL", server.url)
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    said: list[str] = []
    server.seconds = 0.5
    model = get_model("openai-api/local/slow", memoize=False, client_timeout=3.0)
    replies = KeptReplies(
        tmp_path / "replies", model, "slow", max_tokens=50, price=None, say=said.append
    )
    found = anyio.run(replies.all, [f"question {number}" for number in range(20)])
    assert [one.reply for one in found] == ["1"] * 20
    assert said[0] == "a question timed out: asking 5 at once instead of 10"
    assert len(said) == len(set(said)) <= 3
