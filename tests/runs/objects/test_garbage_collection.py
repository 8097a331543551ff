"""Garbage collection: what a run refers to stays, whatever happens; all else goes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chains import write_lines

from mlagentbench.errors import UsageError
from mlagentbench.records import Action, Observation, Outcome, Usage
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.hash_chain import append_line
from mlagentbench.runs.journal import (
    BeginLine,
    EndLine,
    EventLine,
    Journal,
    OutcomeLine,
    ReplyLine,
    RunLine,
    read_journal,
    read_lines,
)
from mlagentbench.runs.lease import RunHeld
from mlagentbench.runs.objects.garbage_collection import Freed, collect_objects, remove_workspaces
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import store_directory, walk

PLACE = "runs/t/mini/agent-0/none/{}"


def add_run(
    out: Path, name: str, *, finished: bool = True, place: str = PLACE
) -> tuple[RunDirectory, set[str]]:
    """A run of two steps with files, a long text, an output and a prompt; and its objects."""
    run = RunDirectory(out, Path(place.format(name)))
    run.create()
    store = ObjectStore(run.objects)
    run.run_json.write_text("{}")
    journal = Journal(run.journal)
    (run.work / "folder" / "deep").mkdir(parents=True)
    (run.work / "folder" / "deep" / "same.txt").write_text("in all runs")
    (run.work / "train.py").write_text(f"{name} 0")
    snapshots = [store_directory(store, run.work)]
    store.commit()
    journal.append(
        RunLine, 0.0, task="t", task_version=1, tier="mini", data_hash="d", actions=(), limits={},
        snapshot=snapshots[0],
    )  # fmt: skip
    texts = set()
    for step in (1, 2):
        (run.work / "train.py").write_text(f"{name} {step}")
        snapshots.append(store_directory(store, run.work))
        text, output, prompt = (
            store.put(f"{kind} {name} {step}".encode()) for kind in ("text", "output", "prompt")
        )
        texts |= {text, output, prompt}
        store.commit()
        journal.append(ReplyLine, 1.0, step=step, role="main", prompt_hash=prompt, reply="-")
        journal.append(BeginLine, 1.0, step=step, action=Action(name="A"))
        journal.append(
            EndLine, 1.0, step=step, observation=Observation(text=""), text=text, output=output,
            snapshot=snapshots[-1], started=0.0, seconds=0.0,
        )  # fmt: skip
    if finished:
        (run.work / "train.py").write_text(f"{name} handed in")
        snapshots.append(store_directory(store, run.work))
        store.commit()
        journal.append(
            OutcomeLine, 2.0, outcome=Outcome(kind="submitted"), snapshot=snapshots[-1],
            usage=Usage(),
        )  # fmt: skip
    journal.close()
    store.close()
    referred = texts | set(snapshots)
    for snapshot in snapshots:
        referred |= {entry.value for _, entry in walk(store, snapshot)}
    return run, referred


def objects(out: Path) -> set[str]:
    return {f"{path.parent.name}{path.name}" for path in (out / "objects").glob("??/*")}


def garbage(out: Path, number: int = 3) -> set[str]:
    store = ObjectStore(out / "objects")
    digests = {store.put(f"nobody's {n}".encode()) for n in range(number)}
    store.commit()
    store.close()
    return digests


def test_only_what_no_run_refers_to_goes(tmp_path: Path) -> None:
    _, ours = add_run(tmp_path, "1")
    unfinished, theirs = add_run(tmp_path, "2", finished=False)
    with unfinished.journal.open("ab") as file:
        file.write(b'{"v":2,"n":9,"kind":"be')
    nobodys = garbage(tmp_path)
    assert objects(tmp_path) == ours | theirs | nobodys
    would = collect_objects(tmp_path, dry_run=True)
    assert would.objects.number == len(nobodys)
    assert objects(tmp_path) == ours | theirs | nobodys
    freed = collect_objects(tmp_path, dry_run=False)
    assert freed == would.model_copy(update={"dry_run": False})
    assert freed.objects.size > 0
    assert freed.kept.number == len(ours | theirs)
    assert objects(tmp_path) == ours | theirs
    read_journal(unfinished.journal, ObjectStore(unfinished.objects))


def test_a_branch_keeps_the_history_that_it_shares(tmp_path: Path) -> None:
    parent, shared = add_run(tmp_path, "1", finished=False)
    branch = RunDirectory(tmp_path, Path(PLACE.format("2")))
    branch.create()
    write_lines(branch, read_lines(parent.journal))
    journal = Journal(branch.journal)
    journal.append(EventLine, 3.0, event="note", detail="goes on from here")
    journal.close()
    subprocess.run(["rm", "-r", str(parent.path)], check=True)
    garbage(tmp_path)
    collect_objects(tmp_path, dry_run=False)
    assert objects(tmp_path) == shared
    subprocess.run(["rm", "-r", str(branch.path)], check=True)
    collect_objects(tmp_path, dry_run=False)
    assert objects(tmp_path) == set()


def test_runs_moved_aside_keep_theirs_and_other_outs_are_not_looked_at(tmp_path: Path) -> None:
    _, ours = add_run(tmp_path, "1")
    _, moved = add_run(tmp_path, "2", place="old/t/mini/agent-0/none/{}")
    _, deep = add_run(tmp_path, "3", place="old/er/and/ol/der/runs/t/mini/agent-0/none/{}")
    (tmp_path / "old" / "circle").symlink_to(tmp_path / "old")
    add_run(tmp_path / "replays", "1")
    add_run(tmp_path / "old" / "another", "1")
    garbage(tmp_path)
    (tmp_path / "objects" / "ab" / ("cd" * 31)).mkdir(parents=True)
    collect_objects(tmp_path, dry_run=False)
    assert objects(tmp_path) - {"ab" + "cd" * 31} == ours | moved | deep
    for other in ("replays", "old/another"):
        before = objects(tmp_path / other)
        collect_objects(tmp_path / other, dry_run=False)
        assert objects(tmp_path / other) == before


def test_what_cannot_be_understood_stops_it(tmp_path: Path) -> None:
    run, _ = add_run(tmp_path, "1")
    garbage(tmp_path)
    before = objects(tmp_path)
    sound = run.journal.read_bytes()
    run.journal.write_bytes(sound.replace(b'"kind":"begin"', b'"kind":"bagin"', 1))
    with pytest.raises(UsageError, match=rf"{run.journal}, line 3: .*nothing was removed.*backup"):
        collect_objects(tmp_path, dry_run=False)
    run.journal.write_bytes(sound.replace(b'"kind":"outcome"', b'"kind":"autcome"'))
    with pytest.raises(UsageError, match=r"line 8: .*; nothing was removed"):
        collect_objects(tmp_path, dry_run=False)
    for altered in (
        sound.replace(b'"kind":"begin"', b'"kind": "begin"', 1),
        b"".join(sound.splitlines(keepends=True)[1:]),
    ):
        run.journal.write_bytes(altered)
        with pytest.raises(UsageError, match=rf"{run.journal}, line .* altered; nothing was remov"):
            collect_objects(tmp_path, dry_run=False)
    run.journal.write_bytes(sound)
    append_line(run.grades, b'{"score":1}', run.journal)
    run.journal.write_bytes(b"".join(sound.splitlines(keepends=True)[:-1]))
    with pytest.raises(UsageError, match=r"line 1 of grades.jsonl .* nothing was removed"):
        collect_objects(tmp_path, dry_run=False)
    run.grades.unlink()
    run.output_log.write_text("a command said something")
    for lose in (Path.unlink, Path.touch):
        lose(run.journal)
        with pytest.raises(UsageError, match=rf"{run.journal}: the journal is lost.*may refer to"):
            collect_objects(tmp_path, dry_run=False)
    run.journal.write_bytes(sound)
    history = read_journal(run.journal)
    listing = ObjectStore(run.objects).path(history.steps[0].snapshot)
    contents = listing.read_bytes()
    listing.unlink()
    with pytest.raises(UsageError, match=rf"{run.path}: {listing} .* is missing; .*may refer to"):
        collect_objects(tmp_path, dry_run=False)
    listing.write_bytes(contents)
    assert objects(tmp_path) == before
    assert collect_objects(tmp_path, dry_run=False).objects.number == 3


def test_nothing_goes_while_a_run_is_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_LEASE_RENEWAL", "0.1")
    run, _ = add_run(tmp_path, "1")
    nobodys = garbage(tmp_path, 1)
    with run.hold(), pytest.raises(RunHeld, match=r"is being written by process .*; wait"):
        collect_objects(tmp_path, dry_run=False)
    assert nobodys <= objects(tmp_path)
    (tmp_path / "objects" / "new" / "1-left").write_bytes(b"by a process that was killed")
    freed = collect_objects(tmp_path, dry_run=False)
    assert (freed.objects.number, freed.leftovers.number) == (1, 1)
    assert not list((tmp_path / "objects" / "new").iterdir())


COLLECT = """
import sys
from pathlib import Path
from mlagentbench.runs.lease import RunHeld
from mlagentbench.runs.objects.garbage_collection import collect_objects
collect_objects(Path(sys.argv[1]), dry_run=False)
"""


def test_killed_in_the_middle_it_has_harmed_nothing_and_can_be_finished(tmp_path: Path) -> None:
    _, ours = add_run(tmp_path, "1")
    nobodys = set()
    for number in range(6_000):
        digest = f"{number:064x}"[::-1]
        path = tmp_path / "objects" / digest[:2] / digest[2:]
        path.parent.mkdir(exist_ok=True)
        path.touch()
        nobodys.add(digest)
    process = subprocess.Popen(
        [sys.executable, "-c", COLLECT, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    first = tmp_path / "objects" / "00"
    there = len(list(first.iterdir()))
    while len(list(first.iterdir())) == there and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    left = objects(tmp_path)
    assert ours < left
    assert len(left) < len(ours | nobodys)
    collect_objects(tmp_path, dry_run=False)
    assert objects(tmp_path) == ours


def test_workspaces_go_when_their_runs_are_finished_and_stored(tmp_path: Path) -> None:
    finished, _ = add_run(tmp_path, "1")
    unfinished, _ = add_run(tmp_path, "2", finished=False)
    lost, _ = add_run(tmp_path, "3")
    history = read_journal(lost.journal)
    assert history.last_steps_snapshot is not None
    store = ObjectStore(lost.objects)
    files = dict(walk(store, history.last_steps_snapshot))
    store.path(files["train.py"].value).unlink()
    (finished.outputs / "step-2").mkdir(parents=True)
    would = remove_workspaces(tmp_path, Freed(dry_run=True))
    assert finished.work.is_dir()
    freed = remove_workspaces(tmp_path, Freed(dry_run=False))
    assert freed.workspaces == would.workspaces
    assert freed.workspaces.number == 2
    assert not finished.work.exists()
    assert not finished.outputs.exists()
    assert unfinished.work.is_dir()
    assert lost.work.is_dir()
    [reason] = freed.kept_workspaces
    assert reason.startswith(f"{lost.work} stays: ")
    assert "(train.py) is missing" in reason
