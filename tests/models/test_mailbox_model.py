"""The mailbox: questions as files, answers as the files beside them, and what can go wrong."""

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from asked_run import asked_run
from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.working import init_sample_working_time, sample_waiting_time
from inspect_ai.model import GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.tool import ToolFunction, ToolInfo, ToolParam, ToolParams

from mlagentbench.errors import RunFailed
from mlagentbench.models import mailbox_folder
from mlagentbench.models.mailbox_folder import (
    CLAIM_EXPIRES,
    Claim,
    MailFolder,
    MailReply,
    ReplyWatch,
)
from mlagentbench.runs.journal import read_journal

pytestmark = pytest.mark.anyio
SOON = 0.02
TOOL = ToolInfo(
    name="write_file",
    description="Write a file.",
    parameters=ToolParams(properties={"name": ToolParam(type="string")}, required=["name"]),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def settle_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox_folder, "SETTLE_SECONDS", 0.5)


@pytest.fixture
def folder(tmp_path: Path) -> MailFolder:
    return MailFolder(tmp_path / "box")


def asker(folder: MailFolder, **arguments: Any) -> Model:
    return get_model("mlagentbench/mailbox", memoize=False, dir=folder.directory, **arguments)


async def requests(folder: MailFolder, count: int = 1) -> list[str]:
    """The names of the open requests, as soon as there are so many."""
    with anyio.fail_after(300):
        while len(names := folder.waiting()) < count:
            await anyio.sleep(SOON)
    return names


async def answered(
    folder: MailFolder, answer: Callable[[str], Awaitable[None]], prompt: str = "What now?"
) -> ModelOutput:
    """Ask, and let a function answer the request of that name."""
    said: list[ModelOutput] = []

    async def ask() -> None:
        said.append(await asker(folder).generate(prompt))

    with anyio.fail_after(300):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            [name] = await requests(folder)
            await answer(name)
    return said[0]


def left(folder: MailFolder) -> set[str]:
    return {file.name for file in folder.directory.iterdir()} - {"README.txt", ".lock"}


async def test_a_person_answers_with_a_text(folder: MailFolder) -> None:
    async def write(name: str) -> None:
        assert "What now?" in folder.path(name, "request.txt").read_text()
        folder.path(name, "reply.txt").write_text("Run train.py.\nThen submit.\n")

    output = await answered(folder, write)
    assert output.completion == "Run train.py.\nThen submit."
    assert output.stop_reason == "stop" and not output.message.tool_calls
    assert output.usage is not None and output.usage.output_tokens > 5
    assert left(folder) == set()
    assert "NAME.reply.txt" in (folder.directory / "README.txt").read_text()


async def test_the_request_says_all_that_was_asked(folder: MailFolder) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(
            asker(folder).generate,
            "Write it.", [TOOL], ToolFunction("write_file"), GenerateConfig(temperature=0.5),
        )  # fmt: skip
        [name] = await requests(folder)
        raw = json.loads(folder.path(name, "request.json").read_text())
        request = folder.read(name)
        group.cancel_scope.cancel()
    assert raw["messages"] == [{"role": "user", "content": "Write it."}]
    assert raw["tools"][0]["parameters"]["properties"] == {"name": {"type": "string"}}
    assert raw["config"] == {"temperature": 0.5} and raw["v"] == 1
    assert request is not None and request.tools == (TOOL,)
    assert request.tool_choice == ToolFunction("write_file")
    assert request.config.temperature == 0.5


async def test_an_answer_may_call_tools_and_count(folder: MailFolder) -> None:
    async def call(name: str) -> None:
        reply = {
            "text": "first this",
            "tool_calls": [
                {"function": "write_file", "arguments": {"name": "a"}}, {"function": "submit"},
            ],
            "usage": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10},
        }  # fmt: skip
        folder.path(name, "reply.json").write_text(json.dumps(reply))

    output = await answered(folder, call)
    calls = output.message.tool_calls or []
    assert [(one.function, one.arguments) for one in calls] == [
        ("write_file", {"name": "a"}), ("submit", {}),
    ]  # fmt: skip
    assert output.completion == "first this" and output.stop_reason == "tool_calls"
    assert calls[0].id != calls[1].id
    assert output.usage is not None and output.usage.total_tokens == 10


