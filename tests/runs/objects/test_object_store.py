"""Objects that a disk damaged or lost: found on reading, named, mended, and no harm to others."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mlagentbench.runs.objects.object_store import SMALL, ObjectLost, ObjectStore
from mlagentbench.runs.objects.snapshot_trees import entry_at, materialise
from mlagentbench.runs.objects.snapshots import Snapshots

LARGE_FILE = os.urandom(1000) * (SMALL // 1000 + 2)


def flip_a_byte(path: Path) -> None:
    path.chmod(0o644)
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.write_bytes(contents)


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore(tmp_path / "objects")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    directory = tmp_path / "work"
    directory.mkdir()
    return directory


def stored(store: ObjectStore, contents: bytes) -> str:
    digest = store.put(contents)
    store.commit()
    return digest


@pytest.mark.parametrize("contents", [b"small", LARGE_FILE], ids=["small", "large"])
def test_a_flipped_byte_is_found_named_and_mended(
    tmp_path: Path, store: ObjectStore, contents: bytes
) -> None:
    digest, other = stored(store, contents), stored(store, b"other")
    path = store.path(digest)
    flip_a_byte(path)
    message = rf"{path} \(model.bin\) is damaged: .*; copy it from a backup of {store.directory}"
    with pytest.raises(ObjectLost, match=message):
        store.read(digest, "model.bin")
    with (tmp_path / "copy").open("wb+") as copy, pytest.raises(ObjectLost, match=message):
        store.copy_to(digest, copy.fileno(), "model.bin")
    assert store.read(other) == b"other"
    later = ObjectStore(store.directory)
    assert not later.has(digest)
    assert stored(later, contents) == digest
    assert later.read(digest) == store.read(digest) == contents


def test_an_object_that_is_gone_is_named(tmp_path: Path, store: ObjectStore) -> None:
    digest = stored(store, b"x")
    store.path(digest).unlink()
    for look in (store.read, store.size, store.verify):
        with pytest.raises(ObjectLost, match=rf"{store.path(digest)} \(a text\) is missing; copy"):
            look(digest, "a text")
    assert not store.has(digest)
    elsewhere = ObjectStore(tmp_path / "nowhere" / "objects")
    with pytest.raises(ObjectLost, match="is missing: objects/ is not beside the run"):
        elsewhere.read(digest)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["directory", "pipe"])
def test_what_is_no_file_is_no_object(store: ObjectStore, make: Callable[[Path], None]) -> None:
    digest = stored(store, b"x")
    store.path(digest).unlink()
    make(store.path(digest))
    for look in (store.read, store.verify):
        with pytest.raises(ObjectLost, match=r"\(a text\) is damaged: it is no file; copy"):
            look(digest, "a text")
    assert not ObjectStore(store.directory).has(digest)


def test_restoring_what_is_damaged_costs_the_workspace_nothing(
    store: ObjectStore, work: Path
) -> None:
    snapshots = Snapshots(store, work)
    (work / "deep").mkdir()
    names = ("a.bin", "deep/b.bin", "deep/c.txt")
    for name in names:
        (work / name).write_bytes(name.encode() * (1 if name.endswith("txt") else 50_000))
    first = snapshots.take().id
    for name in names:
        (work / name).write_text("second")
    (work / "new").write_text("new")
    second = snapshots.take().id
    store.commit()
    for name in ("deep/b.bin", "deep/c.txt"):
        entry = entry_at(store, first, name)
        assert entry is not None
        sound = store.read(entry.value)
        Snapshots(store, work).restore(second)
        flip_a_byte(store.path(entry.value))
        with pytest.raises(ObjectLost, match=rf"\({name}\) is damaged"):
            Snapshots(store, work).restore(first)
        assert (work / name).read_text() == "second"
        assert {path.name for path in work.rglob("*")} == {"a.bin", "b.bin", "c.txt", "deep", "new"}
        store.path(entry.value).write_bytes(sound)
    fresh = Snapshots(ObjectStore(store.directory), work)
    fresh.restore(second)
    assert fresh.take().id == second


def test_nothing_damaged_is_handed_over(tmp_path: Path, store: ObjectStore, work: Path) -> None:
    (work / "submission.csv").write_text("1,2")
    taken = Snapshots(store, work).take().id
    store.commit()
    entry = entry_at(store, taken, "submission.csv")
    assert entry is not None
    flip_a_byte(store.path(entry.value))
    target = tmp_path / "outputs"
    target.mkdir()
    with pytest.raises(ObjectLost, match=r"\(submission\.csv\) is damaged"):
        materialise(store, taken, target, ["submission.csv"])
    assert not list(target.iterdir())
