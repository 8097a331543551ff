"""The `autogpt` agent: AutoGPT's command loop.

Every reply is one JSON object: thoughts (text, reasoning, plan, criticism, speak) and a command
(name, args). The command's result is the next message. A reply that cannot be read is sent back
with the reason; if that does not help, it costs a step. The memory has the recent turns in full and
a summary of all older ones; older turns that match the agent's thoughts can be recalled.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
from inspect_ai.solver import Solver, solver

from mlagentbench.agents.paper.relaxed_json import JsonError, parse_object
from mlagentbench.agents.resumable import ResumableRun
from mlagentbench.agents.runner import UNUSABLE_REPLY, as_solver
from mlagentbench.agents.status_text import remaining_budget_text
from mlagentbench.environment.ask_models import FAST
from mlagentbench.environment.chunked_text import clipped, step_text
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import ActionError, ContextOverflow, UsageError
from mlagentbench.models.builtin_model import CHARACTERS_PER_TOKEN
from mlagentbench.prompts import prompt
from mlagentbench.records import Action, Json, Observation, Record, Step
from mlagentbench.runs.journal import ReplyFault, ReplyLine

SHOWN_REPLY = 2_000
"""Characters of an unreadable reply that are sent back to the model."""
SHOWN_EVENT = 4_000
"""Characters of one turn that are summarised."""
_WORD = re.compile(r"[^\W\d_]\w{2,}")


@solver
def autogpt(
    memory_tokens: int = 8_000,
    relevant: int = 3,
    retries: int = 5,
    actions: list[str] | None = None,  # noqa: ARG001 (the Environment offers these already)
) -> Solver:
    """Think, plan, criticise and give a command, all in one JSON object.

    Args:
        memory_tokens: The size of the recent history shown in full; older turns are summarised.
        relevant: The number of older results shown because they match the current thoughts.
        retries: The number of retries for an unreadable reply before it costs a step.
        actions: The actions to offer as commands; by default the paper's.
    """
    if memory_tokens < 1 or relevant < 0 or retries < 0:
        raise UsageError(
            "agent autogpt: memory_tokens should be more than 0, relevant and retries at least 0"
        )

    async def loop(environment: Environment) -> None:
        agent = AutoGptAgent(environment, Memory(memory_tokens), relevant, retries)
        while True:
            await agent.turn()

    return as_solver(loop)


class Decision(Record):
    """A parsed reply: the command, and the thoughts that led to it."""

    thoughts: str
    action: Action


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


class AutoGptAgent:
    """One run of the agent."""

    def __init__(
        self, environment: Environment, memory: Memory, relevant: int, retries: int
    ) -> None:
        self.memory = memory
        self._run = ResumableRun(environment, "autogpt")
        self._relevant = relevant
        self._retries = retries
        self._system = _system_prompt(self._run, memory.tokens)
        self._thoughts = ""

    async def turn(self) -> None:
        """Get one reply and execute its command; raises RunEnded when the run is over."""
        if self.memory.is_full:
            await self._condense()
        reply = fault = ""
        for _ in range(1 + self._retries):
            line = await self._ask(reply, fault)
            reply = line.reply
            try:
                decision = read_reply(reply)
            except ActionError as error:
                fault = str(error)
                self._run.environment.models.note_unreadable(line, _form(line, error), fault)
                continue
            self._thoughts = decision.thoughts
            step = await self._run.execute(decision.action)
            self.memory.add(Turn(reply=reply, step=step))
            return
        said = f"No command could be read (tries: {1 + self._retries}). {fault}"
        step = await self._run.note_step(UNUSABLE_REPLY, Observation(text=said, status="error"))
        self.memory.add(Turn(reply=_shown(reply), step=step))

    async def _ask(self, last_reply: str, fault: str) -> ReplyLine:
        """The next reply, or another attempt; uses less memory if the prompt is too long."""
        while True:
            try:
                return await self._run.ask(self._messages(last_reply, fault))
            except ContextOverflow:
                if not await self._condense():
                    raise

    def _messages(self, last_reply: str, fault: str) -> list[ChatMessage]:
        relevant = self.memory.relevant(self._thoughts, self._relevant)
        recalled = "\n\n".join(map(step_text, relevant))
        left = remaining_budget_text(self._run.limits, self._run.used)
        asked = prompt("agents/autogpt_next", recalled=recalled or "(nothing yet)", left=left)
        messages: list[ChatMessage] = [
            ChatMessageSystem(content=self._system),
            *self.memory.messages(),
            ChatMessageUser(content=asked),
        ]
        if fault:
            messages.append(ChatMessageAssistant(content=_shown(last_reply)))
            messages.append(ChatMessageUser(content=prompt("agents/autogpt_retry", fault=fault)))
        return messages

    async def _condense(self) -> bool:
        """Have the fast model summarise the older half of the recent turns; False without any."""
        turns = self.memory.oldest_half()
        if not turns:
            return False
        events = "\n\n".join(
            clipped(f"{turn.reply}\n\n{turn.result}", SHOWN_EVENT) for turn in turns
        )
        asked = prompt(
            "agents/autogpt_summarise", summary=self.memory.summary or "(none)", events=events
        )
        line = await self._run.ask([ChatMessageUser(content=asked)], role=FAST)
        self.memory.condense(turns, line.reply.strip() or self.memory.summary)
        return True


def read_reply(reply: str) -> Decision:
    """Parse a reply; raises ActionError that says what is wrong with it."""
    said = parse_object(reply).value
    command = said.get("command")
    if not isinstance(command, dict):
        raise ActionError('The reply has no "command", which is an object with "name" and "args".')
    name, arguments = command.get("name"), command.get("args")
    if not isinstance(name, str) or not name.strip():
        raise ActionError('The command has no "name", which is a text.')
    if not isinstance(arguments, dict | None):
        raise ActionError('The "args" of the command are not an object.')
    return Decision(
        thoughts=_as_text(said.get("thoughts")),
        action=Action(name=name.strip(), arguments=arguments or {}),
    )


def _form(line: ReplyLine, error: ActionError) -> ReplyFault:
    if line.stop_reason == "max_tokens":
        return "cut off"
    if not line.reply.strip():
        return "empty"
    return "json" if isinstance(error, JsonError) else "action"


def _as_text(thoughts: Json) -> str:
    return json.dumps(thoughts, ensure_ascii=False) if thoughts else ""


def _shown(reply: str) -> str:
    return clipped(reply, SHOWN_REPLY).strip() or "(an empty reply)"


def _system_prompt(run: ResumableRun, memory_tokens: int) -> str:
    commands = (
        f"{number}. {spec.name}: {spec.description} args: {spec.example()}"
        for number, spec in enumerate(run.environment.actions.specs.values(), start=1)
    )
    goals = "agents/autogpt_goals"
    return prompt(
        "agents/autogpt",
        goals=prompt(goals if run.environment.can_execute else f"{goals}_no_execution"),
        problem=run.problem.strip(),
        commands="\n".join(commands),
        words=f"{memory_tokens * CHARACTERS_PER_TOKEN // 6:,}",
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
