"""Recordings: made from a run, written, read, replayed, and refused where they do not fit."""

import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from asked_run import AskedRun, asked_run
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import ChatMessageUser, Model, ModelOutput, get_model
from scripted_model import scripted, tool_call

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.models.prompt_matching import normalised
from mlagentbench.models.provider import make_builtin_model
from mlagentbench.models.question import ReplyMetadata
from mlagentbench.models.recorded_model import first_difference
from mlagentbench.models.recording import (
    BY_HAND,
    RecordedRun,
    read_recording,
    record_run,
    write_recording,
)
from mlagentbench.runs.journal import ReplyLine, read_journal

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def conversation(run: AskedRun, seconds: float = 1.5) -> list[ModelOutput]:
    """Two steps, two roles, twice the same role in one step, tool calls."""
    said = [await run.ask(f"Begin, {seconds} s left."), await run.ask("What is it?", role="fast")]
    said.append(await run.ask(f"Begin, {seconds} s left. Go on."))
    run.next_step()
    said.append(await run.ask(f"Begin, {seconds} s left. Go on. And on."))
    return said


def speakers() -> dict[str, Model]:
    list_files, submit = tool_call("list_files", dir_path="."), tool_call("submit")
    return {"main": scripted("first", list_files, submit), "fast": scripted("a file")}


async def recorded_conversation(out: Path, **facts: Any) -> RecordedRun:
    with asked_run(out, speakers(), **facts) as run:
        await conversation(run)
        recorded = record_run(run.directory)
    assert recorded is not None
    return recorded


@pytest.fixture
async def recording(tmp_path: Path) -> Path:
    """The conversation, in a file."""
    file = tmp_path / "recording.jsonl"
    write_recording(file, [await recorded_conversation(tmp_path / "live")])
    return file


def replaying(file: Path, **arguments: Any) -> dict[str, Model]:
    return {"main": get_model("mlagentbench/recorded", memoize=False, file=file, **arguments)}


def without_times(lines: Sequence[ReplyLine]) -> list[dict[str, object]]:
    left_out = {"at", "clock", "seconds", "prompt_hash", "cost"}
    return [line.model_dump(exclude=left_out) for line in lines]


async def test_a_replay_says_the_same_every_time(tmp_path: Path, recording: Path) -> None:
    journals = []
    for name, seconds in (("first", 1.5), ("second", 99.25)):
        with asked_run(tmp_path / name, replaying(recording)) as run:
            said = await conversation(run, seconds)
            assert [output.completion for output in said[:2]] == ["first", "a file"]
            journals.append(read_journal(run.directory.journal).replies)
    assert without_times(journals[0]) == without_times(journals[1])
    assert [line.matched for line in journals[0]] == [True] * 4
    live = read_journal(next(tmp_path.glob("live/runs/*/*/*/*/1/journal.jsonl"))).replies
    for old, new in zip(live, journals[0], strict=True):
        assert (old.step, old.role, old.reply) == (new.step, new.role, new.reply)
        assert (old.input_tokens, old.output_tokens) == (new.input_tokens, new.output_tokens)


async def test_tool_calls_have_ids_of_their_own_which_stay(tmp_path: Path, recording: Path) -> None:
    ids = []
    for name in ("first", "second"):
        with asked_run(tmp_path / name, replaying(recording)) as run:
            said = await conversation(run)
            ids.append([call.id for one in said for call in one.message.tool_calls or ()])
    assert ids[0] == ids[1] and len(set(ids[0])) == 2
    assert said[2].message.tool_calls and said[2].stop_reason == "tool_calls"
    assert said[2].message.tool_calls[0].arguments == {"dir_path": "."}


async def test_a_run_that_was_interrupted_goes_on_where_it_was(
    tmp_path: Path, recording: Path
) -> None:
    with asked_run(tmp_path / "replay", replaying(recording)) as run:
        await run.ask("Begin, 9 s left.")
        await run.ask("What is it?", role="fast")
    with asked_run(tmp_path / "replay", replaying(recording)) as run:
        assert (await run.ask("Begin, 9 s left. Go on.")).message.tool_calls
    with asked_run(tmp_path / "replay", replaying(recording), steps=1) as run:
        assert (await run.ask("Begin, 9 s left. Go on. And on.")).message.tool_calls
        matched = [line.matched for line in read_journal(run.directory.journal).replies]
    assert matched == [True] * 4


async def test_a_changed_prompt_is_refused_with_what_has_changed(
    tmp_path: Path, recording: Path
) -> None:
    with asked_run(tmp_path / "replay", replaying(recording)) as run:
        await run.ask("Begin, 1 s left.")
        with pytest.raises(RunFailed) as failure:
            await run.ask("What was it?", role="fast")
        assert len(run.models.replies) == 1
    assert failure.value.cause == "model"
    said = failure.value.detail
    assert "step 1, role fast, reply 1" in said and "on_mismatch=continue" in said
    assert "- What is it?" in said and "+ What was it?" in said and "[user]" not in said


