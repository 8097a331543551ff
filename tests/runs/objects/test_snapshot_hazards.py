"""What must not happen to snapshots: parts lost without a word, and stale or dangerous files."""

import mmap
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlagentbench.errors import RunFailed
from mlagentbench.runs.objects.object_store import ObjectStore, object_hash
from mlagentbench.runs.objects.snapshot_trees import entry_at
from mlagentbench.runs.objects.snapshots import Snapshots
from mlagentbench.runs.objects.workspace_scan import CLOCK_TICK_NS


@pytest.fixture
def work(tmp_path: Path) -> Path:
    directory = tmp_path / "work"
    directory.mkdir()
    return directory


@pytest.fixture
def snapshots(tmp_path: Path, work: Path) -> Snapshots:
    return Snapshots(ObjectStore(tmp_path / "objects"), work)


def contents(snapshots: Snapshots, path: str) -> bytes:
    taken = snapshots.take()
    snapshots.store.commit()
    entry = entry_at(snapshots.store, taken.id, path)
    assert entry is not None
    return snapshots.store.read(entry.value)


def let_the_clock_tick() -> None:
    time.sleep(2 * CLOCK_TICK_NS / 1e9)


def test_writes_to_mapped_memory_are_seen(work: Path, snapshots: Snapshots) -> None:
    with (work / "array").open("wb+") as file:
        file.write(bytes(4096))
        file.flush()
        mapped = mmap.mmap(file.fileno(), 4096)
        mapped[:5] = b"first"
    let_the_clock_tick()
    assert contents(snapshots, "array")[:6] == b"first\0"
    mapped[:6] = b"second"
    assert contents(snapshots, "array")[:6] == b"second"
    mapped[:6] = b"thirds"
    mapped.close()
    assert contents(snapshots, "array")[:6] == b"thirds"


def test_a_file_that_nobody_writes_to_is_read_once(work: Path, snapshots: Snapshots) -> None:
    (work / "file").write_bytes(b"x")
    let_the_clock_tick()
    snapshots.take()
    known = snapshots._known.files["file"]
    snapshots.take()
    assert snapshots._known.files["file"] is known


def test_what_cannot_be_stored_is_a_failure_and_not_left_out(
    work: Path, snapshots: Snapshots
) -> None:
    (work / "folder").mkdir()
    (work / "folder" / "large").write_bytes(b"x" * 2_000_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        with pytest.raises(RunFailed, match=r"cannot store in .*objects: File too large"):
            snapshots.take()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert not list((snapshots.store.directory / "new").iterdir())


def test_a_workspace_closed_to_its_owner_is_opened_again(work: Path, snapshots: Snapshots) -> None:
    (work / "file").write_bytes(b"x")
    work.chmod(0)
    assert contents(snapshots, "file") == b"x"
    assert stat.S_IMODE(work.stat().st_mode) == 0o700
    work.chmod(0)
    snapshots.restore(snapshots.take().id)
    assert (work / "file").read_bytes() == b"x"


def test_a_file_under_a_lease_is_noted(work: Path, snapshots: Snapshots) -> None:
    (work / "file").write_bytes(b"x")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD_A_LEASE, str(work / "file")], stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.read(1) == b"."
        assert snapshots.take().notes == ("file: Resource temporarily unavailable",)
    finally:
        holder.kill()
        holder.wait()


HOLD_A_LEASE = """
import fcntl, os, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
os.write(1, b".")
time.sleep(60)
"""


def test_names_that_turn_into_other_things_do_no_harm(work: Path, snapshots: Snapshots) -> None:
    churn = subprocess.Popen([sys.executable, "-c", TURN_AROUND], cwd=work)
    try:
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            snapshots.take()
    finally:
        churn.kill()
        churn.wait()


TURN_AROUND = """
import os, shutil
while True:
    for make in (
        lambda: open("new", "w").close(),
        lambda: os.symlink("/etc/passwd", "new"),
        lambda: os.mkdir("new"),
        lambda: os.mkfifo("new"),
    ):
        make()
        if os.path.isdir("name") and not os.path.islink("name"):
            os.rmdir("name")
        elif os.path.isdir("new") and os.path.lexists("name"):
            os.unlink("name")
        os.rename("new", "name")
"""


def test_programs_of_other_users_are_not_restored_as_ours(work: Path, snapshots: Snapshots) -> None:
    (work / "program").write_bytes(b"x")
    (work / "program").chmod(0o6755)
    taken = snapshots.take().id
    (work / "program").unlink()
    snapshots.restore(taken)
    assert stat.S_IMODE((work / "program").stat().st_mode) == 0o755


def test_looking_whether_a_file_is_written_kills_nobody(work: Path, snapshots: Snapshots) -> None:
    """Who opens a file while we hold a lease on it makes the kernel send us a signal."""
    program = "import sys\nwhile True: open(sys.argv[1], 'ab').write(b'x')"
    writer = subprocess.Popen([sys.executable, "-c", program, str(work / "file")])
    try:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            snapshots.take()
    finally:
        writer.kill()
        writer.wait()


def test_holes_stay_holes(work: Path, snapshots: Snapshots) -> None:
    with (work / "sparse").open("wb") as file:
        file.seek(50_000_000)
        file.write(b"in the middle")
        file.truncate(100_000_000)
    before = (work / "sparse").read_bytes()
    taken = snapshots.take().id
    snapshots.store.commit()
    (work / "sparse").unlink()
    snapshots.restore(taken)
    assert (work / "sparse").read_bytes() == before
    stored = entry_at(snapshots.store, taken, "sparse")
    assert stored is not None
    assert stored.value == object_hash(before)
    for path in (snapshots.store.path(stored.value), work / "sparse"):
        assert path.stat().st_blocks * 512 < 10_000_000
