"""Images that are fetched one by one, from a real HTTP server, and taken from people's files."""

import asyncio
import csv
import json
import struct
import tarfile
import threading
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from small_tasks import WriteTask, plain_call

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.listed_images import is_complete_image
from mlagentbench.tasks.data.preparation import PreparedData, prepare
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

pytestmark = pytest.mark.slow

COUNT = 40
PREPARE = """
import shutil
def prepare(raw, public, private, rng):
    shutil.copytree(raw, public, dirs_exist_ok=True)
"""


def png(number: int) -> bytes:
    """A grey picture of one pixel, different for each number, in many bytes."""

    def chunk(name: bytes, contents: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + contents))
        return struct.pack(">I", len(contents)) + name + contents + check

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    text = b"note\0" + bytes([97 + number % 26]) * 20_000
    pixel = zlib.compress(bytes([0, number]))
    chunks = ((b"IHDR", header), (b"tEXt", text), (b"IDAT", pixel), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*one) for one in chunks)


def name(number: int) -> str:
    return f"image-{number:02d}.png"


class ImageServer(ThreadingHTTPServer):
    """Serves images by path; the test decides which are gone, cut off, spoilt, or web pages."""

    gone: set[str]
    status = 404
    cuts: Counter[str]
    spoilt: Counter[str]
    pages: set[str]
    down = False
    requests: Counter[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: ImageServer

    def do_GET(self) -> None:
        server = self.server
        server.requests[self.path] += 1
        if server.down:
            self.send_error(503)
        elif self.path in server.gone:
            self.send_error(server.status)
        elif self.path in server.pages:
            self._send(b"<html>Please log in</html>")
        else:
            self._send(png(int(self.path[-6:-4])))

    def _send(self, body: bytes) -> None:
        start = 0
        if "Range" in self.headers:
            start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        spoilt = self._count_down(self.server.spoilt)
        self.send_response(206 if start else 200)
        self.send_header("ETag", '"same"')
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        body = body[: len(body) // 2] if spoilt else body[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = self._count_down(self.server.cuts)
        self.wfile.write(body[: len(body) // 2] if cut else body)

    def _count_down(self, counter: Counter[str]) -> bool:
        counter[self.path] -= 1
        return counter[self.path] >= 0

    def log_message(self, *arguments: object) -> None: ...


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlagentbench.tasks.data.download.PAUSE", 0.01)


@pytest.fixture
def server() -> Iterator[ImageServer]:
    made = ImageServer(("127.0.0.1", 0), Handler)
    made.gone, made.cuts, made.spoilt, made.requests = set(), Counter(), Counter(), Counter()
    made.pages = set()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def own(tmp_path: Path, server: ImageServer) -> Path:
    """A directory with the listing, and no image."""
    directory = tmp_path / "own"
    directory.mkdir()
    images = [
        {"id": n, "file_name": name(n), "coco_url": f"{server.url}/dive/{n:02d}.png"}
        for n in range(COUNT)
    ]
    (directory / "listing.json").write_text(json.dumps({"images": images}))
    return directory


@pytest.fixture
def task(write_task: WriteTask, own: Path, server: ImageServer) -> Task:
    return write_task(sources=sources(), prepare_py=PREPARE)


def sources(extra: str = "") -> str:
    return (
        '[[sources]]\nkind = "url"\nref = "http://127.0.0.1:9/"\n'
        'files = [{ path = "listing.json" }]\n'
        f'[sources.images]\nlisting = "listing.json"\n{extra}'
    )


class Heard:
    """A Progress that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.arrived: list[tuple[str, int]] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def transfer(self, name: str, done: int, total: int | None) -> None:
        self.arrived.append((name, done))


def make(
    task: Task, env: PythonEnv, own: Path | None, heard: Heard | None = None, accept: bool = False
) -> PreparedData:
    return asyncio.run(
        prepare(
            task,
            "full",
            call=plain_call,
            python_env=env,
            from_dir=own,
            accept_unverified=accept,
            progress=heard or Heard(),
        )
    )


def images_of(data: PreparedData) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (data.public / "images").iterdir()}


EVERY = {name(n): png(n) for n in range(COUNT)}


def test_all_images_are_fetched_once(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer, home: Path
) -> None:
    heard = Heard()
    data = make(task, this_env, own, heard)
    assert images_of(data) == EVERY
    assert not data.verified and "images/" in data.unverified
    assert set(server.requests.values()) == {1} and len(server.requests) == COUNT
    assert "small-task: fetching 40 images" in heard.lines
    counts = [int(line.split()[1]) for line in heard.lines if line.endswith("of 40 images")]
    assert counts == list(range(2, COUNT + 1, 2))
    assert heard.arrived[-1] == ("images", sum(map(len, EVERY.values())))
    assert not (data.public / "images_missing.csv").exists()
    kept = home / "downloads/small-task/v1/images"
    assert {file.name for file in kept.iterdir()} == set(EVERY)


def test_the_listing_too_can_come_from_the_network(
    write_task: WriteTask, this_env: PythonEnv, own: Path, home: Path
) -> None:
    kept = home / "downloads/small-task/v1"
    kept.mkdir(parents=True)
    (own / "listing.json").rename(kept / "listing.json")
    assert (
        images_of(make(write_task(sources=sources(), prepare_py=PREPARE), this_env, None)) == EVERY
    )


def test_cut_connections_are_resumed(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer
) -> None:
    server.cuts.update({f"/dive/{n:02d}.png": 2 for n in (3, 7, 39)})
    assert images_of(make(task, this_env, own)) == EVERY
    assert server.requests["/dive/07.png"] == 3 and server.requests["/dive/08.png"] == 1


def test_an_interrupted_download_goes_on(
    write_task: WriteTask, this_env: PythonEnv, own: Path, server: ImageServer, home: Path
) -> None:
    kept = home / "downloads/small-task/v1"
    kept.mkdir(parents=True)
    (kept / "listing.json").write_bytes((own / "listing.json").read_bytes())
    task = write_task(sources=sources(), prepare_py=PREPARE)
    server.cuts["/dive/30.png"] = 1000
    with pytest.raises(UsageError, match=r"small-task: 1 of 40 images could not be .*/dive/30.png"):
        make(task, this_env, None)
    before = {file.name for file in (kept / "images").glob("*.png")}
    assert before and name(30) not in before
    assert (kept / "images" / f"{name(30)}.part").stat().st_size > 0
    server.cuts.clear()
    server.requests.clear()
    heard = Heard()
    assert images_of(make(task, this_env, None, heard)) == EVERY
    assert sum(server.requests.values()) == COUNT - len(before)
    assert f"{len(before)} are here already" in " ".join(heard.lines)


def test_a_few_missing_images_are_listed_and_left_out(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer
) -> None:
    server.gone = {"/dive/05.png", "/dive/11.png"}
    heard = Heard()
    data = make(task, this_env, own, heard)
    assert set(EVERY) - set(images_of(data)) == {name(5), name(11)}
    with (data.public / "images_missing.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert [row["name"] for row in rows] == [name(5), name(11)]
    assert "/dive/05.png: the server answered 404" in rows[0]["reason"]
    assert "2 images are missing and left out, first: image-05.png" in " ".join(heard.lines)


@pytest.mark.parametrize("status", [404, 410])
def test_many_images_that_are_gone_are_an_error_that_says_what_to_do(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer, status: int
) -> None:
    server.gone, server.status = {f"/dive/{n:02d}.png" for n in range(20)}, status
    with pytest.raises(UsageError) as raised:
        make(task, this_env, own)
    text = str(raised.value)
    assert "of the 40 images in listing.json are gone, which is over 5 %" in text
    assert f"the server answered {status}" in text
    assert "\nIf you have the images, put the images into DIR/images/, beside" in text
    assert f"mlagentbench tasks prepare {task.address} --tier full --from DIR" in text
    assert sum(server.requests.values()) < COUNT, "it gave up before it had asked for all"


@pytest.mark.parametrize("status", [403, 503])
def test_images_that_cannot_be_fetched_are_not_gone(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer, status: int
) -> None:
    server.gone, server.status = {"/dive/05.png"}, status
    with pytest.raises(UsageError) as raised:
        make(task, this_env, own)
    said = str(raised.value)
    assert "1 of 40 images could not be fetched, which does not mean that they are gone" in said
    assert "image-05.png" in said and str(status) in said and "run the same command again" in said
    server.gone = set()
    server.requests.clear()
    assert images_of(make(task, this_env, own)) == EVERY
    assert server.requests == {"/dive/05.png": 1}


def test_an_image_that_one_address_lacks_and_another_cannot_send_is_not_gone(
    write_task: WriteTask, this_env: PythonEnv, own: Path, server: ImageServer
) -> None:
    mirrors = f'mirrors = {{ "{server.url}/dive/" = "http://127.0.0.1:9/" }}\n'
    server.gone = {"/dive/05.png"}
    with pytest.raises(UsageError, match="1 of 40 images could not be fetched"):
        make(write_task(sources=sources(mirrors), prepare_py=PREPARE), this_env, own)


def test_a_network_that_is_down_is_noticed_soon(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer
) -> None:
    server.down = True
    with pytest.raises(UsageError, match="40 of 40 images could not be fetched"):
        make(task, this_env, own)
    assert len(server.requests) < COUNT


def test_images_that_arrive_in_half_are_asked_for_again(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer
) -> None:
    server.spoilt["/dive/02.png"] = 1
    assert images_of(make(task, this_env, own)) == EVERY
    assert server.requests["/dive/02.png"] == 2


@pytest.mark.parametrize("page", [False, True])
def test_images_that_always_arrive_damaged_could_not_be_fetched(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer, page: bool
) -> None:
    if page:
        server.pages = {"/dive/09.png"}
    else:
        server.spoilt["/dive/09.png"] = 1000
    with pytest.raises(UsageError) as raised:
        make(task, this_env, own)
    said = str(raised.value)
    assert "1 of 40 images could not be fetched, which does not mean that they are gone" in said
    assert "/dive/09.png: what arrives is not a complete PNG or JPEG file" in said
    data = make(task, this_env, own, accept=True)
    assert set(EVERY) - set(images_of(data)) == {name(9)}
    assert data.accepted == ("images/: 1 of 40 images could not be fetched",)


def test_a_mirror_is_asked_for_what_is_gone(
    write_task: WriteTask, this_env: PythonEnv, own: Path, server: ImageServer
) -> None:
    mirrors = f'mirrors = {{ "{server.url}/dive/" = "{server.url}/mirror/" }}\n'
    task = write_task(sources=sources(mirrors), prepare_py=PREPARE)
    server.gone = {f"/dive/{n:02d}.png" for n in range(20)}
    assert images_of(make(task, this_env, own)) == EVERY
    assert server.requests["/mirror/19.png"] == 1 and not server.requests["/mirror/20.png"]


def lay_out(own: Path, kind: str, numbers: range) -> None:
    names = [name(n) for n in numbers]
    if kind in ("tree", "folder"):
        top = own / "images" if kind == "tree" else own / "unpacked" / "images"
        top.mkdir(parents=True)
        for one in names:
            (top / one).write_bytes(EVERY[one])
        return
    scratch = own.parent / "scratch"
    scratch.mkdir()
    if kind == "zip":
        with zipfile.ZipFile(own / "images.zip", "w") as archive:
            for one in names:
                archive.writestr(f"images/{one}", EVERY[one])
        return
    with tarfile.open(own / "all.tar.gz", "w:gz") as tar:
        for one in names:
            (scratch / one).write_bytes(EVERY[one])
            tar.add(scratch / one, f"fathomnet/images/{one}")


@pytest.mark.parametrize("kind", ["tree", "folder", "zip", "tar"])
def test_images_that_people_have_are_not_fetched(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer, kind: str
) -> None:
    lay_out(own, kind, range(COUNT))
    assert images_of(make(task, this_env, own)) == EVERY
    assert not server.requests


def test_what_people_lack_is_fetched(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer
) -> None:
    lay_out(own, "zip", range(30))
    assert images_of(make(task, this_env, own)) == EVERY
    assert sorted(server.requests) == [f"/dive/{n:02d}.png" for n in range(30, COUNT)]


@pytest.mark.parametrize("kind", ["tree", "zip"])
def test_damaged_images_that_people_have_are_fetched_instead(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer, kind: str
) -> None:
    lay_out(own, kind, range(5, COUNT))
    if kind == "tree":
        for n in range(5):
            (own / "images" / name(n)).write_bytes(png(n)[:5000])
    else:
        with zipfile.ZipFile(own / "cut.zip", "w") as archive:
            for n in range(5):
                archive.writestr(f"images/{name(n)}", png(n)[:5000])
    heard = Heard()
    assert images_of(make(task, this_env, own, heard)) == EVERY
    assert sorted(server.requests) == [f"/dive/{n:02d}.png" for n in range(5)]
    said = " ".join(heard.lines)
    assert f"5 images in {own} are not complete PNG or JPEG files and are fetched instead" in said
    assert "first: images/image-00.png" in said


def test_damaged_images_that_cannot_be_fetched_are_not_left_out_silently(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer
) -> None:
    lay_out(own, "tree", range(COUNT))
    (own / "images" / name(7)).write_bytes(png(7)[:5000])
    server.down = True
    with pytest.raises(UsageError, match="1 of 40 images could not be fetched"):
        make(task, this_env, own)
    data = make(task, this_env, own, accept=True)
    assert data.accepted == ("images/: 1 of 40 images could not be fetched",)


def test_a_damaged_archive_does_not_stop_the_others(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer
) -> None:
    lay_out(own, "zip", range(COUNT))
    (own / "a-partial.zip").write_bytes(b"PK\3\4 broken off")
    assert images_of(make(task, this_env, own)) == EVERY
    assert not server.requests


def test_without_network_a_few_may_be_left_out_knowingly(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer
) -> None:
    server.down = True
    lay_out(own, "tree", range(2, COUNT))
    with pytest.raises(UsageError, match="2 of 40 images could not be fetched"):
        make(task, this_env, own)
    data = make(task, this_env, own, accept=True)
    assert set(EVERY) - set(images_of(data)) == {name(0), name(1)}
    assert data.accepted == ("images/: 2 of 40 images could not be fetched",)
    (own / "images" / name(2)).unlink()
    with pytest.raises(UsageError, match="3 of 40 images could not be fetched"):
        make(task, this_env, own, accept=True)


def test_missing_images_that_arrive_later_are_other_data(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer
) -> None:
    server.gone = {"/dive/05.png", "/dive/11.png"}
    few = make(task, this_env, own)
    assert make(task, this_env, own) == few
    server.gone = set()
    every = make(task, this_env, own)
    assert every.directory != few.directory and images_of(every) == EVERY


def test_a_listing_of_another_kind_is_refused(task: Task, this_env: PythonEnv, own: Path) -> None:
    (own / "listing.json").write_text('{"images": [{"file_name": "a.png"}]}')
    with pytest.raises(UsageError, match=r"listing.json is not a COCO file .*coco_url"):
        make(task, this_env, own)


def test_a_damaged_image_among_the_downloads_is_fetched_again(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer, home: Path
) -> None:
    kept = home / "downloads/small-task/v1/images"
    kept.mkdir(parents=True)
    (kept / name(0)).write_bytes(png(0)[:500])
    (kept / name(1)).write_bytes(png(1))
    assert images_of(make(task, this_env, own)) == EVERY
    assert server.requests["/dive/00.png"] == 1 and not server.requests["/dive/01.png"]


@pytest.mark.parametrize("path", ["", "..", "a/.."])
def test_a_listing_without_file_names_is_refused(
    task: Task, this_env: PythonEnv, own: Path, path: str
) -> None:
    images = [{"file_name": path, "coco_url": "http://127.0.0.1:9/a.png"}]
    (own / "listing.json").write_text(json.dumps({"images": images}))
    with pytest.raises(UsageError, match=r"is not a file name"):
        make(task, this_env, own)


def test_names_in_a_listing_lead_nowhere(
    task: Task, this_env: PythonEnv, own: Path, server: ImageServer, tmp_path: Path
) -> None:
    images = [{"file_name": "../../../escaped.png", "coco_url": f"{server.url}/dive/01.png"}]
    (own / "listing.json").write_text(json.dumps({"images": images}))
    assert images_of(make(task, this_env, own)) == {"escaped.png": png(1)}
    assert not list(tmp_path.glob("escaped.png"))


def test_the_listing_has_to_be_a_file_of_the_source(write_task: WriteTask) -> None:
    wrong = sources().replace('listing = "listing.json"', 'listing = "other.json"')
    with pytest.raises(UsageError, match="listing must be one of the source's files"):
        write_task(sources=wrong)


def test_whole_images(tmp_path: Path) -> None:
    file = tmp_path / "image"
    jpeg = b"\xff\xd8\xff\xe0" + bytes(5000) + b"\xff\xd9"
    for contents, whole in [
        (png(1), True),
        (png(1)[:-9], False),
        (jpeg, True),
        (jpeg + bytes(30), True),
        (jpeg[:-1], False),
        (b"<html>not found</html>", False),
        (b"", False),
    ]:
        file.write_bytes(contents)
        assert is_complete_image(file) is whole
