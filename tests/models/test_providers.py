"""Each provider's real client, through Inspect and our own way of asking, on a server of ours."""

import json
import os
from collections.abc import Iterator

import pytest
from inspect_ai.model import (
    ChatMessage,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelCost,
    get_model,
    set_model_cost,
)
from small_task import OpenRun
from wire_formats import (
    CACHED,
    READ,
    WRITTEN,
    ChatCompletions,
    Conversations,
    GenerateContent,
    Messages,
    Responses,
    WireFormat,
    openai_error,
    serving,
)
from wire_servers import Answer, WireServer

from mlagentbench.agents.runner import run_agent
from mlagentbench.environment.actions.action import action_tools
from mlagentbench.environment.ask_models import TRIES
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import ContextOverflow, ModelRefused, RunFailed

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TOO_LONG = "This model's maximum context length is 8192 tokens; your messages resulted in 9000."
OVERFLOW_OF_OPENAI = openai_error(400, TOO_LONG, code="context_length_exceeded")
OVERFLOW_OF_VLLM = Answer(
    {"object": "error", "message": TOO_LONG, "type": "BadRequestError", "code": 400}, 400
)
OVERFLOW_OF_LLAMA_CPP = Answer(
    {
        "error": {
            "code": 400,
            "message": "the request exceeds the available context size, try increasing it",
            "type": "exceed_context_size_error",
        }
    },
    400,
)
OVERFLOW_OF_OLLAMA = openai_error(400, "the input length exceeds the context length")

PROVIDERS: list[WireFormat] = [
    Responses(),
    ChatCompletions("openai/gpt-4-0613", "OPENAI", OVERFLOW_OF_OPENAI),
    Messages(),
    GenerateContent(),
    Conversations(),
]
SERVERS: list[WireFormat] = [
    ChatCompletions(
        "openai-api/our-lab/mixtral", "OUR_LAB", OVERFLOW_OF_VLLM, OVERFLOW_OF_LLAMA_CPP
    ),
    ChatCompletions("vllm/mistralai/mixtral", "VLLM", OVERFLOW_OF_VLLM),
    ChatCompletions("ollama/mixtral", "OLLAMA", OVERFLOW_OF_OLLAMA),
    ChatCompletions("llama-cpp-python/mixtral", "LLAMA_CPP_PYTHON", OVERFLOW_OF_OPENAI),
]
PRICE = ModelCost(input=1.0, output=10.0, input_cache_write=2.0, input_cache_read=0.1)
"""Dollars for a million tokens."""
KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")
QUESTION: list[ChatMessage] = [ChatMessageUser(content="What is in here?")]
RETRIES = 2


class Provider:
    """A provider of the tests: its format, and the server that speaks it."""

    def __init__(self, wire: WireFormat, server: WireServer) -> None:
        self.wire = wire
        self.server = server

    def model(self) -> Model:
        config = GenerateConfig(max_retries=RETRIES)
        return get_model(self.wire.model, config=config, memoize=False)


@pytest.fixture(scope="module")
def provider(request: pytest.FixtureRequest) -> Iterator[Provider]:
    with pytest.MonkeyPatch.context() as patch, serving(request.param, patch) as server:
        yield Provider(request.param, server)


@pytest.fixture(autouse=True)
def no_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inspect draws each error's traceback for its log, which takes it a second."""
    monkeypatch.setattr("inspect_ai._util.rich.rich_traceback", lambda *_, **__: "")


