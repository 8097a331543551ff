"""The memory of the `autogpt` agent: recent turns in full, all older ones in a summary.

Older turns are kept: those whose results best match the agent's thoughts can be recalled.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser

from mlagentbench.environment.chunked_text import step_text
from mlagentbench.models.builtin_model import CHARACTERS_PER_TOKEN
from mlagentbench.prompts import prompt
from mlagentbench.records import Record, Step

_WORD = re.compile(r"[^\W\d_]\w{2,}")


class Turn(Record):
    """A reply and its step."""

    reply: str
    step: Step

    @property
    def result(self) -> str:
        """The step's result as the agent is told."""
        observation = self.step.observation
        status = "" if observation.status == "ok" else f" ({observation.status})"
        return f"Result of {self.step.action.name}{status}:\n{observation.text}"

    @property
    def tokens(self) -> int:
        return (len(self.reply) + len(self.result)) // CHARACTERS_PER_TOKEN


class Memory:
    """The turns of a run, of which the recent ones fit into so many tokens."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.summary = ""
        """A summary of all older turns."""
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
        """Replace the oldest turns and the previous summary by a new summary."""
        self.older += turns
        self.recent = self.recent[len(turns) :]
        self.summary = summary

    def relevant(self, thoughts: str, count: int) -> list[Step]:
        """Up to `count` older steps that share the rarest words with these thoughts."""
        texts = [Counter(_words(step_text(turn.step))) for turn in self.older]
        found_in = Counter(word for words in texts for word in words)
        shared = set(_words(thoughts)) & found_in.keys()
        wanted = {word: math.log1p(len(texts) / found_in[word]) for word in shared}
        scores = [
            sum(weight for word, weight in wanted.items() if word in words) / math.sqrt(len(words))
            for words in texts
        ]
        best = sorted(range(len(texts)), key=lambda place: -scores[place])[:count]
        return [self.older[place].step for place in sorted(best) if scores[place] > 0]

    def messages(self) -> list[ChatMessage]:
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
