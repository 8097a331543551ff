"""A conversation with tool calls that only grows at its end, and can be compacted.

It opens with the system prompt and the problem. Turns follow: a reply of the model, with the
results of its tool calls or another answer. Messages are only appended, so a provider's prompt
cache has everything sent before. Compacting replaces the older turns by a summary; a tool call and
its result are in the same turn, so they are never separated.
"""

from collections.abc import Sequence

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

from mlagentbench.models.builtin_model import CHARACTERS_PER_TOKEN
from mlagentbench.models.question import prompt_text
from mlagentbench.prompts import prompt
from mlagentbench.runs.journal import ReplyLine


def reply_message(line: ReplyLine) -> ChatMessageAssistant:
    """A reply of the journal as a message."""
    if line.message is None:
        return ChatMessageAssistant(content=line.reply)
    return ChatMessageAssistant.model_validate(line.message)


class Conversation:
    """The messages so far, and their approximate number of tokens."""

    def __init__(self, system: str, problem: str) -> None:
        self._opening: list[ChatMessage] = [
            ChatMessageSystem(content=system),
            ChatMessageUser(content=problem),
        ]
        self._summary: list[ChatMessage] = []
        self._turns: list[list[ChatMessage]] = []
        self._counted: int | None = None
        self._not_counted: list[ChatMessage] = []

    @property
    def messages(self) -> list[ChatMessage]:
        return [*self._opening, *self._summary, *(one for turn in self._turns for one in turn)]

    @property
    def tokens(self) -> int:
        """The model's count up to its last reply, plus an estimate of what was added since."""
        if self._counted is None:
            return _estimate(self.messages)
        return self._counted + _estimate(self._not_counted)

    def begin_turn(self, line: ReplyLine) -> None:
        self._turns.append([reply_message(line)])
        self._counted = line.input_tokens + line.output_tokens if line.input_tokens else None
        self._not_counted = []

    def add(self, message: ChatMessage) -> None:
        """Add an answer to the last reply."""
        self._turns[-1].append(message)
        self._not_counted.append(message)

    def older_than(self, tokens: float) -> list[ChatMessage]:
        """The messages to summarise, so that the remaining turns have about so many tokens.

        The last turn always remains; returns nothing when there is no other.
        """
        older = self._turns[: -self._fitting(tokens)]
        return [*self._summary, *(one for turn in older for one in turn)] if older else []

    def compact(self, summary: str, tokens: float) -> None:
        """Replace the messages of `older_than` by a summary."""
        self._turns = self._turns[-self._fitting(tokens) :]
        self._summary = [
            ChatMessageUser(content=prompt("agents/conversation_summary", summary=summary))
        ]
        self._counted = None

    def _fitting(self, tokens: float) -> int:
        """How many of the last turns fit into so many tokens; at least one."""
        count = 0
        for turn in reversed(self._turns):
            tokens -= _estimate(turn)
            if tokens < 0:
                break
            count += 1
        return max(1, count)


def shortened(messages: Sequence[ChatMessage], most: int) -> str:
    """The messages as a text, each shortened to `most` characters by omitting its middle."""
    return "\n\n".join(without_middle(prompt_text([message]), most) for message in messages)


def without_middle(text: str, most: int) -> str:
    """The text, or its beginning and end if it is longer than `most` characters."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}\n[...]\n{text[-half:]}"


def _estimate(messages: Sequence[ChatMessage]) -> int:
    return len(prompt_text(messages)) // CHARACTERS_PER_TOKEN
