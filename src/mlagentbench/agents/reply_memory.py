"""Ask models without repeating a question, for agents without a memory.

The prompts of these agents follow from the run's steps, replies and files alone. A resumed agent
looks at these again and may ask what it asked many steps ago. A question is the same if its step,
its role and its complete prompt are the same. An agent with a memory has to repeat its whole run
instead, with the recorded replies in order, whatever its prompts are: see resumable.py.
"""

from collections import defaultdict, deque

from inspect_ai.model import ChatMessageUser, GenerateConfig

from mlagentbench.agents.conversation import reply_message
from mlagentbench.environment.ask_models import MAIN, Models
from mlagentbench.errors import ContextOverflow
from mlagentbench.models.provider_answers import refuses
from mlagentbench.models.question import prompt_text
from mlagentbench.runs.journal import ReplyLine
from mlagentbench.runs.objects.object_store import object_hash


def next_recorded_reply(lines: deque[ReplyLine]) -> ReplyLine | None:
    """Remove and return the next of these replies that is not a refusal; None if there is none.

    Raises ContextOverflow if the reply was that the prompt is too long.
    """
    while lines:
        line = lines.popleft()
        if line.stop_reason == "model_length":
            raise ContextOverflow("the prompt is longer than the model can read")
        if not refuses(reply_message(line), line.stop_reason):
            return line
    return None


class Recall:
    """A run's models with their earlier replies."""

    def __init__(self, models: Models, max_reply_tokens: int) -> None:
        self._models = models
        self._max_tokens = max_reply_tokens
        self._replies: dict[tuple[int, str, str], deque[ReplyLine]] = defaultdict(deque)
        for line in models.replies:
            self._replies[line.step, line.role, line.prompt_hash].append(line)

    async def ask(self, prompt: str, role: str = MAIN, step: int | None = None) -> ReplyLine:
        """The reply to a prompt in a step, by default the current one.

        Raises what Models.ask raises.
        """
        messages = [ChatMessageUser(content=prompt)]
        asked = object_hash(prompt_text(messages).encode("utf-8", "replace"))
        line = next_recorded_reply(self._replies[step or self._models.step, role, asked])
        if line is not None:
            return line
        config = GenerateConfig(max_tokens=self._max_tokens)
        await self._models.ask(messages, role=role, config=config)
        return self._models.replies[-1]

    def at(self, step: int) -> "RecallAt":
        """The same for questions of one step."""
        return RecallAt(self, step)


class RecallAt:
    """Asks questions of one step."""

    def __init__(self, recall: Recall, step: int) -> None:
        self._recall = recall
        self._step = step

    async def ask_text(self, prompt: str, role: str) -> str:
        return (await self._recall.ask(prompt, role, self._step)).reply
