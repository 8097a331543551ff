"""A run that a person answers, killed and continued on the way, then recorded and replayed."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from command_line import COMMAND, Run
from inspect_ai import eval
from number_task import STARTER, write_number_task

from mlagentbench.inspect_plugin import react, registered_task
from mlagentbench.launch.request import RunSettings
from mlagentbench.models.mailbox_folder import MailFolder
from mlagentbench.models.prompt_matching import normalised
from mlagentbench.models.recording import BY_HAND, read_recording, record_directories
from mlagentbench.runs.journal import AnyLine, ReplyLine, read_lines
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.results import RunResult, collect

pytestmark = pytest.mark.slow

BETTER = STARTER.replace("slope = 1 + random.gauss(0, 0.02)", "slope = 3.0")
ANSWERS = (
    ("write_file", {"file_name": "train.py", "content": BETTER}),
    ("execute_script", {"script_name": "train.py"}),
    ("final_answer", {"final_answer": "the slope is 3"}),
)
LIMIT = 120
"""Seconds that anything here may take before it counts as hanging."""


class ByHand(NamedTuple):
    top: Path
    recording: Path
    result: RunResult
    said: str


def answer(box: MailFolder, process: subprocess.Popen[str], call: int) -> None:
    """Answer the next request as a person would: a file, written elsewhere and moved there."""
    name = wait_for_request(box, process)
    function, arguments = ANSWERS[call]
    draft = box.directory / "draft"
    draft.write_text(json.dumps({"tool_calls": [{"function": function, "arguments": arguments}]}))
    draft.rename(box.path(name, "reply.json"))


def wait_for_request(box: MailFolder, process: subprocess.Popen[str]) -> str:
    for _ in range(LIMIT * 50):
        if waiting := box.waiting():
            return waiting[0]
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise AssertionError("nothing is asked")


@pytest.fixture(scope="module")
def home(kept_home: Path) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLAGENTBENCH_HOME", str(kept_home))
        yield kept_home


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory, home: Path) -> ByHand:
    """Answered to the end, though the process is killed while it waits for the second answer."""
    top = tmp_path_factory.mktemp("by-hand")
    write_number_task(top)
    box = MailFolder(top / "box")
    command = [
        str(COMMAND), "run", "--tasks", "./numbers", "--agents", "react", "--out", "out",
        "--models", "mlagentbench/mailbox", "-M", "dir=box", "--record", "recording.jsonl",
    ]  # fmt: skip
    start = {"cwd": top, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, **start) as first:  # type: ignore[call-overload]
        answer(box, first, 0)
        while box.waiting():
            time.sleep(0.02)
        wait_for_request(box, first)
        os.kill(first.pid, signal.SIGKILL)
    with subprocess.Popen(command, **start) as second:  # type: ignore[call-overload]
        for call in (1, 2):
            answer(box, second, call)
            while box.waiting():
                time.sleep(0.02)
        said, _ = second.communicate(timeout=LIMIT)
    assert second.returncode == 0, said
    [result] = collect(top / "out")
    return ByHand(top, top / "recording.jsonl", result, said)


def replay(
    by_hand: ByHand, out: Path, recording: Path | None = None, **arguments: str
) -> RunResult:
    """Replay in Inspect, as its own users do."""
    task = registered_task(str(by_hand.top / "numbers"), RunSettings())
    before = {result.path for result in collect(out)}
    [log] = eval(
        task, solver=react(), model="mlagentbench/recorded", log_dir=str(out), display="none",
        model_args={"file": str(recording or by_hand.recording), **arguments},
    )  # fmt: skip
    assert log.status == "success"
    [result] = [result for result in collect(out) if result.path not in before]
    return result


def comparable(out: Path, result: RunResult) -> list[object]:
    """A journal without times; prompts are compared as far as a replay compares them."""
    store = ObjectStore(out / "objects")
    return [_timeless(line, store) for line in read_lines(out / result.path / "journal.jsonl")]


def _timeless(line: AnyLine, store: ObjectStore) -> object:
    values = line.model_dump(exclude={"at", "clock", "started", "seconds", "usage"})
    if isinstance(line, ReplyLine):
        values["prompt_hash"] = normalised(store.read(line.prompt_hash).decode())
    return values


def changed(recording: Path, top: Path) -> Path:
    """The recording of an agent that was once told something else."""
    file = top / "changed.jsonl"
    text = recording.read_text()
    assert "Predict y from x" in text
    file.write_text(text.replace("Predict y from x", "Guess y from x"))
    return file


def test_a_person_answers_and_no_answer_is_lost_when_the_run_is_killed(by_hand: ByHand) -> None:
    assert by_hand.result.outcome is not None and by_hand.result.outcome.kind == "submitted"
    assert by_hand.result.grade is not None and by_hand.result.grade.valid
    assert by_hand.result.record.disclosure.answered_by == "mailbox"
    assert f"recorded 3 replies of 1 run in recording.jsonl ({BY_HAND})" in by_hand.said
    assert "answers: mailbox" in by_hand.said
    [run] = read_recording(by_hand.recording).runs
    assert (run.run.task, run.run.agent, run.run.answered_by) == ("numbers", "react", BY_HAND)
    assert [(one.step, one.role, one.number) for one in run.replies] == [
        (1, "main", 1), (2, "main", 1), (3, "main", 1),
    ]  # fmt: skip


def test_a_recording_can_be_made_later(by_hand: ByHand, tmp_path: Path) -> None:
    run = by_hand.top / "out" / by_hand.result.path
    said = record_directories([run], tmp_path / "again.jsonl")
    assert "recorded 3 replies of 1 run" in said
    assert (tmp_path / "again.jsonl").read_bytes() == by_hand.recording.read_bytes()
    record_directories([run], tmp_path / "again.jsonl", answered_by="Ada")
    assert read_recording(tmp_path / "again.jsonl").runs[0].run.answered_by == "Ada"


@pytest.fixture(scope="module")
def replayed(by_hand: ByHand) -> RunResult:
    return replay(by_hand, by_hand.top / "replayed")


def test_two_replays_have_the_same_journal_but_for_times(
    by_hand: ByHand, replayed: RunResult, tmp_path: Path
) -> None:
    again = replay(by_hand, tmp_path)
    assert comparable(tmp_path, again) == comparable(by_hand.top / "replayed", replayed)
    assert replayed.grade is not None and by_hand.result.grade is not None
    assert replayed.grade.score == by_hand.result.grade.score
    assert replayed.recorded is not None
    assert (replayed.recorded.matched, replayed.recorded.given) == (3, 3)
    disclosed = replayed.record.disclosure
    assert disclosed.answered_by == BY_HAND
    assert disclosed.recording == read_recording(by_hand.recording).sha256
    assert again.path == replayed.path


def test_a_changed_prompt_is_refused_or_counted(
    by_hand: ByHand, replayed: RunResult, run: Run, tmp_path: Path
) -> None:
    file = changed(by_hand.recording, tmp_path)
    refused = run(
        "run", "--tasks", str(by_hand.top / "numbers"), "--agents", "react", "--out", "out",
        "--models", "mlagentbench/recorded", "-M", f"file={file}", expect=1,
    ).stderr  # fmt: skip
    assert "the prompt of step 1, role main, reply 1 differs" in refused
    assert "- Guess y from x" in refused and "+ Predict y from x" in refused
    assert "-M on_mismatch=continue" in refused and "failed: 1 of 1 run;" in refused
    went_on = replay(by_hand, tmp_path / "on", file, on_mismatch="continue")
    assert went_on.recorded is not None and went_on.grade is not None and went_on.grade.valid
    assert (went_on.recorded.matched, went_on.recorded.given) == (0, 3)
    assert went_on.path != replayed.path, "two recordings are two runs"
