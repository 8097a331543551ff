"""Directories with several downloads: which file is taken, and which archives do not matter."""

import asyncio
import hashlib
import io
import struct
import zipfile
from pathlib import Path

import pytest
from small_tasks import WriteTask, plain_call

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.preparation import PreparedData, prepare
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

TRAIN = b"id,y\n" + b"".join(b"%d,%d\n" % (k, k * k) for k in range(20))
OTHER = b"id,text\n" + b"".join(b"%d,essay %d\n" % (k, k) for k in range(20))
CHECKED = f'md5 = "{hashlib.md5(TRAIN).hexdigest()}", bytes = {len(TRAIN)}'
UNKNOWN = "optional = false"


def source(known: str) -> str:
    return (
        '[[sources]]\nkind = "kaggle"\nref = "someone/small-competition"\n'
        f'files = [{{ path = "train.csv", {known} }}]\n'
    )


def zipped(contents: bytes, name: str = "train.csv") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, contents)
    return file.getvalue()


def with_header(archive: bytes, flags: int, method: int) -> bytes:
    """A zip file of one member that claims to have other flags and another method."""
    changed = bytearray(archive)
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        place = changed.index(signature) + offset
        changed[place : place + 4] = struct.pack("<HH", flags, method)
    return bytes(changed)


ENCRYPTED = with_header(zipped(TRAIN), 1, zipfile.ZIP_DEFLATED)
DEFLATE64 = with_header(zipped(TRAIN), 0, 9)
PARTIAL = zipped(TRAIN * 100)[:100]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    directory = tmp_path / "own"
    directory.mkdir()
    return directory


def lay_out(own: Path, files: dict[str, bytes]) -> None:
    for name, contents in files.items():
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_bytes(contents)


def make(task: Task, env: PythonEnv, own: Path) -> PreparedData:
    return asyncio.run(prepare(task, "full", call=plain_call, python_env=env, from_dir=own))


def took_the_right_one(data: PreparedData) -> bool:
    return "essay" not in (data.public / "train.csv").read_text()


NAMED = {
    "archive": {"another.zip": zipped(OTHER), "small-competition.zip": zipped(TRAIN)},
    "numbered archive": {"another.zip": zipped(OTHER), "small-competition (2).zip": zipped(TRAIN)},
    "folder": {"train.csv": OTHER, "small-competition/train.csv": TRAIN},
    "folder among others": {
        "all/train.csv": OTHER,
        "a.zip": zipped(OTHER),
        "small-competition/train.csv": TRAIN,
    },
    "archive beside a file": {"train.csv": OTHER, "small-competition.zip": zipped(TRAIN)},
    "archive in a folder": {
        "train.csv": OTHER,
        "small-competition/small-competition.zip": zipped(TRAIN),
    },
}
SIZED = {
    "archive": {"a.zip": zipped(OTHER), "b.zip": zipped(TRAIN), "c.zip": zipped(OTHER)},
    "archive beside a file": {"train.csv": OTHER, "train.csv.zip": zipped(TRAIN)},
    "not what is named": {"small-competition/train.csv": b"id,y\n", "new.zip": zipped(TRAIN)},
}
UNREADABLE = {"partial": PARTIAL, "encrypted": ENCRYPTED, "deflate64": DEFLATE64, "text": b"no"}


@pytest.mark.parametrize("known", [CHECKED, UNKNOWN], ids=["checked", "unknown"])
@pytest.mark.parametrize("layout", NAMED)
def test_what_is_named_like_the_source_is_preferred(
    write_task: WriteTask, this_env: PythonEnv, own: Path, layout: str, known: str
) -> None:
    lay_out(own, NAMED[layout])
    assert took_the_right_one(make(write_task(sources=source(known)), this_env, own))


@pytest.mark.parametrize("layout", SIZED)
def test_a_file_of_the_right_size_is_preferred(
    write_task: WriteTask, this_env: PythonEnv, own: Path, layout: str
) -> None:
    lay_out(own, SIZED[layout])
    data = make(write_task(sources=source(CHECKED)), this_env, own)
    assert data.verified and took_the_right_one(data)


@pytest.mark.parametrize("kind", UNREADABLE)
def test_archives_that_cannot_be_read_matter_only_if_nothing_else_has_the_file(
    write_task: WriteTask, this_env: PythonEnv, own: Path, kind: str
) -> None:
    task = write_task(sources=source(CHECKED))
    lay_out(own, {"a.zip": UNREADABLE[kind], "small-competition.zip": UNREADABLE[kind]})
    reason = {
        "encrypted": "is encrypted; unpack it and name the folder with --from",
        "deflate64": "uses compression method 9, which Python cannot read; unpack it and name",
    }.get(kind, "cannot be read: File is not a zip file; get it again")
    with pytest.raises(UsageError) as raised:
        make(task, this_env, own)
    said = str(raised.value)
    assert f"small-task: train.csv not found in {own}; expected the files of" in said
    assert f"looked in: {own}, a.zip, small-competition.zip\n" in said
    for name in ("a.zip", "small-competition.zip"):
        assert f"\n  {own / name} {reason}" in said
    lay_out(own, {"b.zip": zipped(TRAIN)})
    assert took_the_right_one(make(task, this_env, own))


@pytest.mark.parametrize("contents", [TRAIN, zipped(TRAIN)])
def test_a_file_instead_of_its_directory(
    write_task: WriteTask, this_env: PythonEnv, own: Path, contents: bytes
) -> None:
    lay_out(own, {"train.csv": contents})
    with pytest.raises(UsageError, match=rf"train\.csv: is a file, .* use: --from {own}"):
        make(write_task(sources=source(CHECKED)), this_env, own / "train.csv")
