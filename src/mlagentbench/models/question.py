"""The question a model is being asked, and what a built-in model adds to its reply."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from mlagentbench.records import Json, Record, RunRecord

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, ModelOutput

METADATA = "mlagentbench"
"""The key of ReplyMetadata in the metadata of a ModelOutput."""


class Question(Record):
    """What a model is being asked for: the run, the current step, the role.

    `number` is the question's index within the step and role, also across an interruption. `record`
    is the contents of run.json, if there is one.
    """

    out: str
    run: str
    step: int
    role: str
    number: int
    prompt: str
    record: RunRecord | None = None


class ReplyMetadata(Record):
    """What a built-in model says about a reply, in its output's metadata; see ReplyLine."""

    matched: bool | None = None
    answered_by: str | None = None

    def as_dict(self) -> dict[str, Json]:
        return {METADATA: self.model_dump()}

    @classmethod
    def of(cls, output: "ModelOutput") -> "ReplyMetadata":
        """What the model said about this output; empty for a model that is not built in."""
        return cls.model_validate((output.metadata or {}).get(METADATA, {}))


_question: ContextVar[Question | None] = ContextVar("mlagentbench_question", default=None)


def current_question() -> Question | None:
    """The question that is being asked now; None outside of a run."""
    return _question.get()


@contextmanager
def question_context(question: Question) -> Iterator[None]:
    """Make this the current question."""
    token = _question.set(question)
    try:
        yield
    finally:
        _question.reset(token)


def prompt_text(messages: "Iterable[ChatMessage]") -> str:
    """A prompt with its tool calls as one text, for comparing prompts."""
    parts = []
    for message in messages:
        calls = getattr(message, "tool_calls", None) or ()
        shown = [f"{call.function}({json.dumps(call.arguments, sort_keys=True)})" for call in calls]
        parts.append("\n".join([f"[{message.role}]", message.text, *shown]))
    return "\n\n".join(parts)
