"""The base class of built-in models: their arguments, and how they answer."""

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

from mlagentbench.models.question import ReplyMetadata, prompt_text
from mlagentbench.records import Record

CHARACTERS_PER_TOKEN = 4
"""An estimate, for texts that no model has counted."""
ANSWERED_BY_MODEL = "model"


class ModelCall(Record):
    """One call of a model, as Inspect passes it."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolInfo, ...] = ()
    tool_choice: ToolChoice = "auto"
    config: GenerateConfig = GenerateConfig()


class BuiltinModel(Record):
    """A model that needs neither a key nor a network; its fields are its arguments (`-M`)."""

    @abstractmethod
    async def answer(self, call: ModelCall) -> ModelOutput:
        """Answer; raises RunFailed("model") when there is no answer."""

    @property
    def answered_by(self) -> str:
        """Who answered, as results disclose it."""
        return ANSWERED_BY_MODEL

    @property
    def content_hash(self) -> str | None:
        """The hash of its replies where these are fixed; it is part of a run's identity."""
        return None


def model_output(
    text: str | ChatMessageAssistant,
    stop_reason: StopReason,
    *,
    calls: list[ToolCall] | None = None,
    usage: ModelUsage | None = None,
    metadata: ReplyMetadata | None = None,
) -> ModelOutput:
    """A model's output with this text or complete message, and these tool calls."""
    message = (
        ChatMessageAssistant(content=text, source="generate") if isinstance(text, str) else text
    )
    if calls:
        message = message.model_copy(update={"tool_calls": calls})
    return ModelOutput(
        choices=[ChatCompletionChoice(message=message, stop_reason=stop_reason)],
        usage=usage,
        metadata=None if metadata is None else metadata.as_dict(),
    )


def estimated_usage(call: ModelCall, output: ModelOutput) -> ModelUsage:
    """Usage where it was not counted: a quarter of the characters."""
    read = len(prompt_text(call.messages)) // CHARACTERS_PER_TOKEN
    written = len(prompt_text([output.message])) // CHARACTERS_PER_TOKEN
    return ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written)


def tool_call_id(step: int, role: str, number: int, call: int) -> str:
    """The id of a tool call: the same in every replay, unique within a run."""
    return f"call-{step}-{role}-{number}-{call}"
