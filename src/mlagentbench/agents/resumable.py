"""Resume an agent after an interruption by replaying its past from the journal.

An agent that asks and acts only through a ResumableRun, and decides only by what that returns
(replies, steps and the usage after a step; no clock, no unseeded randomness), needs no code of its
own to be resumed. On an interrupted run it repeats its decisions, but nothing is asked or executed
a second time; after the end of the journal it continues. An agent without a memory does not need
this: see reply_memory.py.
"""

import json
import math
from collections import deque
from collections.abc import Sequence

from inspect_ai.model import ChatMessage
from inspect_ai.tool import ToolInfo

from mlagentbench.agents.reply_memory import next_recorded_reply
from mlagentbench.agents.status_text import problem_with_history
from mlagentbench.environment.actions.action import storable
from mlagentbench.environment.ask_models import MAIN
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import RunFailed
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.records import Action, Observation, Step, Usage
from mlagentbench.runs.journal import ReplyLine
from mlagentbench.runs.resumption import limits_after


class ResumableRun:
    """The questions and actions of an agent in a run: first replayed, then new.

    The agent's replies have its name as their state, because actions ask models, too. If the agent
    asks before it acts, steps before its first question are another agent's and not replayed.
    """

    def __init__(self, environment: Environment, agent: str, asks_first: bool = True) -> None:
        self.environment = environment
        self._mark = {"agent": agent}
        others = environment.taken_over
        replies = [
            line
            for line in environment.models.replies
            if line.state == self._mark and line.step > others
        ]
        asked = replies[0].step if replies else len(environment.steps) + 1
        if asks_first:
            others = max(others, asked - 1)
        self._replies = deque(replies)
        self._steps = deque(environment.steps[others:])
        self._replayed = others
        self.problem = problem_with_history(environment, others)
        """The problem, and what another agent did before."""
        self.used = _used(environment, others)
        """What the run had used after the last replayed or new step."""

    @property
    def limits(self) -> BudgetLimits:
        """The run's limits after the last replayed or new step."""
        return limits_after(self.environment.limits_held, self._replayed)

    async def ask(
        self,
        messages: Sequence[ChatMessage],
        *,
        role: str = MAIN,
        tools: Sequence[ToolInfo] = (),
    ) -> ReplyLine:
        """A model's reply; raises ContextOverflow, ModelRefused and RunFailed("model").

        Once the run is over, raises its RunEnded instead of asking.
        """
        if self._replies and self._replies[0].role != role:
            asked = self._replies[0]
            raise _divergence(asked.step, f"the model asked was {asked.role}, not {role}")
        line = next_recorded_reply(self._replies)
        if line is not None:
            return line
        if self.environment.ended is not None:
            raise self.environment.ended
        models = self.environment.models
        await models.ask(messages, role=role, tools=tools, state=self._mark)
        return models.replies[-1]

    async def execute(self, action: Action, *, patience: float = math.inf) -> Step:
        """Execute an action; raises RunEnded and RunFailed like the Environment."""
        if not self._steps:
            await self.environment.execute(action, patience=patience)
        return self._step(action)

    async def note_step(self, action: Action, observation: Observation) -> Step:
        """Record a step that the Environment did not execute."""
        if not self._steps:
            await self.environment.note_step(action, observation)
        return self._step(action)

    def _step(self, action: Action) -> Step:
        step = self._steps.popleft() if self._steps else self.environment.steps[-1]
        if _stored(step.action) != _stored(action):
            raise _divergence(step.n, f"it was {step.action.name}, not {action.name}")
        self.used = step.usage or self.used
        self._replayed = step.n
        return step


def _stored(action: Action) -> str:
    """The action as the journal has it, also with characters that are not valid Unicode."""
    return json.dumps(storable(action).model_dump())


def _used(environment: Environment, steps: int) -> Usage:
    """What the run had used after these first steps."""
    return (environment.steps[steps - 1].usage if steps else None) or Usage(steps=steps)


def _divergence(step: int, difference: str) -> RunFailed:
    detail = f"the agent diverges from the journal at step {step}: {difference}"
    return RunFailed("harness", detail)
