"""Going on after an interruption: an agent's past is told to it again from the journal.

An agent that asks and acts only through a ResumableRun, and decides by nothing but what it gets
from it (replies, steps and the usage after a step; no clock, no chance without a seed), needs no
code of its own to go on. On a run that was interrupted it takes the same way as before, while
nothing is asked or done a second time, and from the journal's end on it goes its way. An agent that
remembers nothing need not go it: see recall.py.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlagentbench.agents.recall import said_again
from mlagentbench.agents.status_text import with_past
from mlagentbench.environment.asking import MAIN
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import RunFailed
from mlagentbench.records import Action, BudgetLimits, Observation, Step, Usage
from mlagentbench.runs.journal import ReplyLine
from mlagentbench.runs.resumption import limits_after

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage
    from inspect_ai.tool import ToolInfo


class ResumableRun:
    """What an agent asks and does in a run, first again and then anew.

    Its replies bear the agent's name as their state: models are also asked by actions. Of an agent
    that asks before it acts, steps before its first question are another's, and are not told.
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
        self._told = others
        self.problem = with_past(environment, others)
        """What the agent is told: the problem, and what another agent did before it."""
        self.used = _used(environment, others)
        """What the run had used after the step that was told last."""

    @property
    def limits(self) -> BudgetLimits:
        """The run's limits as they were after the step that was told last."""
        return limits_after(self.environment.limits_held, self._told)

    async def ask(
        self,
        messages: "Sequence[ChatMessage]",
        *,
        role: str = MAIN,
        tools: "Sequence[ToolInfo]" = (),
    ) -> ReplyLine:
        """A model's reply; raises ContextOverflow, ModelRefused and RunFailed("model").

        Once the run is over nothing is asked any more: that raises its RunEnded.
        """
        if self._replies and self._replies[0].role != role:
            asked = self._replies[0]
            raise _other_way(asked.step, f"the model asked was {asked.role}, not {role}")
        line = said_again(self._replies)
        if line is not None:
            return line
        if self.environment.ended is not None:
            raise self.environment.ended
        models = self.environment.models
        await models.ask(messages, role=role, tools=tools, state=self._mark)
        return models.replies[-1]

    async def execute(self, action: Action, *, patience: float = math.inf) -> Step:
        """Carry an action out; raises RunEnded and RunFailed, as the Environment does."""
        if not self._steps:
            await self.environment.execute(action, patience=patience)
        return self._step(action)

    async def note_step(self, action: Action, observation: Observation) -> Step:
        """Count a step that was not the environment's to carry out."""
        if not self._steps:
            await self.environment.note_step(action, observation)
        return self._step(action)

    def _step(self, action: Action) -> Step:
        step = self._steps.popleft() if self._steps else self.environment.steps[-1]
        if step.action.model_dump_json() != action.model_dump_json():
            raise _other_way(step.n, f"it was {step.action.name}, not {action.name}")
        self.used = step.usage or self.used
        self._told = step.n
        return step


def _used(environment: Environment, steps: int) -> Usage:
    """What the run had used after its first steps, which are another agent's."""
    return (environment.steps[steps - 1].usage if steps else None) or Usage(steps=steps)


def _other_way(step: int, difference: str) -> RunFailed:
    return RunFailed(
        "harness", f"the agent goes another way than in the journal: at step {step}, {difference}"
    )
