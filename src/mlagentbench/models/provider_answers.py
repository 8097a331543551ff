"""What a provider's answer means, where its client and Inspect leave it in a form of their own.

Inspect turns most answers into a text with a stop reason. What is left: servers that say in an
error of their own that the prompt is too long, refusals that are a kind of text, answers without
anything in them, and errors wrapped into others.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessageAssistant, ModelOutput

WRAPPERS = {"inspect_ai", "tenacity"}
"""Whose errors only say that there was another one."""
RATE_LIMITED = 429
"""The one status that may speak of too many tokens and not mean the prompt."""
TOO_LONG = re.compile(
    r"context[ _](length|window|size|limit)|(prompt|input) is too long|maximum number of tokens",
    re.IGNORECASE,
)
"""How OpenAI, vLLM, llama.cpp, Ollama, Anthropic, Google and Mistral put it."""


def provider_error(error: Exception) -> Exception:
    """The provider's own error, below those that Inspect and its retries wrap around it."""
    while _package(error) in WRAPPERS and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return error


def _package(error: Exception) -> str:
    return type(error).__module__.partition(".")[0]


def overflow(model: str, error: Exception) -> "ModelOutput | None":
    """The answer of a model that cannot read so much, where this error says so."""
    from inspect_ai.model import ModelOutput

    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if status == RATE_LIMITED or TOO_LONG.search(str(error)) is None:
        return None
    return ModelOutput.from_content(model, str(error), stop_reason="model_length")


def with_a_reply(output: "ModelOutput") -> "ModelOutput":
    """The same answer, with an empty reply where it had none at all."""
    from inspect_ai.model import ModelOutput

    if not output.empty:
        return output
    empty = ModelOutput.from_content(output.model, "")
    return output.model_copy(update={"choices": empty.choices})


def refuses(message: "ChatMessageAssistant", stop_reason: str) -> bool:
    """Whether the model, or a filter before it, will not do what it was asked for."""
    if message.tool_calls:
        return False
    parts = [] if isinstance(message.content, str) else message.content
    said_so = any(part.type == "text" and part.refusal for part in parts)
    return said_so or stop_reason == "content_filter"
