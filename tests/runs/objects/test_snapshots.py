"""Snapshots: exact, cheap where nothing changed, and never fooled by links, races or modes."""

import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlagentbench.runs.objects.object_store import SMALL, ObjectStore
from mlagentbench.runs.objects.snapshot_trees import (
    NotCollected,
    changes,
    entry_at,
    materialise,
    walk,
)
from mlagentbench.runs.objects.snapshots import Snapshots
from mlagentbench.runs.objects.workspace_scan import CLOCK_TICK_NS

UNPRIVILEGED = 65534


def describe(top: Path) -> dict[str, tuple[str, int, bytes]]:
    """Everything in a directory: kind, mode, and bytes or link target."""
    found: dict[str, tuple[str, int, bytes]] = {}
    for folder, directories, files in os.walk(top):
        for name in directories + files:
            path = Path(folder, name)
            mode = stat.S_IMODE(path.lstat().st_mode)
            if path.is_symlink():
                found[str(path.relative_to(top))] = ("link", 0, str(path.readlink()).encode())
            elif path.is_dir():
                found[str(path.relative_to(top))] = ("directory", mode, b"")
            else:
                found[str(path.relative_to(top))] = ("file", mode, path.read_bytes())
    return found


@pytest.fixture
def work(tmp_path: Path) -> Path:
    directory = tmp_path / "work"
    directory.mkdir()
    return directory


@pytest.fixture
def snapshots(tmp_path: Path, work: Path) -> Snapshots:
    return Snapshots(ObjectStore(tmp_path / "objects"), work)


def take(snapshots: Snapshots) -> str:
    taken = snapshots.take()
    snapshots.store.commit()
    return taken.id


def object_count(snapshots: Snapshots) -> int:
    return len(list(snapshots.store.directory.glob("??/*")))


NAMES = st.sampled_from(["a", "b", "c d", "é", "x.py", "-rf", "new\nline"])
IS_ROOT = os.geteuid() == 0
MODES = st.sampled_from([0o644, 0o600, 0o755, 0o444, 0o000 if IS_ROOT else 0o400])
LEAVES = st.one_of(
    st.tuples(st.just("file"), MODES, st.binary(max_size=40)),
    st.tuples(st.just("link"), st.just(0), st.sampled_from([b"a", b"../..", b"/etc", b"b/c"])),
)
TREES = st.recursive(
    st.dictionaries(NAMES, LEAVES, max_size=4),
    lambda inner: st.dictionaries(NAMES, st.one_of(LEAVES, inner), max_size=4),
    max_leaves=12,
)


def build(tree: dict, top: Path) -> None:
    for name, value in tree.items():
        path = top / name
        if isinstance(value, dict):
            path.mkdir()
            build(value, path)
            path.chmod(0o755 if len(value) % 2 else (0o500 if IS_ROOT else 0o700))
        elif value[0] == "link":
            path.symlink_to(value[2].decode())
        else:
            path.write_bytes(value[2])
            path.chmod(value[1])


@pytest.mark.slow
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(first=TREES, second=TREES)
def test_any_two_states_can_be_restored_in_turn(
    tmp_path_factory: pytest.TempPathFactory,
    first: dict,
    second: dict,
) -> None:
    top = tmp_path_factory.mktemp("round")
    work = top / "work"
    work.mkdir()
    snapshots = Snapshots(ObjectStore(top / "objects"), work)
    build(first, work)
    one, state_one = take(snapshots), describe(work)
    subprocess.run(["find", str(work), "-mindepth", "1", "-delete"], check=True)
    build(second, work)
    two, state_two = take(snapshots), describe(work)
    assert (one == two) == (state_one == state_two)
    for snapshot, state in ((one, state_one), (two, state_two), (one, state_one)):
        snapshots.restore(snapshot)
        assert describe(work) == state
        assert take(snapshots) == snapshot
    fresh = Snapshots(ObjectStore(top / "objects"), work)
    fresh.restore(two)
    assert describe(work) == state_two


class CountingStore(ObjectStore):
    """Counts the files that were read into it."""

    reads = 0

    def put_file(self, source: int, size: int) -> str:
        self.reads += 1
        return super().put_file(source, size)


def test_an_unchanged_workspace_stores_nothing_and_reads_nothing(
    tmp_path: Path, work: Path
) -> None:
    store = CountingStore(tmp_path / "objects")
    snapshots = Snapshots(store, work)
    for number in range(50):
        (work / f"{number}.txt").write_text(str(number))
    first = take(snapshots)
    time.sleep(2 * CLOCK_TICK_NS / 1e9)
    assert take(snapshots) == first
    before, reads = object_count(snapshots), store.reads
    assert take(snapshots) == first
    assert (object_count(snapshots), store.reads) == (before, reads)
    (work / "7.txt").write_text("changed")
    assert take(snapshots) != first
    assert store.reads == reads + 1


