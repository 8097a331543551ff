"""Asking models without asking twice, for agents that remember nothing.

Their prompts follow from the run's steps, replies and files alone. After an interruption they look
at these once more, and ask for what they need now, which may be what they asked many steps ago: a
question is the same when its step, its role and its whole prompt are. An agent with a memory has to
go its whole way again instead, and is told what was said in its order, whatever its prompts look
like: see resumable.py.
"""

from collections import defaultdict, deque

from mlagentbench.agents.conversation import reply_message
from mlagentbench.environment.asking import MAIN, Models
from mlagentbench.errors import ContextOverflow
from mlagentbench.models.provider_answers import refuses
from mlagentbench.models.question import prompt_text
from mlagentbench.runs.journal import ReplyLine
from mlagentbench.runs.objects import object_hash


def said_again(lines: deque[ReplyLine]) -> ReplyLine | None:
    """Take the next answer of these replies; None when there is none, since a refusal is none.

    Raises ContextOverflow where the answer was that the prompt is too long.
    """
    while lines:
        line = lines.popleft()
        if line.stop_reason == "model_length":
            raise ContextOverflow("the prompt is longer than the model can read")
        if not refuses(reply_message(line), line.stop_reason):
            return line
    return None


class Recall:
    """A run's models, and what they said before; replies have at most so many tokens."""

    def __init__(self, models: Models, max_reply_tokens: int) -> None:
        self._models = models
        self._max_tokens = max_reply_tokens
        self._said: dict[tuple[int, str, str], deque[ReplyLine]] = defaultdict(deque)
        for line in models.replies:
            self._said[line.step, line.role, line.prompt_hash].append(line)

    async def ask(self, prompt: str, role: str = MAIN, step: int | None = None) -> ReplyLine:
        """The reply to a prompt in a step, by default the one that is being prepared.

        Raises what Models.ask raises.
        """
        from inspect_ai.model import ChatMessageUser, GenerateConfig

        messages = [ChatMessageUser(content=prompt)]
        asked = object_hash(prompt_text(messages).encode("utf-8", "replace"))
        line = said_again(self._said[step or self._models.step, role, asked])
        if line is not None:
            return line
        config = GenerateConfig(max_tokens=self._max_tokens)
        await self._models.ask(messages, role=role, config=config)
        return self._models.replies[-1]

    def at(self, step: int) -> "RecallAt":
        """The same for questions that belong to one step."""
        return RecallAt(self, step)


class RecallAt:
    """Asks for texts in one step."""

    def __init__(self, recall: Recall, step: int) -> None:
        self._recall = recall
        self._step = step

    async def ask_text(self, prompt: str, role: str) -> str:
        return (await self._recall.ask(prompt, role, self._step)).reply
