"""The journal: readable whatever crashed, and enough to go on from."""

import json
import resource
import signal
from pathlib import Path

import pytest

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.records import Action, Observation, Outcome, Usage
from mlagentbench.runs.hash_chain import require_chain
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
from mlagentbench.runs.objects.object_store import ObjectStore


def write_run(path: Path) -> None:
    """Two steps, one interrupted, with everything a journal can hold."""
    journal = Journal(path)
    journal.append(
        RunLine,
        0.0,
        task="t",
        task_version=1,
        tier="mini",
        data_hash="d",
        actions=("A",),
        limits={"steps": 3},
        snapshot="s0",
    )
    journal.append(
        ReplyLine,
        1.0,
        role="main",
        step=1,
        prompt_hash="p",
        reply="do \ud800 it\n",
        input_tokens=10,
        output_tokens=2,
        cost=0.5,
        state={"plan": [None, 1.5]},
    )
    for step in (1, 2):
        action = Action(name="A", arguments={"none": None, "text": "ü\u2028\n"})
        journal.append(BeginLine, step + 1.0, step=step, action=action)
        journal.append(
            EndLine,
            step + 1.5,
            step=step,
            observation=Observation(text=f"saw {step}", status="error", exit_code=1),
            snapshot=f"s{step}",
            edited="train.py" if step == 1 else None,
            started=5.0,
            seconds=0.5,
        )
    journal.append(EventLine, 4.0, event="note", detail="x")
    journal.append(BeginLine, 4.5, step=3, action=Action(name="B"))
    journal.close()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write_run(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["n"] for line in lines] == list(range(8))
    assert {line["v"] for line in lines} == {2}
    history = read_journal(path)
    assert history.run is not None
    assert history.run.actions == ("A",)
    assert history.replies[0].reply == "do \ud800 it\n"
    assert history.replies[0].state == {"plan": [None, 1.5]}
    assert [step.observation.text for step in history.steps] == ["saw 1", "saw 2"]
    assert history.steps[0].action.arguments == {"none": None, "text": "ü\u2028\n"}
    assert history.snapshot == "s2"
    assert history.interrupted is not None
    assert history.interrupted.action.name == "B"
    assert history.undo == {"train.py": ["s0"]}
    assert history.outcome is None
    assert history.usage == Usage(steps=2, seconds=4.5, input_tokens=10, output_tokens=2, cost=0.5)


def test_lines_that_do_not_fit_together_name_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write_run(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    with pytest.raises(UsageError, match=rf"^{path}: the journal is damaged: step 1 ends but nev"):
        read_journal(path)
    undoing = lines[3].replace(b'"edited"', b'"undone"')
    path.write_bytes(b"".join([*lines[:3], undoing]))
    with pytest.raises(UsageError, match=rf"^{path}: .* step 1 takes back an edit that was never"):
        read_journal(path)


def test_torn_at_every_byte_it_reads_and_goes_on(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    write_run(whole)
    contents = whole.read_bytes()
    torn = tmp_path / "torn.jsonl"
    for size in range(len(contents) + 1):
        torn.write_bytes(contents[:size])
        sound = contents[:size].count(b"\n")
        assert len(read_lines(torn)) == sound
        journal = Journal(torn)
        journal.append(EventLine, 9.0, event="resumed")
        journal.close()
        require_chain(torn)
        lines = read_lines(torn)
        assert [line.n for line in lines] == list(range(sound + 1))
        assert lines[-1].kind == "event"


def test_a_line_that_does_not_fit_on_the_disk_leaves_no_part_behind(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write_run(path)
    before = path.read_bytes()
    journal = Journal(path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, hard))
    try:
        with pytest.raises(RunFailed, match=r"cannot write .*journal"):
            journal.append(EventLine, 5.0, event="note", detail="x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == before
    journal.append(EventLine, 6.0, event="note", detail="there is room again")
    journal.close()
    assert [line.n for line in read_lines(path)] == list(range(len(before.splitlines()) + 1))


def test_a_last_line_without_an_end_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write_run(path)
    for rubbish in (b"\0" * 50, b"\xff\xfe", b"{}", b"{"):
        torn = tmp_path / "torn.jsonl"
        torn.write_bytes(path.read_bytes() + rubbish)
        assert len(read_lines(torn)) == 8


@pytest.mark.parametrize("number", [2, 8])
def test_a_damaged_line_is_said(tmp_path: Path, number: int) -> None:
    path = tmp_path / "journal.jsonl"
    write_run(path)
    lines = path.read_bytes().splitlines(keepends=True)
    for rubbish in (b"rubbish\n", b"\0\n", b"\xff\xfe\n", b"{}\n", b"[1]\n"):
        path.write_bytes(b"".join([*lines[: number - 1], rubbish, *lines[number:]]))
        with pytest.raises(UsageError, match=f"line {number}: the journal is damaged"):
            read_lines(path)


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write_run(path)
    contents = path.read_bytes()
    for other, reader in ((1, "mlagentbench 0.1.0"), (3, "a newer version"), (0, "a different")):
        path.write_bytes(contents.replace(b'"v":2', b'"v":%d' % other))
        with pytest.raises(UsageError, match=f"journal.jsonl has format {other}, .* {reader}"):
            read_lines(path)


def test_no_journal_is_an_empty_history(tmp_path: Path) -> None:
    history = read_journal(tmp_path / "none.jsonl")
    assert history.run is None
    assert history.steps == []


def test_long_texts_come_from_the_store(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path / "objects")
    digest = store.put(b"long" * 10_000)
    store.commit()
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append(BeginLine, 0.0, step=1, action=Action(name="A"))
    journal.append(
        EndLine,
        0.0,
        step=1,
        observation=Observation(text=""),
        text=digest,
        snapshot="s",
        started=0.0,
        seconds=0.0,
    )
    journal.close()
    history = read_journal(tmp_path / "journal.jsonl", store)
    assert history.steps[0].observation.text == "long" * 10_000


def test_a_resumed_run_has_no_outcome_until_it_ends_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write_run(path)
    journal = Journal(path)
    outcome = Outcome(kind="failed", detail="sandbox", cause="sandbox")
    journal.append(OutcomeLine, 6.0, outcome=outcome, snapshot="s9", usage=Usage())
    assert read_journal(path).outcome == outcome
    assert read_journal(path).snapshot == "s9"
    journal.append(EventLine, 6.0, event="resumed")
    journal.close()
    assert read_journal(path).outcome is None


def test_tokens_that_a_step_used_are_kept(tmp_path: Path) -> None:
    """Programs that an action runs may ask a model; the run goes on from what they used."""
    path = tmp_path / "journal.jsonl"
    write_run(path)
    before = read_journal(path).usage
    journal = Journal(path)
    journal.append(BeginLine, 7.0, step=3, action=Action(name="A"))
    journal.append(
        EndLine, 8.0, step=3, observation=Observation(text="x"), snapshot="s3", started=0.0,
        seconds=1.0, usage=before.model_copy(update={"input_tokens": 510, "output_tokens": 52}),
    )  # fmt: skip
    journal.close()
    after = read_journal(path).usage
    assert (after.input_tokens, after.output_tokens) == (510, 52)
    assert (after.steps, after.seconds) == (3, 8.0)
