"""A conversation with tools that never changes but at its end, and can be made shorter.

It opens with the system prompt and the problem. Then come turns: a reply of the model, with the
results of its tool calls or another answer to it. Between two questions messages are only added, so
a provider's prompt cache holds all that was sent before. Compacting puts a summary in place of the
older turns; a tool call and its result are in one turn, and so stay together.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlagentbench.models.question import prompt_text
from mlagentbench.prompts import prompt
from mlagentbench.runs.journal import ReplyLine

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, ChatMessageAssistant

CHARACTERS_PER_TOKEN = 4
"""A guess, for texts that no model has counted yet."""


def reply_message(line: ReplyLine) -> "ChatMessageAssistant":
    """A reply in the journal as a message of the conversation."""
    from inspect_ai.model import ChatMessageAssistant

    if line.message is None:
        return ChatMessageAssistant(content=line.reply)
    return ChatMessageAssistant.model_validate(line.message)


class Conversation:
    """The messages so far, and about how many tokens they are."""

    def __init__(self, system: str, problem: str) -> None:
        from inspect_ai.model import ChatMessageSystem, ChatMessageUser

        self._opening: list[ChatMessage] = [
            ChatMessageSystem(content=system),
            ChatMessageUser(content=problem),
        ]
        self._summary: list[ChatMessage] = []
        self._turns: list[list[ChatMessage]] = []
        self._counted: int | None = None
        self._not_counted: list[ChatMessage] = []

    @property
    def messages(self) -> "list[ChatMessage]":
        return [*self._opening, *self._summary, *(one for turn in self._turns for one in turn)]

    @property
    def tokens(self) -> int:
        """As the model counted up to its last reply, and a guess for what was added since."""
        if self._counted is None:
            return _guess(self.messages)
        return self._counted + _guess(self._not_counted)

    def begin_turn(self, line: ReplyLine) -> None:
        """Add a reply of the model."""
        self._turns.append([reply_message(line)])
        self._counted = line.input_tokens + line.output_tokens if line.input_tokens else None
        self._not_counted = []

    def add(self, message: "ChatMessage") -> None:
        """Add an answer to the last reply."""
        self._turns[-1].append(message)
        self._not_counted.append(message)

    def older_than(self, tokens: float) -> "list[ChatMessage]":
        """What a summary has to stand for, so that the last turns are about so many tokens.

        The last turn always stays; nothing is returned when there is no other.
        """
        older = self._turns[: -self._fitting(tokens)]
        return [*self._summary, *(one for turn in older for one in turn)] if older else []

    def compact(self, summary: str, tokens: float) -> None:
        """Put a summary in place of what `older_than` gave."""
        from inspect_ai.model import ChatMessageUser

        self._turns = self._turns[-self._fitting(tokens) :]
        self._summary = [
            ChatMessageUser(content=prompt("agents/conversation_summary", summary=summary))
        ]
        self._counted = None

    def _fitting(self, tokens: float) -> int:
        """How many of the last turns are together at most so long; at least one."""
        kept, room = 0, tokens
        for turn in reversed(self._turns):
            room -= _guess(turn)
            if room < 0:
                break
            kept += 1
        return max(1, kept)


def shortened(messages: "Sequence[ChatMessage]", most: int) -> str:
    """The messages as a text, each one longer than `most` characters without its middle."""
    return "\n\n".join(without_middle(prompt_text([message]), most) for message in messages)


def without_middle(text: str, most: int) -> str:
    """The text, or its beginning and its end when it is longer than `most` characters."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}\n[...]\n{text[-half:]}"


def _guess(messages: "Sequence[ChatMessage]") -> int:
    return len(prompt_text(messages)) // CHARACTERS_PER_TOKEN
