"""What a model of ours is: its arguments, and how it answers."""

from abc import abstractmethod

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    StopReason,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo

from mlagentbench.models.question import Answered, prompt_text
from mlagentbench.records import Record

CHARACTERS_PER_TOKEN = 4
ANSWERED_BY_MODEL = "model"


class Asked(Record):
    """One call of a model, as Inspect makes it."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolInfo, ...] = ()
    tool_choice: ToolChoice = "auto"
    config: GenerateConfig = GenerateConfig()


class OwnModel(Record):
    """A model that needs neither a key nor a network; its fields are its arguments (`-M`)."""

    @abstractmethod
    async def answer(self, asked: Asked) -> ModelOutput:
        """Answer; RunFailed("model") says why there is no answer."""

    @property
    def answered_by(self) -> str:
        """What results say of who answered."""
        return ANSWERED_BY_MODEL

    @property
    def content_hash(self) -> str | None:
        """The hash of what it says, where that is fixed: it is a part of what a run is."""
        return None


def reply(
    text: str | ChatMessageAssistant,
    stop_reason: StopReason,
    *,
    calls: list[ToolCall] | None = None,
    usage: ModelUsage | None = None,
    answered: Answered | None = None,
) -> ModelOutput:
    """A model's output with this text, or this whole message, and these tool calls."""
    message = (
        ChatMessageAssistant(content=text, source="generate") if isinstance(text, str) else text
    )
    if calls:
        message = message.model_copy(update={"tool_calls": calls})
    return ModelOutput(
        choices=[ChatCompletionChoice(message=message, stop_reason=stop_reason)],
        usage=usage,
        metadata=None if answered is None else answered.metadata(),
    )


def counted(asked: Asked, output: ModelOutput) -> ModelUsage:
    """Usage where nobody counted: a quarter of the characters."""
    read = len(prompt_text(asked.messages)) // CHARACTERS_PER_TOKEN
    written = len(prompt_text([output.message])) // CHARACTERS_PER_TOKEN
    return ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written)


def call_id(step: int, role: str, number: int, call: int) -> str:
    """The id of a tool call: the same in every replay, and another for each call of a run."""
    return f"call-{step}-{role}-{number}-{call}"
