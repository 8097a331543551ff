"""The services as programs inside a sandbox reach them, and what becomes of bad requests."""

import asyncio
import json
import socket
import sys
import textwrap
from pathlib import Path

import pytest
from papers import CountingTool, write_papers

from mlagentbench.environment.budget import Budget
from mlagentbench.errors import RunFailed
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.program_services import http_server
from mlagentbench.program_services.http_server import HttpServer
from mlagentbench.program_services.services import serving
from mlagentbench.program_services.tool_model import (
    CachedReplies,
    ChatReply,
    ChatRequest,
    InspectTool,
    LoggedReplies,
    Message,
    RecordedTool,
    ToolModel,
    read_cached_replies,
    read_logged_replies,
)
from mlagentbench.program_services.tool_services import (
    ENVIRONMENT,
    ServiceLimits,
    ToolServices,
    read_request,
)
from mlagentbench.runs.hash_chain import require_chain
from mlagentbench.sandbox.base import SandboxSpec
from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox
from mlagentbench.tasks.task import SUITE

CLIENT = SUITE / "bibtex-generation" / "starter" / "services.py"
KILL_EVERYTHING = "import os; os.kill(-1, 9)"


def services_on(
    directory: Path,
    tool: ToolModel | None = None,
    limits: ServiceLimits | None = None,
    budget: Budget | None = None,
) -> ToolServices:
    papers = write_papers(directory)
    return ToolServices(tool or CountingTool(), papers, limits or ServiceLimits(), budget)


def run_inside(directory: Path, services: ToolServices, *programs: str) -> list[str]:
    """What programs print that run one after the other in one sandbox, beside services.py."""
    workspace = directory / "workspace"
    workspace.mkdir()
    (workspace / "services.py").write_bytes(CLIENT.read_bytes())
    spec = SandboxSpec(workspace=workspace, python_env=Path(sys.base_prefix), env=ENVIRONMENT)

    async def run() -> list[str]:
        async with serving(services), BubblewrapSandbox(spec, services) as sandbox:
            results = [
                await sandbox.run(["python3", "-c", textwrap.dedent(program)], timeout=60)
                for program in programs
            ]
        return [result.output.strip() for result in results]

    return asyncio.run(run())


def test_a_program_searches_and_asks(tmp_path: Path) -> None:
    services = services_on(tmp_path)
    program = """
        from services import ask, search
        print([paper["title"] for paper in search("ti:snow OR ti:lamps")])
        print(search("snow")[0]["authors"], search("snow")[0]["journal"], search("snow")[0]["year"])
        print(ask("What?", system="Be brief.", max_tokens=7, temperature=0.5))
    """
    assert run_inside(tmp_path, services, program) == [
        "['Glaciers & snow', 'Street lamps']\n['Zoé Weiß', 'Jun Ito'] Letters 2020\nreply 1"
    ]
    used = services.usage().used
    assert (used.searches, used.calls, used.input_tokens, used.output_tokens) == (4, 1, 30, 10)
    assert isinstance(services.tool, CountingTool)
    (request,) = services.tool.asked
    assert (request.max_tokens, request.temperature) == (7, 0.5)
    assert [message.role for message in request.messages] == ["system", "user"]


def test_the_services_are_there_again_when_the_sandbox_was_killed(tmp_path: Path) -> None:
    ask = "from services import ask; print(ask('x'))"
    said = run_inside(tmp_path, services_on(tmp_path), ask, KILL_EVERYTHING, ask)
    assert (said[0], said[2]) == ("reply 1", "reply 2")


def test_nothing_else_is_reached(tmp_path: Path) -> None:
    program = """
        import socket, urllib.request, urllib.error
        for address in (("127.0.0.1", 22), ("10.0.0.1", 80)):
            try:
                socket.create_connection(address, timeout=2)
            except OSError as error:
                print(type(error).__name__)
        try:
            urllib.request.urlopen("http://127.0.0.1:8420/etc/passwd")
        except urllib.error.HTTPError as error:
            print(error.code)
    """
    said = run_inside(tmp_path, services_on(tmp_path), program)
    assert said == ["ConnectionRefusedError\nOSError\n404"]


