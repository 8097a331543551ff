"""Interpret the answers and errors of providers that Inspect does not normalise.

Inspect turns most answers into a text with a stop reason. The exceptions are servers that report a
too long prompt by an error of their own, refusals within the text, empty answers, and wrapped
errors.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessageAssistant, ModelOutput

WRAPPERS = {"inspect_ai", "tenacity"}
"""Packages whose errors only wrap another one."""
RATE_LIMITED = 429
"""The one status whose message may mention tokens without meaning the prompt."""
TOO_LONG = re.compile(
    r"context[ _](length|window|size|limit)|(prompt|input) is too long|maximum number of tokens",
    re.IGNORECASE,
)
"""The wordings of OpenAI, vLLM, llama.cpp, Ollama, Anthropic, Google and Mistral."""


def provider_error(error: Exception) -> Exception:
    """The provider's own error, unwrapped from those of Inspect and its retries."""
    while _package(error) in WRAPPERS and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return error


def _package(error: Exception) -> str:
    return type(error).__module__.partition(".")[0]


def status_of(error: Exception) -> int | None:
    """The HTTP status of a provider's error, if it has one."""
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    return status if isinstance(status, int) else None


def is_timeout(error: Exception) -> bool:
    """Whether a provider's client gave up waiting; each client has a type of its own for it."""
    names = (kind.__name__.lower() for kind in type(error).__mro__)
    return any("timeout" in name for name in names)


def overflow(model: str, error: Exception) -> "ModelOutput | None":
    """The output for a prompt that is too long, if that is what this error says."""
    from inspect_ai.model import ModelOutput

    if status_of(error) == RATE_LIMITED or TOO_LONG.search(str(error)) is None:
        return None
    return ModelOutput.from_content(model, str(error), stop_reason="model_length")


def with_a_reply(output: "ModelOutput") -> "ModelOutput":
    """The same output, with an empty reply if it had none."""
    from inspect_ai.model import ModelOutput

    if not output.empty:
        return output
    empty = ModelOutput.from_content(output.model, "")
    return output.model_copy(update={"choices": empty.choices})


def refuses(message: "ChatMessageAssistant", stop_reason: str) -> bool:
    """Whether the model, or a filter in front of it, refuses the request."""
    if message.tool_calls:
        return False
    parts = [] if isinstance(message.content, str) else message.content
    said_so = any(part.type == "text" and part.refusal for part in parts)
    return said_so or stop_reason == "content_filter"
