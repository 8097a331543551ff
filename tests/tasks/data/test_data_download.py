"""Downloads from a real HTTP server that breaks off, changes its mind and lies."""

import asyncio
import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from small_tasks import WriteTask, plain_call

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.download import ATTEMPTS, FileNotInSource, download
from mlagentbench.tasks.data.preparation import PreparedData, find_prepared, prepare
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

CONTENTS = b"id,y\n" + os.urandom(300_000).hex().encode()


class Seen:
    """A Progress that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.transfers: list[tuple[str, int, int | None]] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def transfer(self, name: str, done: int, total: int | None) -> None:
        self.transfers.append((name, done, total))


class FileServer(ThreadingHTTPServer):
    """Serves one file; the test decides how badly."""

    contents = CONTENTS
    etag: str | None = '"first"'
    ranges = True
    honours_if_range = True
    cuts: list[int]
    refusals: list[int]
    requests: list[str | None]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/train.csv"


class Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        server = self.server
        asked = self.headers.get("Range")
        server.requests.append(asked)
        if server.refusals:
            self.send_error(server.refusals.pop(0))
            return
        start, condition = 0, self.headers.get("If-Range")
        same = condition == server.etag or not server.honours_if_range
        if asked and server.ranges and same:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
        if start >= len(server.contents):
            self.send_response(416)
            self.end_headers()
            return
        body = server.contents[start:]
        self.send_response(206 if start else 200)
        if start:
            size = len(server.contents)
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.send_header("Content-Length", str(len(body)))
        if server.etag:
            self.send_header("ETag", server.etag)
        self.end_headers()
        self.wfile.write(body[: server.cuts.pop(0)] if server.cuts else body)

    def log_message(self, *arguments: object) -> None: ...


@pytest.fixture
def server() -> Iterator[FileServer]:
    made = FileServer(("127.0.0.1", 0), Handler)
    made.cuts, made.refusals, made.requests = [], [], []
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlagentbench.tasks.data.download.PAUSE", 0.01)


def fetch(server: FileServer, target: Path) -> Seen:
    seen = Seen()
    asyncio.run(download(server.url, target, seen))
    return seen


def test_whole_file_with_progress(server: FileServer, tmp_path: Path) -> None:
    seen = fetch(server, tmp_path / "train.csv")
    assert (tmp_path / "train.csv").read_bytes() == CONTENTS
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]
    assert seen.transfers[-1] == ("train.csv", len(CONTENTS), len(CONTENTS))


def test_goes_on_after_cut_connections(server: FileServer, tmp_path: Path) -> None:
    server.cuts = [100_000, 0, 150_000]
    fetch(server, tmp_path / "train.csv")
    assert (tmp_path / "train.csv").read_bytes() == CONTENTS
    assert server.requests == [None, "bytes=100000-", "bytes=100000-", "bytes=250000-"]


def test_goes_on_in_the_next_call(server: FileServer, tmp_path: Path) -> None:
    server.cuts = [123_456] + [0] * 2 * ATTEMPTS
    with pytest.raises(UsageError, match="the partial file is kept") as raised:
        fetch(server, tmp_path / "train.csv")
    assert server.url in str(raised.value) and not (tmp_path / "train.csv").exists()
    assert (tmp_path / "train.csv.part").stat().st_size == 123_456
    server.cuts, server.requests = [], []
    fetch(server, tmp_path / "train.csv")
    assert (tmp_path / "train.csv").read_bytes() == CONTENTS
    assert server.requests == ["bytes=123456-"]


@pytest.mark.parametrize("honours_if_range", [True, False])
def test_starts_anew_when_the_file_has_changed(
    server: FileServer, tmp_path: Path, honours_if_range: bool
) -> None:
    server.cuts = [100_000] + [0] * 2 * ATTEMPTS
    with pytest.raises(UsageError):
        fetch(server, tmp_path / "train.csv")
    server.cuts, server.honours_if_range = [], honours_if_range
    server.contents, server.etag = CONTENTS[::-1], '"second"'
    fetch(server, tmp_path / "train.csv")
    assert (tmp_path / "train.csv").read_bytes() == CONTENTS[::-1]


@pytest.mark.parametrize("change", ["no ranges", "no etag", "weak etag"])
def test_starts_anew_when_it_cannot_be_sure(
    server: FileServer, tmp_path: Path, change: str
) -> None:
    server.ranges = change != "no ranges"
    server.etag = {"no etag": None, "weak etag": 'W/"first"'}.get(change, server.etag)
    server.cuts = [100_000]
    fetch(server, tmp_path / "train.csv")
    assert (tmp_path / "train.csv").read_bytes() == CONTENTS


def test_a_part_longer_than_the_file(server: FileServer, tmp_path: Path) -> None:
    server.cuts = [100_000] + [0] * 2 * ATTEMPTS
    with pytest.raises(UsageError):
        fetch(server, tmp_path / "train.csv")
    server.cuts, server.contents = [], CONTENTS[:5000]
    fetch(server, tmp_path / "train.csv")
    assert (tmp_path / "train.csv").read_bytes() == CONTENTS[:5000]


def test_passing_refusals_are_waited_out(server: FileServer, tmp_path: Path) -> None:
    server.refusals = [503, 429]
    fetch(server, tmp_path / "train.csv")
    assert len(server.requests) == 3


def test_lasting_refusals_end_at_once(server: FileServer, tmp_path: Path) -> None:
    server.refusals = [404, 403]
    with pytest.raises(FileNotInSource, match="the server answered 404"):
        fetch(server, tmp_path / "train.csv")
    with pytest.raises(UsageError, match="the server answered 403"):
        fetch(server, tmp_path / "train.csv")
    assert len(server.requests) == 2


def url_source(server: FileServer, md5: str) -> str:
    return (
        '[[sources]]\nkind = "url"\nref = "the small data set"\npage = "http://small.example"\n'
        f'files = [{{ path = "train.csv", url = "{server.url}", md5 = "{md5}" }}]\n'
    )


def make(task: Task, env: PythonEnv, **options: Any) -> PreparedData:
    return asyncio.run(prepare(task, "full", call=plain_call, python_env=env, **options))


def test_prepares_from_a_download_once(
    write_task: WriteTask, this_env: PythonEnv, server: FileServer, home: Path
) -> None:
    server.contents = b"id,y\n" + b"".join(b"%d,1\n" % k for k in range(20))
    task = write_task(sources=url_source(server, hashlib.md5(server.contents).hexdigest()))
    seen = Seen()
    data = make(task, this_env, progress=seen)
    assert data.verified and "small-task: fetching train.csv (size unknown)" in seen.lines
    assert (home / "downloads/small-task/v1/train.csv").read_bytes() == server.contents
    assert make(task, this_env) == data and len(server.requests) == 1


def test_a_download_with_a_wrong_checksum_is_not_kept(
    write_task: WriteTask, this_env: PythonEnv, server: FileServer, home: Path
) -> None:
    server.contents = b"id,y\n" + b"".join(b"%d,1\n" % k for k in range(20))
    task = write_task(sources=url_source(server, "0" * 32))
    with pytest.raises(UsageError, match=r"md5 .*, expected 0{32} .the downloaded file was rem"):
        make(task, this_env)
    assert list((home / "downloads/small-task/v1").iterdir()) == []
    assert find_prepared(task, "full") is None
    data = make(task, this_env, accept_unverified=True)
    assert not data.verified and len(server.requests) == 2


def test_what_to_do_by_hand(write_task: WriteTask, this_env: PythonEnv, server: FileServer) -> None:
    task = write_task(sources=url_source(server, "0" * 32))
    server.refusals = [404]
    with pytest.raises(UsageError) as raised:
        make(task, this_env)
    assert str(raised.value).splitlines() == [
        f"small-task: {server.url}: the server answered 404 Not Found",
        "Or download train.csv from http://small.example into a directory DIR yourself, "
        f"and run: mlagentbench tasks prepare {task.address} --tier full --from DIR",
    ]