def test_what_is_beyond_the_limits_is_refused_and_counted(tmp_path: Path) -> None:
    services = services_on(tmp_path, limits=ServiceLimits(searches=2, tokens=70))
    program = """
        from services import LimitReached, ask, search
        for call in (search, search, search, ask, ask, ask):
            try:
                call("snow")
                print("ok")
            except LimitReached as error:
                print(error)
    """
    (said,) = run_inside(tmp_path, services, program)
    lines = ["ok", "ok", "all 2 searches are used", "ok", "ok", "all 70 tokens are used"]
    assert said.splitlines() == lines
    assert (
        services.usage().refused == "refused: 1 searches beyond 2, 1 model calls beyond 70 tokens"
    )


def test_tokens_count_against_the_budget_of_the_run(tmp_path: Path) -> None:
    budget = Budget(BudgetLimits(tokens=50))
    program = """
        from services import LimitReached, ask
        try:
            print(ask("a"), ask("b"), ask("c"))
        except LimitReached as error:
            print(error)
    """
    said = run_inside(tmp_path, services_on(tmp_path, budget=budget), program)
    assert said == ["the run's tokens are used up"]
    assert (budget.usage.input_tokens, budget.usage.output_tokens) == (60, 20)


def test_requests_that_are_none_do_no_harm(tmp_path: Path) -> None:
    program = """
        import socket
        def send(data):
            with socket.create_connection(("127.0.0.1", 8420), timeout=20) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                return connection.makefile("rb").readline().decode().strip()
        post = b"POST /v1/chat/completions HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: "
        print(send(b"hello\\r\\n\\r\\n"), send(b""), send(b"x" * 100_000), sep="|")
        print(send(post + b"-5\\r\\n\\r\\n"), send(post + b"9999999999\\r\\n\\r\\n"), sep="|")
        print(send(post + b"5\\r\\n\\r\\n[[[[["), send(post + b"50\\r\\n\\r\\nshort"), sep="|")
        idle = [socket.create_connection(("127.0.0.1", 8420)) for _ in range(60)]
        from services import ask
        print(ask("still there?"))
    """
    (said,) = run_inside(tmp_path, services_on(tmp_path), program)
    *bad, last = said.splitlines()
    assert bad == ["|".join(["HTTP/1.1 400 Bad Request"] * count) for count in (3, 2, 2)]
    assert last == "reply 1"


