"""Leases: one process at a time writes to a run, and one that lost it does no harm."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chains import faults
from lease_worker import RUN, note

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import create_exclusively, remove_half_written
from mlagentbench.records import Json
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.hash_chain import accepted_lines, append_line, payloads
from mlagentbench.runs.journal import EventLine, Journal, read_lines
from mlagentbench.runs.lease import (
    WIDTH,
    LeaseLost,
    LeaseTimes,
    RunHeld,
    current_holder,
    lease_file,
    may_be_held,
    take_lease,
)
from mlagentbench.runs.objects.garbage_collection import collect_objects
from mlagentbench.runs.objects.object_store import ObjectStore

WORKER = Path(__file__).parents[1] / "support" / "lease_worker.py"
RENEWAL, VOID = 0.1, 1.0


@pytest.fixture(autouse=True)
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_LEASE_RENEWAL", str(RENEWAL))
    monkeypatch.setenv("MLAGENTBENCH_LEASE_VOID", str(VOID))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


@pytest.fixture(autouse=True)
def no_file_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cluster file systems may have none."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    monkeypatch.setattr(fcntl, "lockf", refuse)


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    run = RunDirectory(tmp_path, RUN)
    run.create()
    run.run_json.write_text('{"v":2}')
    return run


@contextmanager
def worker(run: RunDirectory, *what: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, str(WORKER), str(run.out), *what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def told(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def change_holder(run: RunDirectory, **changes: Json) -> None:
    """Rewrite the newest lease file."""
    [file] = run.path.glob("lease-*")
    values = json.loads(file.read_text()) | changes
    file.write_bytes(json.dumps(values).encode().ljust(WIDTH - 1) + b"\n")


def notes(run: RunDirectory) -> list[str]:
    return [
        line.detail
        for line in read_lines(run.journal)
        if isinstance(line, EventLine) and line.event == "note"
    ]


def test_a_second_process_is_kept_out_and_told_by_whom(run: RunDirectory) -> None:
    with worker(run, "hold") as holder:
        assert told(holder) == "held"
        with pytest.raises(RunHeld, match=f"is being written by process {holder.pid} of "):
            run.hold()
        assert run.holder is not None and run.holder.pid == holder.pid
        holder.communicate("")
    assert run.holder is None
    with run.hold() as held:
        assert held.lease.generation == 2
        assert [file.name for file in run.path.glob("lease-*")] == ["lease-000002"]
        assert not held.lease.followed_silence


def test_a_process_that_was_killed_here_is_followed_at_once(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_LEASE_VOID", "600")
    with worker(run, "hold") as holder:
        assert told(holder) == "held"
        holder.kill()
        holder.wait()
        started = time.monotonic()
        with run.hold() as held:
            assert time.monotonic() - started < 60
            assert not held.lease.followed_silence and held.work.name == "work"


def test_what_a_process_left_that_was_killed_while_it_took_the_lease_is_removed(
    run: RunDirectory,
) -> None:
    half_written = run.path / ".lease-000001.x7f3"
    half_written.write_text('{"owner"')
    with run.hold():
        assert not half_written.exists()


def test_a_process_whose_unfinished_file_is_removed_was_not_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.json"

    def be_overtaken(_: int) -> None:
        path.write_text("the other one's")
        remove_half_written(path)

    monkeypatch.setattr(os, "fsync", be_overtaken)
    assert not create_exclusively(path, b"ours")
    assert path.read_text() == "the other one's"


def test_holder_after_holder_may_tear_its_first_line(run: RunDirectory) -> None:
    with run.hold() as held:
        note(held, "first", 2)
    for torn in (
        '{"n":2,"kind":"event","eve',
        '\n{"n":2,"ki',
        '\n{"n":2,"kind":"event","event":"n',
    ):
        with run.journal.open("a") as journal:
            journal.write(torn)
        assert notes(run) == ["first 0", "first 1"] and faults(run) == []
    with run.hold() as held:
        note(held, "last", 1)
    assert notes(run) == ["first 0", "first 1", "last 0"] and faults(run) == []


def test_without_the_lease_a_held_runs_files_are_not_written(run: RunDirectory) -> None:
    with run.hold() as held:
        note(held, "holder", 1)
    written = run.journal.read_bytes(), run.grades.read_bytes()
    with pytest.raises(RunFailed, match=r"journal.jsonl belongs to a run that this process does"):
        Journal(run.journal, run.appended_files)
    with pytest.raises(RunFailed, match=r"grades.jsonl belongs to a run that this process does"):
        append_line(run.grades, b'{"by":"nobody"}', run.journal)
    assert (run.journal.read_bytes(), run.grades.read_bytes()) == written


def test_another_machines_silence_is_watched(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_LEASE_RENEWAL", "1")
    monkeypatch.setenv("MLAGENTBENCH_LEASE_VOID", "10")
    with run.hold() as held:
        note(held, "first", 1)
    change_holder(run, released=False, host="elsewhere", machine="elsewhere")
    assert run.holder is not None and run.holder.described.endswith("on elsewhere")
    waited: list[str] = []
    started = time.monotonic()
    with run.hold(waited.append) as held:
        assert time.monotonic() - started > 10
        assert held.lease.followed_silence
        assert (held.work.name, held.outputs.name) == ("work-000002", "outputs-000002")
        held.create()
        assert run.work == held.work
    assert len(waited) == 1 and "on elsewhere; waiting until it renews its lease" in waited[0]
    assert [line.event for line in read_lines(run.journal) if isinstance(line, EventLine)] == [
        "note",
        "new holder",
    ]
    assert faults(run) == []


@pytest.mark.parametrize("jump", [-1e6, 1e6])
def test_the_time_of_day_does_not_matter(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    day = time.time
    with worker(run, "hold") as holder:
        assert told(holder) == "held"
        monkeypatch.setattr(time, "time", lambda: day() + jump)
        for file in run.path.glob("lease-*"):
            os.utime(file, (day() + jump, day() + jump))
        with pytest.raises(RunHeld):
            run.hold()


@pytest.mark.parametrize("how", ["freeze", "tear"])
@pytest.mark.parametrize("lines", [0, 3])
def test_a_frozen_holder_that_wakes_between_look_and_write_does_no_harm(
    run: RunDirectory, how: str, lines: int
) -> None:
    with worker(run, how) as frozen:
        assert (told(frozen), told(frozen)) == ("held", "frozen")
        with run.hold() as held:
            assert held.lease.followed_silence
            note(held, "new", lines)
            frozen.send_signal(signal.SIGCONT)
            assert frozen.stdout is not None
            said = frozen.stdout.read()
            frozen.wait()
            note(held, "later", 2)
    if how == "freeze":
        assert f"process {os.getpid()} of " in said and "has taken over" in said
    expected = ["before 0", "before 1", *(f"new {n}" for n in range(lines)), "later 0", "later 1"]
    assert notes(run) == expected
    by = [json.loads(payload)["by"] for payload in payloads(run.grades)]
    assert by == ["before", "before", *["new"] * lines, "later", "later"]
    assert faults(run) == []
    assert accepted_lines(run.journal).ignored == 1


def test_a_line_that_was_written_just_before_the_takeover_is_ignored(run: RunDirectory) -> None:
    """The new holder has read the journal, and the former one writes before it does."""
    with run.hold() as held:
        note(held, "kept", 2)
    before = run.journal.read_bytes()
    with run.hold() as second:
        note(second, "stale", 1)
    stale = run.journal.read_bytes()[len(before) :]
    run.journal.write_bytes(before)
    run.grades.unlink()
    with run.hold() as third:
        note(third, "new", 2)
    new = run.journal.read_bytes()[len(before) :]
    for order in (
        stale + new,
        new + stale,
        new[: new.index(b"\n") + 1] + stale + new[new.index(b"\n") + 1 :],
    ):
        run.journal.write_bytes(before + order)
        assert notes(run) == ["kept 0", "kept 1", "new 0", "new 1"]
        assert faults(run) == [] and accepted_lines(run.journal).ignored == 1


def test_no_change_of_a_line_is_taken_for_a_former_holders(run: RunDirectory) -> None:
    for name in ("a", "b"):
        with run.hold() as held:
            note(held, name, 2)
    contents = run.journal.read_bytes()
    lines = contents.splitlines(keepends=True)
    for place in range(len(lines)):
        for changed in (b"".join(lines[:place] + lines[place + 1 :]),):
            run.journal.write_bytes(changed)
            assert faults(run), place
    for place in range(len(contents) - 1):
        for other in {contents[place] ^ 1, ord("0"), ord("\n")} - {contents[place]}:
            run.journal.write_bytes(contents[:place] + bytes([other]) + contents[place + 1 :])
            assert faults(run), (place, other)


def test_of_many_processes_one_gets_the_lease(run: RunDirectory) -> None:
    got: list[int] = []

    def attempt() -> None:
        try:
            with take_lease(run.path) as lease:
                got.append(lease.generation)
                time.sleep(5 * RENEWAL)
        except RunHeld:
            pass

    threads = [threading.Thread(target=attempt) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == sorted(set(got)) and got[0] == 1
    assert current_holder(run.path) is None


def test_a_lease_whose_number_was_passed_by_is_given_up(run: RunDirectory) -> None:
    with run.hold() as held:
        lease_file(run.path, 7).write_bytes(lease_file(run.path, 1).read_bytes())
        lease_file(run.path, 1).unlink()
        with pytest.raises(LeaseLost, match="has taken over"):
            held.lease.require()


def test_a_run_that_came_without_its_leases_gets_a_larger_number(run: RunDirectory) -> None:
    for name in ("a", "b", "c"):
        with run.hold() as held:
            note(held, name, 1)
    for file in run.path.glob("lease-*"):
        file.unlink()
    with run.hold() as held:
        assert held.lease.generation == 4
        note(held, "d", 1)
    assert notes(run) == ["a 0", "b 0", "c 0", "d 0"] and faults(run) == []


def test_a_run_is_read_while_another_process_writes(run: RunDirectory) -> None:
    with worker(run, "note", "60") as writer:
        assert told(writer) == "held"
        seen = [0]
        while writer.poll() is None:
            assert faults(run) == []
            seen.append(len(notes(run)))
        assert seen == sorted(seen) and len(set(seen)) > 2
    assert len(notes(run)) == 60


def test_gc_and_runs_keep_out_of_each_others_way(run: RunDirectory) -> None:
    store = ObjectStore(run.objects)
    digest = store.put(b"nobody's")
    store.commit()
    with worker(run, "note", "100") as writer:
        assert told(writer) == "held"
        with pytest.raises(RunHeld, match=f"is being written by process {writer.pid}"):
            collect_objects(run.out, dry_run=False)
        assert store.path(digest).exists()
        assert writer.wait() == 0
    with take_lease(run.objects), worker(run, "note", "1") as waiting:
        time.sleep(5 * RENEWAL)
        assert waiting.poll() is None and len(notes(run)) == 100
    assert collect_objects(run.out, dry_run=False).objects.number == 1


def test_a_frozen_gc_is_left_to_a_person(run: RunDirectory) -> None:
    lease = take_lease(run.objects)
    [file] = run.objects.glob("lease-*")
    lease.release()
    values = json.loads(file.read_text()) | {"released": False, "machine": "elsewhere"}
    file.write_text(json.dumps(values))
    with pytest.raises(UsageError, match=f"end that process, then remove {file}"):
        run.hold()
    assert run.holder is None


def test_a_quick_look_tells_whether_a_lease_was_released(run: RunDirectory) -> None:
    def look() -> bool:
        return may_be_held(str(run.path), [file.name for file in run.path.iterdir()])

    assert not look()
    with run.hold() as held:
        assert look()
        assert may_be_held(str(run.path), ["lease-999999"]), "its holder has changed meanwhile"
    assert not look()
    released = lease_file(run.path, held.lease.generation)
    for number in (999_999, 1_000_000):
        lease_file(run.path, number).write_bytes(released.read_bytes().replace(b"true", b"false"))
    assert look()
    lease_file(run.path, 1_000_001).write_bytes(released.read_bytes())
    assert not look() and current_holder(run.path) is None


@pytest.mark.parametrize(("name", "value"), [("RENEWAL", "0"), ("VOID", "soon"), ("VOID", "0.2")])
def test_wrong_times_are_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"MLAGENTBENCH_LEASE_{name}", value)
    with pytest.raises(UsageError, match=f"MLAGENTBENCH_LEASE_{name}"):
        LeaseTimes.chosen()