async def test_an_error_is_an_answer(folder: MailFolder) -> None:
    async def refuse(name: str) -> None:
        folder.answer(name, MailReply(error="the model is on holiday"))

    with pytest.raises(ExceptionGroup) as failure:
        await answered(folder, refuse)
    [error] = failure.value.exceptions
    assert isinstance(error, RunFailed) and error.cause == "model"
    assert "the model is on holiday" in error.detail
    assert left(folder) == set()


@pytest.mark.parametrize(
    ("ending", "wrong", "why"),
    [
        ("json", b'{"text": "half', "Invalid JSON"),
        ("json", b'{"txt": "misspelt"}', "txt: Extra inputs"),
        ("json", b"{}", "neither text nor tool_calls nor error"),
        (
            "json",
            b'{"tool_calls": [{"function": "f", "arguments": "x"}]}',
            "tool_calls.0.arguments",
        ),
        ("txt", b"\xff\xfe\xff", "utf-8"),
    ],
)
async def test_what_cannot_be_understood_is_moved_aside(
    folder: MailFolder, ending: str, wrong: bytes, why: str
) -> None:
    async def answer(name: str) -> None:
        folder.path(name, f"reply.{ending}").write_bytes(wrong)
        while not (note := folder.path(name, "rejected-1.why.txt")).exists():
            await anyio.sleep(SOON)
        assert why in note.read_text()
        while not (aside := folder.path(name, f"rejected-1.{ending}")).exists():
            await anyio.sleep(SOON)
        assert aside.read_bytes() == wrong
        assert folder.waiting() == [name]
        folder.answer(name, MailReply(text="now right"))

    assert (await answered(folder, answer)).completion == "now right"
    assert left(folder) == set()


@pytest.mark.parametrize("ending", ["json", "txt"])
def test_an_answer_that_is_being_written_is_not_taken(folder: MailFolder, ending: str) -> None:
    whole = "an answer, word for word, as people type them"
    contents = json.dumps({"text": whole}) if ending == "json" else whole
    folder.create()
    now = [0.0]
    watch = ReplyWatch(folder, "name", clock=lambda: now[0])
    file = folder.path("name", f"reply.{ending}")
    for length in range(len(contents)):
        file.write_text(contents[:length])
        assert watch.look() is None
        now[0] += mailbox_folder.SETTLE_SECONDS / 2
    file.write_text(contents)
    watch.look()
    now[0] += mailbox_folder.SETTLE_SECONDS
    assert watch.look() == MailReply(text=whole)


async def test_an_empty_file_is_no_answer_yet(folder: MailFolder) -> None:
    async def touch_first(name: str) -> None:
        file = folder.path(name, "reply.txt")
        file.touch()
        await anyio.sleep(2 * mailbox_folder.SETTLE_SECONDS)
        assert folder.path(name, "request.json").exists()
        file.write_text("at last")

    assert (await answered(folder, touch_first)).completion == "at last"


async def test_several_questions_wait_at_once(folder: MailFolder) -> None:
    said: dict[int, str] = {}
    model = asker(folder)

    async def ask(number: int) -> None:
        said[number] = (await model.generate(f"number {number}")).completion

    with anyio.fail_after(300):
        async with anyio.create_task_group() as group:
            names = []
            for number in range(5):
                group.start_soon(ask, number)
                names = await requests(folder, number + 1)
            assert names == sorted(names)
            for number, name in reversed(list(enumerate(names))):
                folder.answer(name, MailReply(text=f"answer {number}"))
    assert said == {number: f"answer {number}" for number in range(5)}


async def test_nobody_answers_in_time(folder: MailFolder) -> None:
    with pytest.raises(RunFailed, match=r"no answer to .*request.json within 0.2 s") as failure:
        await asker(folder, timeout=0.2).generate("Anybody?")
    assert failure.value.cause == "model"
    assert left(folder) == set()