def test_a_change_costs_the_changed_file_and_the_listings_above_it(
    work: Path, snapshots: Snapshots
) -> None:
    for folder in ("one", "two"):
        (work / folder).mkdir()
        (work / folder / "file").write_text(folder)
    first = take(snapshots)
    before = object_count(snapshots)
    (work / "one" / "file").write_text("changed")
    second = take(snapshots)
    assert object_count(snapshots) == before + 3
    changed = list(changes(snapshots.store, first, second))
    assert [change.path for change in changed] == ["one/file"]


def test_equal_contents_are_stored_once(work: Path, snapshots: Snapshots) -> None:
    big = os.urandom(SMALL + 1)
    for name in ("a", "b"):
        (work / name).write_bytes(big)
    snapshot = take(snapshots)
    entries = dict(walk(snapshots.store, snapshot))
    assert entries["a"].value == entries["b"].value
    assert object_count(snapshots) == 2
    (work / "a").unlink()
    snapshots.restore(snapshot)
    assert (work / "a").read_bytes() == big


def test_a_second_change_within_the_clocks_tick_is_seen(work: Path, snapshots: Snapshots) -> None:
    file = work / "file"
    for number in range(300):
        file.write_text(f"{number:04}")
        snapshot = snapshots.take().id
        entry = entry_at(snapshots.store, snapshot, "file")
        assert entry is not None
        assert snapshots.store.read(entry.value) == f"{number:04}".encode()


def test_a_change_that_keeps_size_and_mtime_is_seen(work: Path, snapshots: Snapshots) -> None:
    file = work / "file"
    file.write_text("one")
    status = file.stat()
    first = take(snapshots)
    snapshots.restore(first)
    file.write_text("two")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert take(snapshots) != first


def test_restoring_never_writes_through_links(
    tmp_path: Path, work: Path, snapshots: Snapshots
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    (work / "folder").mkdir()
    (work / "folder" / "precious").write_text("mine")
    (work / "file").write_text("mine")
    snapshot = take(snapshots)
    (work / "folder" / "precious").unlink()
    (work / "folder").rmdir()
    (work / "folder").symlink_to(outside)
    (work / "file").unlink()
    (work / "file").symlink_to(outside / "precious")
    (work / "extra").symlink_to(outside)
    snapshots.restore(snapshot)
    assert (outside / "precious").read_text() == "precious"
    assert not (work / "folder").is_symlink()
    assert (work / "folder" / "precious").read_text() == "mine"
    assert not (work / "extra").is_symlink()


def test_special_files_are_left_out_and_noted(work: Path, snapshots: Snapshots) -> None:
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(work / "socket"))
    (work / "file").write_text("x")
    taken = snapshots.take()
    assert set(dict(walk(snapshots.store, taken.id))) == {"file"}
    assert sorted(taken.notes) == ["pipe: a named pipe", "socket: a socket"]
    assert snapshots.take().notes == taken.notes


def test_skipped_names_are_neither_kept_nor_removed(tmp_path: Path, work: Path) -> None:
    snapshots = Snapshots(ObjectStore(tmp_path / "objects"), work, skip=["data.csv"])
    (work / "data.csv").write_text("")
    (work / "folder").mkdir()
    (work / "folder" / "data.csv").write_text("the agent's own")
    snapshot = take(snapshots)
    assert set(dict(walk(snapshots.store, snapshot))) == {"folder", "folder/data.csv"}
    snapshots.restore(snapshot)
    assert (work / "data.csv").exists()