@pytest.fixture(autouse=True)
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long Inspect would have waited between its tries: here it does not."""
    waits: list[float] = []

    async def pass_by(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("inspect_ai.model._retry._sleep", pass_by)
    return waits


def with_each(formats: list[WireFormat]) -> pytest.MarkDecorator:
    ids = [wire.model for wire in formats]
    return pytest.mark.parametrize("provider", formats, ids=ids, indirect=True)


@with_each([*PROVIDERS, *SERVERS])
async def test_a_reply_its_tokens_and_its_cost(
    open_environment: OpenRun, provider: Provider
) -> None:
    wire, server = provider.wire, provider.server
    set_model_cost(wire.model, PRICE)
    server.plan(wire.text("Two files."))
    async with open_environment(models={"main": provider.model()}) as environment:
        output = await environment.models.ask(QUESTION)
        [line] = environment.models.replies
    assert output.completion == line.reply == "Two files."
    [request] = server.requests
    assert request.path == wire.path
    assert "What is in here?" in json.dumps(request.body)
    sent_key = any("key" in request.headers.get(name, "") for name in KEY_HEADERS)
    assert sent_key or wire not in PROVIDERS
    assert (line.input_tokens, line.output_tokens) == (READ, WRITTEN)
    cached = CACHED if wire.tells_cached else 0
    cost = (READ - cached) * PRICE.input + cached * PRICE.input_cache_read + WRITTEN * PRICE.output
    assert line.cost == pytest.approx(cost / 1e6)
    assert environment.usage.cost == line.cost


@with_each(PROVIDERS)
async def test_a_tool_call_and_its_result(open_environment: OpenRun, provider: Provider) -> None:
    wire, server = provider.wire, provider.server
    server.plan(wire.tool_call("list_files", {"dir_path": "notes"}), wire.text("One."))
    async with open_environment(models={"main": provider.model()}) as environment:
        tools = action_tools(environment)
        output = await environment.models.ask(QUESTION, tools=tools)
        [call] = output.message.tool_calls or []
        assert (call.function, call.arguments) == ("list_files", {"dir_path": "notes"})
        result = ChatMessageTool(content="ideas.txt", tool_call_id=call.id, function=call.function)
        await environment.models.ask([*QUESTION, output.message, result], tools=tools)
    first, second = (json.dumps(request.body) for request in server.requests)
    assert "list_files" in first and "execute_script" in first
    assert "ideas.txt" in second and "ideas.txt" not in first


@with_each(PROVIDERS)
async def test_a_rate_limit_is_waited_for(open_environment: OpenRun, provider: Provider) -> None:
    wire, server = provider.wire, provider.server
    soon = {"Retry-After": "1", "retry-after-ms": "10"}
    server.plan(wire.error(429, "Rate limit reached: slow down", soon), wire.text("Well."))
    async with open_environment(models={"main": provider.model()}) as environment:
        assert (await environment.models.ask(QUESTION)).completion == "Well."
        assert len(environment.models.replies) == 1
    assert len(server.requests) == 2


@with_each(PROVIDERS)
async def test_an_outage_that_lasts_fails_the_run_which_can_go_on(
    open_environment: OpenRun, provider: Provider, waited: list[float]
) -> None:
    async def loop(environment: Environment) -> None:
        await environment.models.ask(QUESTION)

    wire, server = provider.wire, provider.server
    server.plan(wire.error(500, "The machine room is on fire", {"x-should-retry": "false"}))
    async with open_environment(models={"main": provider.model()}) as environment:
        with pytest.raises(RunFailed, match=r"does not answer: .*The machine room is on fire"):
            await run_agent(environment, loop)
        assert environment.outcome is not None
        assert (environment.outcome.kind, environment.outcome.cause) == ("failed", "model")
    assert len(server.requests) == RETRIES + 1
    assert len(waited) == RETRIES
    server.plan(wire.text("Here again."))
    async with open_environment(models={"main": provider.model()}) as environment:
        await run_agent(environment, loop)
        assert environment.outcome is not None
        assert environment.outcome.kind == "submitted"
        assert [line.reply for line in environment.models.replies] == ["Here again."]


@with_each([*PROVIDERS, *SERVERS])
async def test_a_prompt_that_is_too_long_is_not_a_failure(
    open_environment: OpenRun, provider: Provider
) -> None:
    async with open_environment(models={"main": provider.model()}) as environment:
        for answer in provider.wire.overflows():
            provider.server.plan(answer)
            with pytest.raises(ContextOverflow, match="longer than"):
                await environment.models.ask(QUESTION)
            assert environment.models.replies[-1].stop_reason == "model_length"
            assert len(provider.server.requests) == 1


@with_each(PROVIDERS)
async def test_who_refuses_is_asked_again(open_environment: OpenRun, provider: Provider) -> None:
    wire, server = provider.wire, provider.server
    async with open_environment(models={"main": provider.model()}) as environment:
        for answer in wire.refusals():
            server.plan(answer)
            with pytest.raises(ModelRefused, match="refuses"):
                await environment.models.ask(QUESTION)
            assert len(server.requests) == TRIES
            server.plan(answer, wire.text("Well then."))
            assert (await environment.models.ask(QUESTION)).completion == "Well then."


@with_each(PROVIDERS)
async def test_saying_nothing_is_a_reply(open_environment: OpenRun, provider: Provider) -> None:
    async with open_environment(models={"main": provider.model()}) as environment:
        for answer in provider.wire.empty():
            provider.server.plan(answer)
            output = await environment.models.ask(QUESTION)
            assert output.completion in ("", "(no content)")
            assert environment.models.replies[-1].input_tokens == READ


@with_each(PROVIDERS)
async def test_a_wrong_key_fails_at_once_and_says_so(
    open_environment: OpenRun, provider: Provider
) -> None:
    provider.server.plan(provider.wire.error(401, "That key is not known here"))
    async with open_environment(models={"main": provider.model()}) as environment:
        with pytest.raises(RunFailed, match="That key is not known here"):
            await environment.models.ask(QUESTION)
    assert len(provider.server.requests) == 1


@pytest.mark.live
@pytest.mark.skipif("TINY_BASE_URL" not in os.environ, reason="TINY_BASE_URL names no server")
async def test_a_real_small_model_behind_llama_cpp(open_environment: OpenRun) -> None:
    short = GenerateConfig(max_tokens=20)
    async with open_environment(models={"main": "openai-api/tiny/smollm2"}) as environment:
        output = await environment.models.ask(QUESTION, config=short)
        [line] = environment.models.replies
        assert output.completion == line.reply != ""
        assert line.input_tokens > 5 and 0 < line.output_tokens <= 20
        await environment.models.ask(QUESTION, tools=action_tools(environment), config=short)
        with pytest.raises(ContextOverflow, match="context size"):
            await environment.models.ask([ChatMessageUser(content="much " * 20_000)], config=short)
