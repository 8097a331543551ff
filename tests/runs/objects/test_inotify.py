"""Snapshots that trust the kernel's watch are the same as snapshots that look everywhere."""

import mmap
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlagentbench.runs.objects.inotify import DirectoryWatch, Happened
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshots import Snapshots
from mlagentbench.runs.objects.workspace_scan import CLOCK_TICK_NS

PATHS = st.sampled_from(["a", "b", "one/a", "one/b", "one/two/a", "three/a"])
FOLDERS = st.sampled_from(["one", "one/two", "three", "four", "one/five"])


def write(top: Path, path: str, _other: str, text: str) -> None:
    (top / path).write_text(text)


def write_mapped(top: Path, path: str, _other: str, text: str) -> None:
    with (top / path).open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        file.close()
        mapped[:1] = text[:1].encode()


def truncate(top: Path, path: str, _other: str, text: str) -> None:
    os.truncate(top / path, len(text))


def change_mode(top: Path, path: str, _other: str, text: str) -> None:
    (top / path).chmod(0o700 + len(text))


def rename(top: Path, path: str, other: str, _text: str) -> None:
    (top / path).rename(top / other)


def link(top: Path, path: str, other: str, _text: str) -> None:
    os.link(top / path, top / other)


def soft_link(top: Path, path: str, other: str, text: str) -> None:
    (top / other).symlink_to(text)


def remove(top: Path, path: str, _other: str, _text: str) -> None:
    (top / path).unlink()


def make_folder(top: Path, path: str, _other: str, text: str) -> None:
    (top / path).mkdir(parents=True)
    (top / path / "b").write_text(text)


def remove_folder(top: Path, path: str, _other: str, _text: str) -> None:
    shutil.rmtree(top / path)


def filled(work: Path) -> Path:
    """A workspace with a few files."""
    for folder in ("one/two", "three"):
        (work / folder).mkdir(parents=True)
    for path in ("a", "one/a", "one/two/a", "three/a"):
        (work / path).write_text("first")
    return work


Change = tuple[Callable[[Path, str, str, str], None], str, str, str]
TEXTS = st.sampled_from(["x", "yy", "zzz"])
ON_FILES = st.sampled_from(
    [write, write_mapped, truncate, change_mode, rename, link, soft_link, remove]
)
ON_FOLDERS = st.sampled_from([make_folder, remove_folder, rename, change_mode])
CHANGES = st.one_of(
    st.tuples(ON_FILES, PATHS, PATHS, TEXTS), st.tuples(ON_FOLDERS, FOLDERS, FOLDERS, TEXTS)
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(st.lists(CHANGES, max_size=4), min_size=2, max_size=6))
def test_nothing_that_happens_is_missed(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[Change]]
) -> None:
    top = tmp_path_factory.mktemp("watched")
    work = filled(top / "work")
    store = ObjectStore(top / "objects")
    watched = Snapshots(store, work)
    assert watched.take(quiet=True).id == Snapshots(store, work).take().id
    for step in steps:
        for change, path, other, text in step:
            try:
                change(work, path, other, text)
            except (OSError, ValueError):
                continue
        assert watched.take(quiet=True).id == Snapshots(store, work).take().id
    watched.close()


class Process:
    """What a process keeps between snapshots: descriptors and mapped files that it can write to."""

    def __init__(self) -> None:
        self.files: list[BinaryIO] = []
        self.maps: list[mmap.mmap] = []

    def open(self, top: Path, path: str, _other: str, _text: str) -> None:
        self.files.append((top / path).open("r+b", buffering=0))

    def map(self, top: Path, path: str, _other: str, _text: str) -> None:
        with (top / path).open("r+b") as file:
            self.maps.append(mmap.mmap(file.fileno(), 0))

    def write(self, _top: Path, path: str, _other: str, text: str) -> None:
        file = self.files[len(path) % len(self.files)]
        file.seek(0)
        file.write(text.encode())

    def write_mapped(self, _top: Path, path: str, _other: str, text: str) -> None:
        self.maps[len(path) % len(self.maps)][:1] = text[:1].encode()

    def let_go(self, _top: Path, path: str, _other: str, text: str) -> None:
        held = self.maps if text == "x" else self.files
        held.pop(len(path) % len(held)).close()

    def close(self) -> None:
        for mapped in self.maps:
            mapped.close()
        for file in self.files:
            file.close()


