"""A model that says what a test wrote down: Inspect's mock, with usage figures."""

from collections.abc import Callable, Iterable
from typing import Any

from inspect_ai.model import Model, ModelOutput, ModelUsage, StopReason, get_model

Said = str | ModelOutput | Exception
"""A reply's text, a whole output, or an error of the provider."""


def scripted(*replies: Said) -> Model:
    """Says these one after the other; asked once more than that, it fails."""
    return scripted_by(iter([*replies]))


def scripted_by(replies: "Iterable[Said] | Callable[..., Said]") -> Model:
    """Says what an iterable gives, or what a function of (messages, tools, choice, config) says."""
    left = None if callable(replies) else iter(replies)

    def answer(*asked: Any) -> ModelOutput:
        said = replies(*asked) if left is None else next(left)  # type: ignore[operator]
        if isinstance(said, Exception):
            raise said
        return with_usage(said if isinstance(said, ModelOutput) else text_reply(said))

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def text_reply(text: str, stop_reason: StopReason = "stop") -> ModelOutput:
    return with_usage(ModelOutput.from_content("mockllm/model", text, stop_reason=stop_reason))


def tool_call(function: str, /, **arguments: Any) -> ModelOutput:
    """A reply that calls one tool."""
    return with_usage(ModelOutput.for_tool_call("mockllm/model", function, arguments))


def with_usage(output: ModelOutput) -> ModelOutput:
    output.usage = output.usage or ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return output