async def test_a_question_that_nobody_asks_any_more_is_withdrawn(folder: MailFolder) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(asker(folder).generate, "Never mind.")
        [name] = await requests(folder)
        assert folder.claim(name, "worker")
        group.cancel_scope.cancel()
    assert left(folder) == set()
    assert not folder.answer(name, MailReply(text="too late"))
    assert left(folder) == set()


async def test_an_answer_for_a_run_that_was_killed_waits_for_it(folder: MailFolder) -> None:
    """A killed process cannot withdraw: its request stays, and is found when the run goes on."""
    run = {"out": folder.directory.parent / "out", "models": {"main": asker(folder)}}
    async with anyio.create_task_group() as group:
        with asked_run(**run) as asked:  # type: ignore[arg-type]
            group.start_soon(asked.ask, "Where were we?")
            [name] = await requests(folder)
            kept = {ending: folder.path(name, ending).read_bytes() for ending in
                    ("request.json", "request.txt")}  # fmt: skip
            group.cancel_scope.cancel()
    for ending, contents in kept.items():
        folder.path(name, ending).write_bytes(contents)
    folder.answer(name, MailReply(text="here", answered_by="openai/x"))
    with asked_run(**run) as asked, anyio.fail_after(300):  # type: ignore[arg-type]
        assert (await asked.ask("Where were we?")).completion == "here"
        [line] = read_journal(asked.directory.journal).replies
    assert line.answered_by == "openai/x"
    assert left(folder) == set()


async def test_waiting_for_an_answer_is_not_the_runs_time(folder: MailFolder) -> None:
    now = [1000.0]

    async def answer_late(name: str) -> None:
        now[0] += 3600
        folder.answer(name, MailReply(text="after lunch"))

    async def in_a_sample() -> float:
        init_sample_working_time(now[0], clock=lambda: now[0])
        await answered(folder, answer_late)
        return sample_waiting_time()

    assert await in_a_sample() == 3600


async def test_a_request_is_claimed_once(folder: MailFolder) -> None:
    async def claim(name: str) -> None:
        assert folder.claim(name, "one")
        assert not folder.claim(name, "two") and folder.waiting() == []
        folder.release(name)
        assert folder.waiting() == [name] and folder.claim(name, "two")
        folder.answer(name, MailReply(text="claimed"))
        assert not folder.claim(name, "one")

    await answered(folder, claim)
    assert not folder.claim("20200101T000000.000000-gone", "one")


async def test_a_dead_workers_claim_does_not_count(folder: MailFolder) -> None:
    async def take_over(name: str) -> None:
        dead = subprocess.Popen([sys.executable, "-c", ""])
        dead.wait()
        for pid, host, is_dead in (
            (dead.pid, os.uname().nodename, True),
            (dead.pid, "elsewhere", False),
            (os.getpid(), os.uname().nodename, False),
        ):
            claim = Claim(worker="w", host=host, pid=pid)
            folder.path(name, "claim").write_text(claim.model_dump_json())
            assert (folder.waiting() == [name]) == is_dead
        long_ago = folder.path(name, "claim").stat().st_mtime - CLAIM_EXPIRES - 1
        os.utime(folder.path(name, "claim"), (long_ago, long_ago))
        assert folder.claim(name, "two")
        os.utime(folder.path(name, "claim"), (long_ago, long_ago))
        folder.keep_claim(name)
        assert not folder.claim(name, "three")
        folder.answer(name, MailReply(text="done"))

    await answered(folder, take_over)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "needs -M dir=...; it takes: dir, timeout"),
        ({"dir": "box", "timeout": 0}, "timeout=0: it should be greater than 0"),
        ({"dir": "box", "wait": 1}, "does not take -M wait"),
        ({"dir": __file__}, "File exists"),
    ],
)
def test_wrong_arguments_of_a_mailbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PrerequisiteError) as error:
        get_model("mlagentbench/mailbox", memoize=False, **arguments)
    assert said in str(error.value.message)
