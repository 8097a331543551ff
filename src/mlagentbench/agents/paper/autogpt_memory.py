"""What the `autogpt` agent remembers: recent turns in full, all older ones in a summary.

Older turns are not lost: those whose results have most to do with what the agent is thinking about
can be called back.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlagentbench.environment.chunked_text import step_in_words
from mlagentbench.prompts import prompt
from mlagentbench.records import Record, Step

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage

CHARACTERS_PER_TOKEN = 4
"""A guess: no model's own counting is at hand everywhere."""
_WORD = re.compile(r"[^\W\d_]\w{2,}")


class Turn(Record):
    """A reply, and the step that came of it."""

    reply: str
    step: Step

    @property
    def result(self) -> str:
        """The step's result as the agent is told it."""
        observation = self.step.observation
        status = "" if observation.status == "ok" else f" ({observation.status})"
        return f"Result of {self.step.action.name}{status}:\n{observation.text}"

    @property
    def tokens(self) -> int:
        return (len(self.reply) + len(self.result)) // CHARACTERS_PER_TOKEN


class Memory:
    """The turns of a run, of which the last fit in so many tokens."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.summary = ""
        """What all older turns were about."""
        self.recent: list[Turn] = []
        self.older: list[Turn] = []

    def add(self, turn: Turn) -> None:
        self.recent.append(turn)

    @property
    def is_full(self) -> bool:
        return len(self.recent) > 1 and sum(turn.tokens for turn in self.recent) > self.tokens

    def oldest_half(self) -> list[Turn]:
        """The turns to be summarised next: half of the tokens, never the last turn."""
        left = sum(turn.tokens for turn in self.recent) / 2
        found = []
        for turn in self.recent[:-1]:
            if left <= 0:
                break
            found.append(turn)
            left -= turn.tokens
        return found

    def condense(self, turns: Sequence[Turn], summary: str) -> None:
        """Let a summary stand for the oldest turns, and for what it stood for before."""
        self.older += turns
        self.recent = self.recent[len(turns) :]
        self.summary = summary

    def relevant(self, thoughts: str, count: int) -> list[Step]:
        """Up to so many older steps that share the rarest words with these thoughts."""
        texts = [Counter(_words(step_in_words(turn.step))) for turn in self.older]
        found_in = Counter(word for words in texts for word in words)
        wanted = {word: math.log1p(len(texts) / found_in[word]) for word in set(_words(thoughts))
                  if word in found_in}  # fmt: skip
        scores = [
            sum(weight for word, weight in wanted.items() if word in words) / math.sqrt(len(words))
            for words in texts
        ]
        best = sorted(range(len(texts)), key=lambda place: -scores[place])[:count]
        return [self.older[place].step for place in sorted(best) if scores[place] > 0]

    def messages(self) -> "list[ChatMessage]":
        """What is remembered, as messages."""
        from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

        messages: list[ChatMessage] = []
        if self.summary:
            told = prompt("agents/autogpt_summary", summary=self.summary)
            messages.append(ChatMessageUser(content=told))
        for turn in self.recent:
            messages.append(ChatMessageAssistant(content=turn.reply))
            messages.append(ChatMessageUser(content=turn.result))
        return messages


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