@pytest.mark.slow
def test_bottomless_directories_are_cut_and_removed(work: Path, snapshots: Snapshots) -> None:
    empty = take(snapshots)
    here = os.open(work, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    taken = snapshots.take()
    assert "nested deeper" in taken.notes[0]
    snapshots.restore(empty)
    assert list(work.iterdir()) == []


def test_names_that_are_not_utf8_survive(work: Path, snapshots: Snapshots) -> None:
    name = os.fsdecode(b"caf\xe9")
    (work / name).write_text("x")
    (work / "link").symlink_to(name)
    snapshot, state = take(snapshots), sorted(work.iterdir())
    (work / name).unlink()
    snapshots.restore(snapshot)
    assert sorted(work.iterdir()) == state
    assert (work / "link").read_text() == "x"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to give files away")
def test_restored_files_belong_to_the_given_owner(tmp_path: Path, work: Path) -> None:
    snapshots = Snapshots(ObjectStore(tmp_path / "objects"), work, owner=UNPRIVILEGED)
    (work / "folder").mkdir()
    (work / "folder" / "file").write_text("x")
    (work / "link").symlink_to("/nowhere")
    snapshot = take(snapshots)
    subprocess.run(["find", str(work), "-mindepth", "1", "-delete"], check=True)
    snapshots.restore(snapshot)
    for name in ("folder", "folder/file", "link"):
        assert (work / name).lstat().st_uid == UNPRIVILEGED


UNREADABLE = """
import os, sys
from pathlib import Path
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshots import Snapshots
from mlagentbench.runs.objects.snapshot_trees import walk
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
top = Path(sys.argv[1])
work = top / "work"
(work / "closed").mkdir(parents=True)
(work / "closed" / "file").write_text("x")
(work / "closed" / "file").chmod(0)
(work / "closed").chmod(0)
snapshots = Snapshots(ObjectStore(top / "objects"), work)
taken = snapshots.take()
snapshots.store.commit()
assert taken.notes == (), taken
modes = {path: entry.mode for path, entry in walk(snapshots.store, taken.id)}
assert modes == {"closed": 0, "closed/file": 0}, modes
assert os.stat(work / "closed").st_mode & 0o777 == 0
snapshots.restore(taken.id)
os.chmod(work / "closed", 0o700)
os.unlink(work / "closed" / "file")
os.chmod(work / "closed", 0)
Snapshots(snapshots.store, work).restore(taken.id)
assert os.stat(work / "closed").st_mode & 0o777 == 0
os.chmod(work / "closed", 0o700)
os.chmod(work / "closed" / "file", 0o600)
assert (work / "closed" / "file").read_text() == "x"
"""


def test_an_ordinary_user_keeps_what_it_forbade_itself_to_read(tmp_path: Path) -> None:
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        if folder.owner() == Path.home().owner() or os.getuid() == 0:
            folder.chmod(0o777)
    result = subprocess.run(
        [sys.executable, "-c", UNREADABLE, str(tmp_path)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def test_files_that_vanish_or_grow_meanwhile_do_no_harm(work: Path, snapshots: Snapshots) -> None:
    churn = (
        "import os, itertools\n"
        "for n in itertools.count():\n"
        "    name = f'f{n % 50}'\n"
        "    open(name, 'w').write('x' * (n % 1000))\n"
        "    os.rename(name, f'g{n % 50}')\n"
        "    os.makedirs(f'd{n % 7}/e', exist_ok=True)\n"
        "    os.rmdir(f'd{n % 7}/e')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", churn], cwd=work)
    try:
        for _ in range(100):
            snapshots.take()
    finally:
        process.kill()
        process.wait()
    snapshot, state = take(snapshots), describe(work)
    snapshots.restore(snapshot)
    assert describe(work) == state


def test_materialise_hands_over_regular_files_only(
    tmp_path: Path, work: Path, snapshots: Snapshots
) -> None:
    (work / "good.csv").write_text("12345")
    (work / "folder" / "deep").mkdir(parents=True)
    (work / "folder" / "deep" / "file").write_text("x")
    (work / "evil.csv").symlink_to("/etc/passwd")
    (work / "evil").mkdir()
    (work / "evil" / "link").symlink_to("/etc")
    snapshot = take(snapshots)
    target = tmp_path / "outputs"
    target.mkdir()
    materialise(snapshots.store, snapshot, target, ["good.csv", "folder"], max_bytes=6)
    assert sorted(describe(target)) == ["folder", "folder/deep", "folder/deep/file", "good.csv"]
    for paths, reason in {
        ("none.csv",): "none.csv not found",
        ("good.csv/more",): "good.csv/more not found",
        ("evil.csv",): "evil.csv is a symbolic link",
        ("evil",): "evil/link is a symbolic link",
        ("evil/link/passwd",): "evil/link/passwd not found",
    }.items():
        with pytest.raises(NotCollected, match=reason):
            materialise(snapshots.store, snapshot, target, paths)
    with pytest.raises(NotCollected, match="5 bytes, more than the 4 allowed"):
        materialise(snapshots.store, snapshot, target, ["good.csv"], max_bytes=4)


def test_processes_share_one_store(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from mlagentbench.runs.objects.object_store import ObjectStore\n"
        "store = ObjectStore(Path(sys.argv[1]))\n"
        "for n in range(60):\n"
        "    digest = store.put(b'%d' % n)\n"
        "    store.commit()\n"
        "    assert store.read(digest) == b'%d' % n\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "objects")]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert len(list((tmp_path / "objects").glob("??/*"))) == 60
    assert not list((tmp_path / "objects" / "new").iterdir())


def test_what_a_killed_process_left_half_stored_is_removed(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from mlagentbench.runs.objects.object_store import ObjectStore\n"
        "ObjectStore(Path(sys.argv[1])).put(b'half')\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "objects")], check=True)
    store = ObjectStore(tmp_path / "objects")
    mine = store.put(b"mine")
    assert len(list((tmp_path / "objects" / "new").iterdir())) == 2
    store.remove_leftovers()
    store.commit()
    assert store.read(mine) == b"mine"
    assert list((tmp_path / "objects" / "new").iterdir()) == []