async def first_lines(server: HttpServer, sent: bytes, count: int) -> list[bytes]:
    """What the server answers first on so many connections at once, each kept open."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    await server.serve(listening)
    try:
        open_connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
        for _reader, writer in open_connections:
            writer.write(sent)
        async with asyncio.timeout(20):
            lines = [reader.readline() for reader, _writer in open_connections]
            found = await asyncio.gather(*lines, return_exceptions=True)
        return [line if isinstance(line, bytes) else b"" for line in found]
    finally:
        await server.close()


def test_a_request_that_takes_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "READ_TIMEOUT", 0.2)
    server = services_on(tmp_path)._server
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nshort"
    for sent in (b"", b"POST /v1/chat", head):
        assert asyncio.run(first_lines(server, sent, 1)) == [b"HTTP/1.1 400 Bad Request\r\n"]


def test_connections_beyond_the_limit_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 2)
    server = services_on(tmp_path)._server
    asked = b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
    lines = asyncio.run(first_lines(server, asked, 3))
    assert lines == [b"HTTP/1.1 404 Not Found\r\n"] * 2 + [b""]


def test_a_long_body_is_refused_as_it_arrives(tmp_path: Path) -> None:
    """Chunks announce no length, so that only what was read tells."""
    server = services_on(tmp_path)._server
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    assert asyncio.run(first_lines(server, head + 4 * chunk, 1)) == [
        b"HTTP/1.1 400 Bad Request\r\n"
    ]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a JSON object"),
        ('{"messages": []}', "messages: "),
        ('{"messages": [{"role": "tool", "content": "x"}]}', "messages.0.role: "),
        ('{"messages": [{"role": "user", "content": "x"}], "tools": []}', "tools: "),
        ('{"messages": [{"role": "user", "content": "x"}], "stream": true}', "stream and n"),
        ('{"messages": [{"role": "user", "content": "x"}], "max_tokens": 10000}', "max_tokens: "),
    ],
)
def test_bad_requests_are_explained(body: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_request(body.encode())


def test_requests_of_other_clients_are_understood() -> None:
    body = {
        "model": "gpt-x",
        "messages": [{"role": "user", "content": "x"}],
        "max_completion_tokens": 12,
        "stop": "END",
        "temperature": None,
        "n": 1,
    }
    request = read_request(json.dumps(body).encode())
    assert (request.max_tokens, request.stop, request.temperature) == (12, ("END",), None)


def question(text: str) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),))


def ask_all(tool: ToolModel, *texts: str) -> list[ChatReply]:
    async def ask() -> list[ChatReply]:
        return [await tool.ask(question(text)) for text in texts]

    return asyncio.run(ask())


class Gone:
    """A model that cannot be asked any more."""

    name = "counting"

    async def ask(self, request: ChatRequest) -> ChatReply:
        raise RunFailed("model", "gone")


def test_kept_replies_are_the_same_without_the_model(tmp_path: Path) -> None:
    """Also where a program asks the same twice; a torn line is asked for again."""
    file = tmp_path / "replies.jsonl"
    first = ask_all(CachedReplies(CountingTool(), file), "a", "b", "a")
    assert [reply.text for reply in first] == ["reply 1", "reply 2", "reply 3"]
    again = ask_all(CachedReplies(Gone(), file), "a", "a", "b")
    assert [reply.text for reply in again] == ["reply 1", "reply 3", "reply 2"]
    assert all(reply.cached for reply in again)
    with pytest.raises(RunFailed, match="gone"):
        ask_all(CachedReplies(Gone(), file), "a", "a", "a")
    file.write_bytes(file.read_bytes()[:-5])
    assert ask_all(CachedReplies(CountingTool(), file), "a", "a")[1].text == "reply 1"
    assert not any(
        reply.cached is False for reply in ask_all(CachedReplies(Gone(), file), "a", "a")
    )
    require_chain(file)
    assert len(read_cached_replies(file)) == 3


def test_a_replay_gives_each_step_what_was_said_then(tmp_path: Path) -> None:
    file = tmp_path / "run" / "asked.jsonl"
    assert not ask_all(LoggedReplies(CountingTool(), file))
    assert file.is_file(), "that nobody asked is known, too"
    ask_all(LoggedReplies(CountingTool(), file), "a", "b", "a")
    require_chain(file)
    noted = read_logged_replies(file)
    recorded = RecordedTool("gone", noted)
    recorded.select_step(noted[1].at, noted[2].at)
    assert [reply.text for reply in ask_all(recorded, "a", "b")] == ["reply 3", "reply 2"]
    recorded.select_step(noted[0].at, noted[0].at)
    assert [reply.text for reply in ask_all(recorded, "a")] == ["reply 1"]
    with pytest.raises(RunFailed, match="gone was not asked this in the run that is replayed"):
        ask_all(recorded, "a")


def test_replies_of_another_model_are_not_taken(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    ask_all(CachedReplies(CountingTool(), file), "a")
    other = Gone()
    other.name = "another"
    with pytest.raises(RunFailed, match="gone"):
        ask_all(CachedReplies(other, file), "a")


def test_a_model_that_does_not_answer_is_not_the_programs_fault(tmp_path: Path) -> None:
    services = services_on(tmp_path, Gone())
    run_inside(tmp_path, services, "from services import ask; ask('x')")
    with pytest.raises(RunFailed, match="gone") as failed:
        services.usage()
    assert failed.value.cause == "model"


def test_a_model_that_inspect_does_not_know_is_named() -> None:
    with pytest.raises(RunFailed, match="the tool model nobody/nothing does not answer"):
        ask_all(InspectTool("nobody/nothing"), "a")


def test_a_model_is_asked_through_inspect() -> None:
    """The same request gets the same reply of the scripted reader, with its tokens counted."""
    text = "Give this topic in other words.\n\nTopic: saving water in ski resorts"
    one, two = ask_all(InspectTool("mlagentbench/reader"), text, text)
    assert one == two
    assert "winter sports stations" in one.text
    assert one.input_tokens == len(f"[user]\n{text}") // 4
