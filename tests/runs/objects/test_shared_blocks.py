"""On a file system that can share blocks, snapshots and restored files take no room of their own.

Needs root and mkfs.btrfs; other file systems copy, which the other tests of snapshots see.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlagentbench.runs.objects.object_store import SMALL, ObjectStore
from mlagentbench.runs.objects.snapshots import Snapshots

MILLION = 1_000_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A btrfs file system in a file."""
    if shutil.which("mkfs.btrfs") is None or os.geteuid() != 0:
        pytest.skip("needs root and mkfs.btrfs")
    image, place = tmp_path / "image", tmp_path / "disk"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(300 * MILLION)
    subprocess.run(["mkfs.btrfs", "-q", image], check=True, capture_output=True)
    if subprocess.run(["mount", "-o", "loop", image, place], capture_output=True).returncode != 0:
        pytest.skip("a btrfs file system cannot be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


def used(disk: Path) -> int:
    os.sync()
    status = os.statvfs(disk)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def test_blocks_are_shared_until_they_are_written_to(disk: Path) -> None:
    work, restored = disk / "work", disk / "restored"
    work.mkdir()
    restored.mkdir()
    contents = {name: os.urandom(5 * SMALL) for name in ("one", "two", "three")}
    for name, written in contents.items():
        (work / name).write_bytes(written)
    before = used(disk)
    snapshots = Snapshots(ObjectStore(disk / "objects"), work)
    taken = snapshots.take().id
    snapshots.store.commit()
    Snapshots(snapshots.store, restored).restore(taken)
    assert used(disk) < before + MILLION
    with (restored / "one").open("r+b") as file:
        file.write(b"changed")
    (work / "two").write_bytes(b"gone")
    snapshots.restore(taken)
    assert {path.name: path.read_bytes() for path in work.iterdir()} == contents
