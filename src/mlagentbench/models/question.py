"""What a model is asked for, and what a built-in model says about its reply."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from mlagentbench.records import Json, Record, RunRecord

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, ModelOutput

METADATA = "mlagentbench"
"""Where a ModelOutput holds what a model of ours says about it."""


class Question(Record):
    """What a model is being asked for: the run, the step under way, the role.

    `number` counts what was asked in this step and role, also before an interruption. `record` is
    what run.json says of the run, where there is one.
    """

    out: str
    run: str
    step: int
    role: str
    number: int
    prompt: str
    record: RunRecord | None = None


class Answered(Record):
    """What a model of ours says about a reply, in its output's metadata; see ReplyLine."""

    matched: bool | None = None
    answered_by: str | None = None

    def metadata(self) -> dict[str, Json]:
        """What to put into a ModelOutput."""
        return {METADATA: self.model_dump()}

    @classmethod
    def of(cls, output: "ModelOutput") -> "Answered":
        """What the model said about this output; nothing, where it is none of ours."""
        return cls.model_validate((output.metadata or {}).get(METADATA, {}))


_question: ContextVar[Question | None] = ContextVar("mlagentbench_question", default=None)


def current_question() -> Question | None:
    """What the model that is now being asked is asked for; None outside of a run."""
    return _question.get()


@contextmanager
def being_asked(question: Question) -> Iterator[None]:
    """Let the model that is asked meanwhile know what it is asked for."""
    token = _question.set(question)
    try:
        yield
    finally:
        _question.reset(token)


def prompt_text(messages: "Iterable[ChatMessage]") -> str:
    """A prompt as a text that two prompts can be compared by, tool calls and all."""
    parts = []
    for message in messages:
        calls = getattr(message, "tool_calls", None) or ()
        shown = [f"{call.function}({json.dumps(call.arguments, sort_keys=True)})" for call in calls]
        parts.append("\n".join([f"[{message.role}]", message.text, *shown]))
    return "\n\n".join(parts)
