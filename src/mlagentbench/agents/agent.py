"""What an agent is here: a loop over an Environment, run under its budget as an Inspect solver."""

import difflib
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING

from mlagentbench.environment.budget import inspect_limits
from mlagentbench.environment.environment import Environment, current_environment
from mlagentbench.errors import FailureCause, OutcomeKind, RunEnded, RunFailed, UsageError
from mlagentbench.records import Outcome, Record

if TYPE_CHECKING:
    from inspect_ai.solver import Solver

Loop = Callable[[Environment], Awaitable[None]]
"""Acts on an Environment until it has submitted; a used-up budget ends it from outside."""

LIMIT_OUTCOMES: dict[str, OutcomeKind] = {
    "time": "time",
    "working": "time",
    "token": "tokens",
    "cost": "cost",
}


class AgentInfo(Record):
    """An agent of ours: where it is, and what a person should know before choosing it."""

    name: str
    module: str
    needs_model: bool
    description: str

    def solver(self, **settings: object) -> "Solver":
        """The agent as an Inspect solver; a wrong setting is a UsageError."""
        function = getattr(import_module(self.module), self.name.replace("-", "_"))
        try:
            return function(**settings)  # type: ignore[no-any-return]
        except TypeError as error:
            raise UsageError(f"agent {self.name}: {error}; see: mlagentbench agents") from error


AGENTS = {
    info.name: info
    for info in (
        AgentInfo(
            name="baseline",
            module="mlagentbench.agents.baseline",
            needs_model=False,
            description="runs the starter as it is and submits",
        ),
        AgentInfo(
            name="nop",
            module="mlagentbench.agents.baseline",
            needs_model=False,
            description="submits at once",
        ),
        AgentInfo(
            name="oracle",
            module="mlagentbench.agents.baseline",
            needs_model=False,
            description="applies the task's own solution, runs it and submits",
        ),
    )
}


def find_agent(name: str) -> AgentInfo:
    if name in AGENTS:
        return AGENTS[name]
    near = difflib.get_close_matches(name, AGENTS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(AGENTS))}"
    raise UsageError(f"unknown agent {name!r}; {hint} (see: mlagentbench agents)")


async def run_agent(environment: Environment, loop: Loop) -> None:
    """Let the agent act until it submits, stops by itself or its budget is used up."""
    from inspect_ai.util import apply_limits

    outcome = Outcome(kind="submitted", detail="the agent stopped by itself")
    with apply_limits(inspect_limits(environment.budget), catch_errors=True) as scope:
        try:
            await loop(environment)
        except RunEnded as end:
            outcome = Outcome(kind=end.kind, detail=end.detail)
        except RunFailed as failure:
            _fail(environment, failure.cause, failure.detail)
            raise
        except Exception as error:
            _fail(environment, "harness", f"{type(error).__name__}: {error}")
            raise
    if scope.limit_error is not None:
        kind = LIMIT_OUTCOMES[scope.limit_error.type]
        outcome = Outcome(kind=kind, detail=str(scope.limit_error.message))
    environment.finish(outcome)


def _fail(environment: Environment, cause: FailureCause, detail: str) -> None:
    environment.finish(Outcome(kind="failed", cause=cause, detail=detail))


def as_solver(loop: Loop) -> "Solver":
    """The Inspect solver that runs this loop on the sample's Environment."""
    from inspect_ai.solver import Generate, TaskState

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        await run_agent(current_environment(), loop)
        return state

    return solve
