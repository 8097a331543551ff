"""Asking models without asking twice: what they said before an interruption is recalled.

A question is the same when its step, its role and its whole prompt are. An agent whose prompts
follow from the run's steps and replies alone asks the same questions again after an interruption,
and gets the same answers, up to the place where it was interrupted.
"""

import hashlib
from collections import defaultdict, deque

from mlagentbench.agents.conversation import reply_message
from mlagentbench.environment.asking import MAIN, Models, prompt_text
from mlagentbench.environment.journal import ReplyLine
from mlagentbench.environment.provider_answers import refuses
from mlagentbench.errors import ContextOverflow


class Recall:
    """A run's models, and what they said before; replies have at most so many tokens."""

    def __init__(self, models: Models, max_reply_tokens: int) -> None:
        self._models = models
        self._max_tokens = max_reply_tokens
        self._said: dict[tuple[int, str, str], deque[ReplyLine]] = defaultdict(deque)
        for line in models.replies:
            if not refuses(reply_message(line), line.stop_reason):
                self._said[line.step, line.role, line.prompt_hash].append(line)

    async def ask(self, prompt: str, role: str = MAIN, step: int | None = None) -> ReplyLine:
        """The reply to a prompt in a step, by default the one that is being prepared.

        Raises what Models.ask raises.
        """
        from inspect_ai.model import ChatMessageUser, GenerateConfig

        messages = [ChatMessageUser(content=prompt)]
        asked = hashlib.sha256(prompt_text(messages).encode("utf-8", "replace")).hexdigest()
        said = self._said[step or self._models.step, role, asked]
        if not said:
            config = GenerateConfig(max_tokens=self._max_tokens)
            await self._models.ask(messages, role=role, config=config)
            return self._models.replies[-1]
        line = said.popleft()
        if line.stop_reason == "model_length":
            raise ContextOverflow("the prompt is longer than the model can read")
        return line

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