async def test_odd_characters_and_ends_of_lines(tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    with asked_run(tmp_path / "live", {"main": scripted("yes")}) as run:
        await run.ask("half a \ud83d\u2028 pair")
        recorded = record_run(run.directory)
    assert recorded is not None
    write_recording(file, [recorded])
    with asked_run(tmp_path / "replay", replaying(file)) as run:
        assert (await run.ask("half a \ud83d\u2028 pair")).completion == "yes"
    longer = asked_run(tmp_path / "longer", replaying(file))
    with longer as run, pytest.raises(RunFailed, match="line 3"):
        await run.ask("half a \ud83d\u2028 pair\n")


async def test_a_changed_prompt_is_counted_where_the_replay_shall_continue(
    tmp_path: Path, recording: Path
) -> None:
    with asked_run(tmp_path / "replay", replaying(recording, on_mismatch="continue")) as run:
        await run.ask("Begin, 1 s left.")
        assert (await run.ask("What was it?", role="fast")).completion == "a file"
        assert [line.matched for line in run.models.replies] == [True, False]


async def test_a_recording_that_ends_too_early_says_where(tmp_path: Path, recording: Path) -> None:
    where = r"no reply for step 3, role main.* step 2, role main"
    with (
        asked_run(tmp_path / "replay", replaying(recording), steps=2) as run,
        pytest.raises(RunFailed, match=where),
    ):
        await run.ask("More?")


async def test_the_run_is_found_by_task_agent_settings_and_epoch(tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    runs = []
    recorded: list[dict[str, Any]] = [
        {"epoch": 1}, {"epoch": 2}, {"task": "other"}, {"agent": "other"},
        {"agent_settings": {"plan": False}, "epoch": 7},
    ]  # fmt: skip
    for number, facts in enumerate(recorded):
        with asked_run(tmp_path / str(number), {"main": scripted(f"run {number}")}, **facts) as run:
            await run.ask("Hello?")
            runs.append(record_run(run.directory))
    write_recording(file, [run for run in runs if run is not None])

    places = count()

    async def reply(**facts: Any) -> str:
        out = tmp_path / f"replay {next(places)}"
        with asked_run(out, replaying(file), **facts) as run:
            return (await run.ask("Hello?")).completion

    assert await reply(epoch=1) == "run 0"
    assert await reply(epoch=2) == "run 1"
    assert await reply(task="other", epoch=5) == "run 2"
    assert await reply(agent="other") == "run 3"
    assert await reply(agent_settings={"plan": False}) == "run 4"
    assert await reply(epoch=2, tier="full") == "run 1"
    with pytest.raises(RunFailed, match=r"no run for numbers, asker\(\), run 3; it has: "):
        await reply(epoch=3)
    with pytest.raises(RunFailed, match=r"no run for numbers, asker\(plan=True\)"):
        await reply(agent_settings={"plan": True})
    write_recording(file, [run for run in [*runs, runs[0]] if run is not None])
    with pytest.raises(RunFailed, match="2 runs for numbers"):
        await reply(epoch=1)


async def test_outside_of_a_run_replies_come_in_their_order(
    tmp_path: Path, recording: Path
) -> None:
    model = replaying(recording, on_mismatch="continue")["main"]
    said = [await model.generate([ChatMessageUser(content="?")]) for _ in range(4)]
    assert [one.completion for one in said[:2]] == ["first", "a file"]
    assert said[2].message.tool_calls and said[3].message.tool_calls
    with pytest.raises(RunFailed, match="only 4 replies"):
        await model.generate([ChatMessageUser(content="?")])


async def test_who_answered_is_told(tmp_path: Path, recording: Path) -> None:
    def through_mailbox(text: str, by: str) -> ModelOutput:
        output = ModelOutput.from_content("mailbox", text)
        output.metadata = ReplyMetadata(answered_by=by).as_dict()
        return output

    async def who(*said: str | ModelOutput, by: str | None = None, **facts: Any) -> str:
        out = tmp_path / str(len(list(tmp_path.iterdir())))
        with asked_run(out, {"main": scripted(*said)}, **facts) as run:
            for _ in said:
                await run.ask("?")
            recorded = record_run(run.directory, by)
        assert recorded is not None
        return recorded.run.answered_by

    hand, model = through_mailbox("a", "hand"), through_mailbox("b", "openai/x")
    assert await who("a") == "recorded from mockllm/model"
    assert await who("a", roles={"fast": "other/m"}) == "recorded from mockllm/model, other/m"
    assert await who(hand, hand) == BY_HAND
    assert await who(model) == "recorded from openai/x through the mailbox"
    assert await who(hand, by="a committee") == "a committee"
    assert make_builtin_model("mlagentbench/recorded", {"file": recording}).answered_by == (
        "recorded from mockllm/model"
    )


async def test_a_run_in_which_nobody_was_asked_is_not_recorded(tmp_path: Path) -> None:
    with asked_run(tmp_path, {"main": scripted()}) as run:
        assert record_run(run.directory) is None


async def test_a_recording_is_read_as_it_was_written_and_is_short(tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    recorded = await recorded_conversation(tmp_path / "live")
    write_recording(file, [recorded, recorded])
    assert read_recording(file).runs == (recorded, recorded)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["run", *["reply"] * 4] * 2
    assert (lines[3]["shared"], lines[3]["prompt"]) == (len("[user]\nBegin, # left."), " Go on.")


async def test_only_a_recording_is_overwritten(tmp_path: Path) -> None:
    recorded = await recorded_conversation(tmp_path / "live")
    file = tmp_path / "notes.txt"
    for contents in ("my notes\n", '{"kind": "reply"}\n'):
        file.write_text(contents)
        with pytest.raises(UsageError, match=r"not overwritten: .*notes.txt is not a recording"):
            write_recording(file, [recorded])
        assert file.read_text() == contents
    with pytest.raises(UsageError, match="is a directory"):
        write_recording(tmp_path, [recorded])
    file.write_text("")
    write_recording(file, [recorded])
    write_recording(file, [recorded])
    file.write_text(file.read_text()[:-10])
    with pytest.raises(UsageError, match="line 5"):
        read_recording(file)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"file": str(Path(__file__).parents[1])}, "no *.jsonl in this directory"),
        ({"file": "{file}", "fil": "x"}, "does not take -M fil; it takes: file, on_mismatch"),
        ({"file": "{file}", "on_mismatch": "ignore"}, "'refuse' or 'continue'"),
        ({"file": "{file}x"}, "No such file"),
        ({"file": __file__}, "not a recording: line 1"),
    ],
)
async def test_wrong_arguments_are_named(
    recording: Path, arguments: dict[str, str], said: str
) -> None:
    filled: dict[str, Any] = {key: value.format(file=recording) for key, value in arguments.items()}
    with pytest.raises(PrerequisiteError) as error:
        get_model("mlagentbench/recorded", memoize=False, **filled)
    assert said in str(error.value.message)


