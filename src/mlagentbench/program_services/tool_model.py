"""The model in the role `tool`, which programs in the sandbox can call.

It is called through Inspect, with the retries, limits, logs and usage of every other model. Each
reply is kept in the run's directory, so regrading and replaying give the same result without a
model.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, TypeVar

from pydantic import Field, ValidationError

from mlagentbench.errors import RunFailed
from mlagentbench.program_services.services import ROLE
from mlagentbench.records import Record
from mlagentbench.runs.hash_chain import append_line, payloads
from mlagentbench.runs.lease import Lease

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Model, ModelOutput

MAX_REPLY_TOKENS = 4096

R = TypeVar("R", bound=Record)


class Message(Record):
    role: Literal["system", "user", "assistant"]
    content: str


class ChatRequest(Record):
    """A request of a program: the part of OpenAI's chat completions that all models support."""

    messages: Annotated[tuple[Message, ...], Field(min_length=1)]
    max_tokens: Annotated[int, Field(ge=1, le=MAX_REPLY_TOKENS)] = 1024
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()


class ChatReply(Record):
    text: str
    input_tokens: int
    output_tokens: int
    cost: float | None = None
    stop_reason: str = "stop"
    cached: bool = False


class ToolModel(Protocol):
    """A model for programs; raises RunFailed("model", ...) when it does not answer."""

    @property
    def name(self) -> str: ...

    async def ask(self, request: ChatRequest) -> ChatReply: ...


class InspectTool:
    """The model of that name; in an Inspect sample, the one bound to the role."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._model: Model | None = None

    def find(self) -> "Model":
        """Load the model when it is needed; cached replies need none."""
        from inspect_ai.model import get_model

        self._model = self._model or get_model(role=ROLE, default=self.name)
        return self._model

    async def ask(self, request: ChatRequest) -> ChatReply:
        from inspect_ai.model import GenerateConfig

        config = GenerateConfig(
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            seed=request.seed,
            stop_seqs=list(request.stop) or None,
        )
        try:
            output = await self.find().generate(_messages(request), config=config)
        except RunFailed:
            raise
        except Exception as error:  # providers raise errors of their own
            detail = f"the tool model {self.name} does not answer: {type(error).__name__}: {error}"
            raise RunFailed("model", detail) from error
        return _reply(output)


def load_tool(name: str) -> InspectTool:
    """The model of that name, loaded now: that takes seconds, which the agent should not pay."""
    tool = InspectTool(name)
    tool.find()
    return tool


def _messages(request: ChatRequest) -> "list[ChatMessage]":
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {
        "system": ChatMessageSystem,
        "user": ChatMessageUser,
        "assistant": ChatMessageAssistant,
    }
    return [kinds[message.role](content=message.content) for message in request.messages]


def _reply(output: "ModelOutput") -> ChatReply:
    usage = output.usage
    return ChatReply(
        text=output.completion,
        input_tokens=usage.input_tokens if usage else 0,
        output_tokens=usage.output_tokens if usage else 0,
        cost=usage.total_cost if usage else None,
        stop_reason="length" if output.stop_reason == "max_tokens" else "stop",
    )


class ConstantTool:
    """Always gives the same reply, to measure a program without a model."""

    name = "a constant reply"

    def __init__(self, text: str = "I do not know.") -> None:
        self.text = text

    async def ask(self, request: ChatRequest) -> ChatReply:
        size = sum(len(message.content) for message in request.messages)
        return ChatReply(text=self.text, input_tokens=size // 4, output_tokens=len(self.text) // 4)


class LoggedReply(Record):
    """A line of asked.jsonl: a request of an agent's program, the reply, and the time."""

    at: float
    request: ChatRequest
    reply: ChatReply


class LoggedReplies:
    """A tool model that logs its replies, for a replay."""

    def __init__(self, tool: ToolModel, file: Path, lease: Lease | None = None) -> None:
        self.name = tool.name
        self._tool = tool
        self._file = file
        self._lease = lease
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()

    async def ask(self, request: ChatRequest) -> ChatReply:
        reply = await self._tool.ask(request)
        logged = LoggedReply(at=time.time(), request=request, reply=reply)
        append_line(self._file, logged.model_dump_json().encode(), lease=self._lease)
        return reply


class RecordedTool:
    """Repeats the logged replies of one step; what was not logged, `otherwise` answers."""

    def __init__(
        self,
        name: str,
        logged: Sequence[LoggedReply] = (),
        otherwise: ToolModel | None = None,
    ) -> None:
        self.name = name
        self._logged = logged
        self._otherwise = otherwise
        self._left: list[LoggedReply] = []

    def select_step(self, since: float, until: float) -> None:
        """Use the replies of a step between these times."""
        self._left = [one for one in self._logged if since <= one.at <= until]

    async def ask(self, request: ChatRequest) -> ChatReply:
        for one in self._left:
            if one.request == request:
                self._left.remove(one)
                return one.reply
        if self._otherwise is not None:
            return await self._otherwise.ask(request)
        raise RunFailed("model", f"{self.name} was not asked this in the run that is replayed")


class CachedReply(Record):
    """A line of replies.jsonl: the n-th reply to one request."""

    key: str
    n: int
    model: str
    request: ChatRequest
    reply: ChatReply


class CachedReplies:
    """A tool model that caches its replies in a file, for repeated grading.

    A program that repeats a request gets another reply; the next grading gives the same replies in
    the same order.
    """

    def __init__(self, tool: ToolModel, file: Path, lease: Lease | None = None) -> None:
        self.name = tool.name
        self._tool = tool
        self._file = file
        self._lease = lease
        self._asked: Counter[str] = Counter()
        self._cached = {(line.key, line.n): line.reply for line in read_cached_replies(file)}

    async def ask(self, request: ChatRequest) -> ChatReply:
        key = request_key(self.name, request)
        number = self._asked[key]
        self._asked[key] += 1
        cached = self._cached.get((key, number))
        if cached is not None:
            return cached.model_copy(update={"cached": True})
        reply = await self._tool.ask(request)
        self._store(CachedReply(key=key, n=number, model=self.name, request=request, reply=reply))
        return reply

    def _store(self, line: CachedReply) -> None:
        self._cached[line.key, line.n] = line.reply
        self._file.parent.mkdir(parents=True, exist_ok=True)
        append_line(self._file, line.model_dump_json().encode(), lease=self._lease)


def read_cached_replies(file: Path) -> list[CachedReply]:
    """The replies in a file, without damaged lines."""
    return list(_lines(file, CachedReply))


def read_logged_replies(file: Path) -> list[LoggedReply]:
    """The logged replies in a file, without damaged lines."""
    return list(_lines(file, LoggedReply))


def _lines(file: Path, kind: type[R]) -> Iterator[R]:
    for payload in payloads(file):
        with suppress(ValidationError):
            yield kind.model_validate_json(payload)


def request_key(model: str, request: ChatRequest) -> str:
    """The cache key of a request: a hash of the model and the request."""
    contents = [ROLE, model, request.model_dump(mode="json")]
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()
