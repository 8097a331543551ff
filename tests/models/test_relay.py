"""The relay: a mailbox answered by a model, by one worker or by several, alive or killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from inspect_ai.model import ChatMessageUser, GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.tool import ToolInfo
from scripted_model import scripted_by, tool_call

from mlagentbench.errors import UsageError
from mlagentbench.models.mailbox_folder import Claim, MailFolder, MailReply, MailRequest
from mlagentbench.models.relay import Relay, relay

pytestmark = pytest.mark.anyio
COMMAND = Path(sys.prefix) / "bin" / "mlagentbench"
TOOL = ToolInfo(name="submit", description="Hand it in.")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path) -> MailFolder:
    folder = MailFolder(tmp_path / "box")
    folder.create()
    return folder


def post(folder: MailFolder, text: str = "Hello?", number: int = 1, role: str = "fast") -> str:
    request = MailRequest(
        id=f"{number:012}",
        created="2020-01-01",
        role=role,
        messages=(ChatMessageUser(content=text),),
        tools=(TOOL,),
        config=GenerateConfig(temperature=0.25),
    )
    return folder.post(request)


def reply_to(folder: MailFolder, name: str) -> MailReply:
    return MailReply.model_validate_json(folder.path(name, "reply.json").read_bytes())


async def answer_all(folder: MailFolder, model: Model, workers: int = 1) -> list[str]:
    """What is said while everything that waits is answered."""
    said: list[str] = []
    with anyio.fail_after(300):
        await Relay(folder, model, once=True, say=said.append).work(workers)
    return said


async def test_tools_and_settings_go_to_the_model_and_its_whole_answer_comes_back(
    folder: MailFolder,
) -> None:
    asked: list[tuple[Any, ...]] = []

    def call_submit(*what: Any) -> ModelOutput:
        asked.append(what)
        return tool_call("submit", when="now")

    name = post(folder)
    said = await answer_all(folder, scripted_by(call_submit))
    [(messages, tools, _, config)] = asked
    assert messages[0].text == "Hello?" and tools == [TOOL] and config.temperature == 0.25
    reply = reply_to(folder, name)
    assert reply.message is not None and reply.message.tool_calls is not None
    assert reply.message.tool_calls[0].arguments == {"when": "now"}
    assert reply.stop_reason == "tool_calls" and reply.answered_by == "mockllm/model"
    assert reply.usage is not None and reply.usage.total_tokens == 15
    assert len(said) == 1 and "fast: answered, 15 tokens" in said[0]
    assert not folder.path(name, "claim").exists()


async def test_a_role_may_have_a_model_of_its_own(folder: MailFolder) -> None:
    names = [post(folder, number=number, role=role) for number, role in enumerate(("main", "fast"))]
    said = {
        "main": scripted_by(lambda *_: "from main"),
        "fast": scripted_by(lambda *_: "from fast"),
    }
    relay = Relay(folder, said["main"], {"fast": said["fast"]}, once=True, say=print)
    with anyio.fail_after(300):
        await relay.work(1)
    messages = [reply_to(folder, name).message for name in names]
    assert [message and message.text for message in messages] == ["from main", "from fast"]


async def test_an_error_of_the_model_is_given_back(folder: MailFolder) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("no\ncredit")

    name = post(folder)
    await answer_all(folder, scripted_by(fail))
    assert reply_to(folder, name).error == "mockllm/model: RuntimeError: no credit"


async def test_a_request_that_is_none_is_an_error_and_the_others_are_answered(
    folder: MailFolder,
) -> None:
    folder.path("20200101T000000.000000-0", "request.json").write_text('{"messages": "?"}')
    name = post(folder)
    await answer_all(folder, scripted_by(lambda *_: "yes"))
    assert reply_to(folder, name).message is not None
    assert "not a request" in str(reply_to(folder, "20200101T000000.000000-0").error)


async def test_several_workers_answer_each_request_once(folder: MailFolder) -> None:
    asked: list[str] = []

    def remember(messages: list[ChatMessageUser], *_: object) -> str:
        asked.append(messages[0].text)
        return messages[0].text.upper()

    names = [post(folder, f"question {number}", number) for number in range(12)]
    relays = [Relay(folder, scripted_by(remember), once=True, say=print) for _ in range(2)]
    with anyio.fail_after(300):
        async with anyio.create_task_group() as group:
            for one in relays:
                group.start_soon(one.work, 3)
    assert sorted(asked) == sorted(f"question {number}" for number in range(12))
    assert sum(one.answered for one in relays) == 12
    for number, name in enumerate(names):
        message = reply_to(folder, name).message
        assert message is not None and message.text == f"QUESTION {number}"


async def test_who_is_stopped_lets_go_of_its_requests(folder: MailFolder, tmp_path: Path) -> None:
    name = post(folder)
    silent = get_model("mlagentbench/mailbox", memoize=False, dir=tmp_path / "nobody")
    with anyio.fail_after(300):
        async with anyio.create_task_group() as group:
            group.start_soon(Relay(folder, silent, once=False, say=print).work, 1)
            while not folder.path(name, "claim").exists():
                await anyio.sleep(0.02)
            group.cancel_scope.cancel()
    assert folder.waiting() == [name]


def test_a_mailbox_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere: no such directory"):
        relay(
            tmp_path / "nowhere",
            "mlagentbench/reader",
            {},
            roles={},
            workers=1,
            once=True,
            say=print,
        )


def typed(folder: MailFolder, *arguments: str) -> list[str]:
    return [str(COMMAND), "agents", "relay", "--mailbox", str(folder.directory), *arguments]


def wait_for_claim(folder: MailFolder, name: str, worker: subprocess.Popen[bytes]) -> None:
    file = folder.path(name, "claim")
    while not file.exists() or Claim.model_validate_json(file.read_bytes()).pid != worker.pid:
        assert worker.poll() is None
        time.sleep(0.02)


@pytest.mark.slow
async def test_a_killed_workers_request_is_answered_by_another(
    folder: MailFolder, tmp_path: Path
) -> None:
    """The command as a person types it; its model is a mailbox that nobody looks into."""
    name = post(folder)
    silent = ("--model", "mlagentbench/mailbox", "-M", f"dir={tmp_path / 'nobody'}")
    for ending, is_left in ((signal.SIGKILL, True), (signal.SIGINT, False)):
        with subprocess.Popen(typed(folder, *silent), stdout=subprocess.PIPE) as worker:
            wait_for_claim(folder, name, worker)
            os.kill(worker.pid, ending)
            try:
                said, _ = worker.communicate(timeout=60)
            finally:
                worker.kill()
        assert folder.path(name, "claim").exists() == is_left
        assert folder.waiting() == [name]
    assert b"0 requests answered" in said and worker.returncode == 0
    assert len(await answer_all(folder, get_model("mlagentbench/reader"))) == 1
    assert reply_to(folder, name).answered_by == "mlagentbench/reader"