def test_unknown_models_of_ours_are_named() -> None:
    with pytest.raises(PrerequisiteError) as error:
        get_model("mlagentbench/recorder")
    assert "mlagentbench/reader, mlagentbench/recorded" in str(error.value.message)


async def test_models_of_ours_always_count(tmp_path: Path) -> None:
    reader = get_model("mlagentbench/reader")
    output = await reader.generate("Write a poem of twenty-four words, please.")
    assert output.usage is not None
    assert output.usage.input_tokens > 10 and output.usage.output_tokens > 10
    assert await reader.count_tokens("four" * 4) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("score 0.81234 after 3.2 s", "score 0.8 after 13.25 s"),
        ("accuracy: 81%, loss -1.5e-3", "accuracy: 79%, loss 2e4"),
        ("2024-01-02 03:04:05 done", "2025-11-12T13:14:15.5Z done"),
        ("at 03:04:05", "at 13:14:15"),
        ("[ 0.5 -1.25]", "[10.5 1.25]"),
        ('"/home/a/envs/1f/lib/python3.11/base.py", line 7', '"/opt/b/base.py", line 12'),
        ("<Model at 0x7f01ab>", "<Model at 0x55de>"),
        ("[Left: 9 of 50 steps, 1,234 tokens]", "[Left: 10 of 40 steps, 999 tokens]"),
        ("12ms 1.5GB", "3ms 200GB"),
        ("5 h 0 min of 5 h 0 min, go", "59 min 3 s of 5 h 0 min, go"),
        ("took 1.5 seconds.", "took 2 minutes 1 s."),
    ],
)
def test_what_another_machine_changes_is_no_difference(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)
    assert normalised(normalised(one)) == normalised(one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("train1.py", "train2.py"),
        ("the score is 5", "the error is 5"),
        ("5 minimum", "5 maximum"),
        ("[1, 2]", "[1, 2, 3]"),
        ("    return x", "        return x"),
        ("read /data/train.csv", "read /data/test.csv"),
        ("numpy v1.26.4", "numpy v2.0.1"),
    ],
)
def test_words_names_and_indentation_are_a_difference(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


@pytest.mark.parametrize("part", [" ", "1", "1,000", "/a", "- ", "1 h ", "#"])
def test_normalising_a_long_text_comes_to_an_end(part: str) -> None:
    text = part * (100_000 // len(part)) + "x"
    assert normalised(normalised(text)) == normalised(text)


def test_a_difference_is_short_whatever_the_texts() -> None:
    then, now = ["same", "x" * 5000 + "old" + "y" * 5000], ["same", "x" * 5000 + "new" + "y" * 5000]
    shown = "\n".join(first_difference(then, now))
    assert "line 2" in shown and "old" in shown and "new" in shown and len(shown) < 500
    assert first_difference(["a"], ["a", "b"]) == ["  line 2:", "  + b"]
    assert first_difference(["a", "b"], ["a"]) == ["  line 2:", "  - b"]
