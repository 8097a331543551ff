"""The model in the role `tool`, which programs inside the sandbox reach.

It is asked through Inspect, so that its retries, limits, log and usage figures are those of every
other model. Each reply is kept in the run's directory: grading again asks nobody, and gives the
same, and so does a replay.
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

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.records import Record
from mlagentbench.runs.chain import append_line, payloads
from mlagentbench.tasks.task import Task

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Model, ModelOutput

ROLE = "tool"
NO_MODEL = "none"
READER = "mlagentbench/reader"
"""The one tool model that says the same again, and needs nobody to answer."""
MAX_REPLY_TOKENS = 4096

R = TypeVar("R", bound=Record)


class Message(Record):
    role: Literal["system", "user", "assistant"]
    content: str


class ChatRequest(Record):
    """What a program asks: the part of OpenAI's chat completions that every model understands."""

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
    """A model that can be asked. What keeps it from answering is a RunFailed("model", ...)."""

    @property
    def name(self) -> str: ...

    async def ask(self, request: ChatRequest) -> ChatReply: ...


def tool_model_name(task: Task, roles: dict[str, str], model: str) -> str | None:
    """The tool model of a run: the role's, else the main model; None where none is needed."""
    if not task.spec.needs_model:
        return None
    name = roles.get(ROLE, model)
    if name == NO_MODEL:
        raise UsageError(
            f"{task.id} needs a model that the submitted program can use: --role tool=PROVIDER/NAME"
            f" (e.g. --role tool={task.spec.tool_model}, the one that its figures were measured "
            "with); under Inspect's own command --model-role tool=PROVIDER/NAME"
        )
    return name


class InspectTool:
    """The model of that name; within an Inspect sample the one that is bound to the role."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._model: Model | None = None

    def find(self) -> "Model":
        """Find the model; not before it is needed, since replies that are kept need none."""
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
        except Exception as error:  # each provider has errors of its own
            detail = f"the tool model {self.name} does not answer: {type(error).__name__}: {error}"
            raise RunFailed("model", detail) from error
        return _reply(output)


def found_tool(name: str) -> InspectTool:
    """The model of that name, found now: that takes seconds, which are not the agent's."""
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
    """Says always the same: what a program is worth without a model."""

    name = "a constant reply"

    def __init__(self, text: str = "I do not know.") -> None:
        self.text = text

    async def ask(self, request: ChatRequest) -> ChatReply:
        size = sum(len(message.content) for message in request.messages)
        return ChatReply(text=self.text, input_tokens=size // 4, output_tokens=len(self.text) // 4)


class NotedReply(Record):
    """A line of asked.jsonl: what a program of the agent's asked, what it was told, and when."""

    at: float
    request: ChatRequest
    reply: ChatReply


class NotedReplies:
    """A tool model whose replies are written down as they come, for a replay."""

    def __init__(self, tool: ToolModel, file: Path) -> None:
        self.name = tool.name
        self._tool = tool
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()

    async def ask(self, request: ChatRequest) -> ChatReply:
        reply = await self._tool.ask(request)
        noted = NotedReply(at=time.time(), request=request, reply=reply)
        append_line(self._file, noted.model_dump_json().encode())
        return reply


class RecordedTool:
    """Tells the programs of one step what a model told them then, and nothing else."""

    def __init__(self, name: str, noted: Sequence[NotedReply] = ()) -> None:
        self.name = name
        self._noted = noted
        self._left: list[NotedReply] = []

    def go_to(self, since: float, until: float) -> None:
        """Take the replies of a step that lasted from then until then."""
        self._left = [one for one in self._noted if since <= one.at <= until]

    async def ask(self, request: ChatRequest) -> ChatReply:
        for one in self._left:
            if one.request == request:
                self._left.remove(one)
                return one.reply
        raise RunFailed("model", f"{self.name} was not asked this in the run that is replayed")


class KeptReply(Record):
    """A line of replies.jsonl: the n-th reply to one request."""

    key: str
    n: int
    model: str
    request: ChatRequest
    reply: ChatReply


class KeptReplies:
    """A tool model whose replies are kept in a file, for one grading after the other.

    A program that asks the same twice gets two replies; in the next grading the same two, in the
    same order.
    """

    def __init__(self, tool: ToolModel, file: Path) -> None:
        self.name = tool.name
        self._tool = tool
        self._file = file
        self._asked: Counter[str] = Counter()
        self._kept = {(line.key, line.n): line.reply for line in read_replies(file)}

    async def ask(self, request: ChatRequest) -> ChatReply:
        key = request_key(self.name, request)
        number = self._asked[key]
        self._asked[key] += 1
        kept = self._kept.get((key, number))
        if kept is not None:
            return kept.model_copy(update={"cached": True})
        reply = await self._tool.ask(request)
        self._keep(KeptReply(key=key, n=number, model=self.name, request=request, reply=reply))
        return reply

    def _keep(self, line: KeptReply) -> None:
        self._kept[line.key, line.n] = line.reply
        self._file.parent.mkdir(parents=True, exist_ok=True)
        append_line(self._file, line.model_dump_json().encode())


def read_replies(file: Path) -> list[KeptReply]:
    """The replies in a file; damaged lines are left out."""
    return list(_lines(file, KeptReply))


def read_noted(file: Path) -> list[NotedReply]:
    """What programs of an agent's were told; damaged lines are left out."""
    return list(_lines(file, NotedReply))


def _lines(file: Path, kind: type[R]) -> Iterator[R]:
    for payload in payloads(file):
        with suppress(ValidationError):
            yield kind.model_validate_json(payload)


def request_key(model: str, request: ChatRequest) -> str:
    """What makes two requests the same: the model and all that it is asked."""
    contents = [ROLE, model, request.model_dump(mode="json")]
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()