OF_PROCESSES = st.sampled_from(["open", "map", "map", "write", "write_mapped", "let_go"])


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    steps=st.lists(
        st.lists(st.one_of(CHANGES, st.tuples(OF_PROCESSES, PATHS, PATHS, TEXTS)), max_size=5),
        min_size=2,
        max_size=8,
    ),
    tick=st.booleans(),
)
def test_nothing_that_an_expected_process_does_is_missed(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[Any]], tick: bool
) -> None:
    top = tmp_path_factory.mktemp("expected")
    work = filled(top / "work")
    store = ObjectStore(top / "objects")
    watched, process = Snapshots(store, work), Process()
    watched.expect_processes()
    for step in steps:
        for change, path, other, text in step:
            do = getattr(process, change) if isinstance(change, str) else change
            try:
                do(work, path, other, text)
            except (OSError, ValueError, ZeroDivisionError):
                continue
        if tick:
            time.sleep(CLOCK_TICK_NS / 1e9)
        assert watched.take().id == Snapshots(store, work).take().id
    process.close()
    watched.close()


def test_a_file_mapped_long_ago_is_not_missed(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "one").mkdir(parents=True)
    (work / "one" / "file").write_text("first")
    store = ObjectStore(tmp_path / "objects")
    watched = Snapshots(store, work)
    time.sleep(2 * CLOCK_TICK_NS / 1e9)
    watched.expect_processes()
    with (work / "one" / "file").open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    watched.take()
    watched.take()
    for text in (b"F", b"G", b"H"):
        mapped[:1] = text
        assert watched.take().id == Snapshots(store, work).take().id
    mapped.close()
    watched.close()


def test_beside_an_expected_process_only_directories_with_changes_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    for name in ("still", "busy"):
        (work / name).mkdir(parents=True)
        for number in range(50):
            (work / name / f"{number}").write_text(name)
    time.sleep(2 * CLOCK_TICK_NS / 1e9)
    watched = Snapshots(ObjectStore(tmp_path / "objects"), work)
    watched.expect_processes()
    watched.take()
    seen: list[str] = []
    listing = os.scandir

    def scandir(directory: Any) -> Any:
        seen.append(str(Path(f"/proc/self/fd/{directory}").readlink()))
        return listing(directory)

    monkeypatch.setattr(os, "scandir", scandir)
    (work / "busy" / "7").write_text("changed")
    watched.take()
    assert str(work / "busy") in seen and str(work / "still") not in seen
    watched.close()


def test_a_change_through_another_name_is_not_missed(tmp_path: Path) -> None:
    work = tmp_path / "work"
    for folder in ("one", "two"):
        (work / folder).mkdir(parents=True)
    (work / "one" / "file").write_text("first")
    store = ObjectStore(tmp_path / "objects")
    watched = Snapshots(store, work)
    watched.take(quiet=True)
    time.sleep(2 * CLOCK_TICK_NS / 1e9)
    watched.take(quiet=True)
    os.link(work / "one" / "file", work / "two" / "same")
    for text in ("second", "third"):
        assert watched.take(quiet=True).id == Snapshots(store, work).take().id
        time.sleep(2 * CLOCK_TICK_NS / 1e9)
        assert watched.take(quiet=True).id == Snapshots(store, work).take().id
        (work / "two" / "same").write_text(text)
    assert watched.take(quiet=True).id == Snapshots(store, work).take().id
    watched.close()


def test_only_directories_with_changes_are_read(tmp_path: Path) -> None:
    watch = DirectoryWatch()
    numbers = {}
    for name in ("still", "busy"):
        (tmp_path / name).mkdir()
        handle = os.open(tmp_path / name, os.O_RDONLY)
        numbers[name] = watch.add(handle)
        os.close(handle)
    assert watch.happened() == Happened()
    subprocess.run([sys.executable, "-c", "open('file', 'w')"], cwd=tmp_path / "busy", check=True)
    assert watch.happened() == Happened(changed={numbers["busy"]})
    assert watch.happened() == Happened()
    (tmp_path / "busy" / "file").unlink()
    (tmp_path / "busy").rmdir()
    assert watch.happened() is None
    watch.close()


def test_a_queue_that_ran_over_is_not_trusted(tmp_path: Path) -> None:
    watch = DirectoryWatch()
    handle = os.open(tmp_path, os.O_RDONLY)
    watch.add(handle)
    os.close(handle)
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if limit > 100_000:
        pytest.skip("this machine's queue is very long")
    for number in range(limit // 2 + 10):
        (tmp_path / f"{number}").touch()
        (tmp_path / f"{number}").unlink()
    assert watch.happened() is None
    watch.close()


def test_without_a_watch_everything_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlagentbench.runs.objects.inotify import WatchImpossible

    def refuse(_self: DirectoryWatch, _directory: int) -> int:
        raise WatchImpossible("No space left on device")

    monkeypatch.setattr(DirectoryWatch, "add", refuse)
    work = tmp_path / "work"
    work.mkdir()
    snapshots = Snapshots(ObjectStore(tmp_path / "objects"), work)
    ids = set()
    for text in ("one", "two", "three"):
        (work / "file").write_text(text)
        ids.add(snapshots.take(quiet=True).id)
    assert len(ids) == 3
    snapshots.close()
