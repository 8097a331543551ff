"""Run an agent as an Inspect solver: a loop over an Environment, within its budget."""

from collections.abc import Awaitable, Callable

import anyio
from inspect_ai.solver import Generate, Solver, TaskState
from inspect_ai.util import LimitExceededError

from mlagentbench.environment.budget import Budget
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.run_context import current_environment
from mlagentbench.errors import FailureCause, RunEnded, RunFailed, RunInterrupted
from mlagentbench.limit_table import LIMITS
from mlagentbench.models.sharing.shared_calls import require_not_interrupted
from mlagentbench.records import Action, Outcome

Loop = Callable[[Environment], Awaitable[None]]
"""Acts on an Environment until it has submitted; a used-up budget cancels it."""

AtEnd = Callable[[Environment], None]
"""Chooses what is submitted when the agent was cut off, without asking or executing anything."""

UNUSABLE_REPLY = Action(name="Unusable Reply")
"""The step that unreadable replies cost."""

CLOCK_INTERVAL = 1.0
"""The most seconds between two checks of the run's clock."""


async def run_agent(environment: Environment, loop: Loop, at_end: AtEnd | None = None) -> None:
    """Let the agent act until it submits, stops by itself or its budget is used up.

    `at_end` is called when the agent was cut off, to submit what it considers best.
    """
    outcome = Outcome(kind="submitted", detail="the agent stopped by itself")
    try:
        outcome = await _until_over(environment, loop) or outcome
    except RunInterrupted as interrupted:
        environment.finish(Outcome(kind="interrupted", detail=interrupted.detail))
        raise
    except RunFailed as failure:
        _fail(environment, failure.cause, failure.detail)
        raise
    except LimitExceededError:
        raise
    except Exception as error:
        _fail(environment, "harness", f"{type(error).__name__}: {error}")
        raise
    if at_end is not None and outcome.kind != "submitted":
        at_end(environment)
    environment.finish(outcome)


async def _until_over(environment: Environment, loop: Loop) -> Outcome | None:
    """How the run ended; None if the agent stopped by itself.

    Raises RunInterrupted if the plan's limits refused a call, even if that did not stop the agent.
    """
    try:
        ended = await _within_time(environment.budget, loop(environment))
    except RunEnded as end:
        ended = Outcome(kind=end.kind, detail=end.detail)
    require_not_interrupted()
    return ended


async def _within_time(budget: Budget, acting: Awaitable[None]) -> Outcome | None:
    """Cut the agent off when its time is used up, by the run's own clock, which can pause."""
    over = anyio.CancelScope()

    async def watch() -> None:
        while (left := budget.remaining().get("time")) != 0:
            await anyio.sleep(CLOCK_INTERVAL if left is None else min(left, CLOCK_INTERVAL))
        over.cancel()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            with over:
                await acting
            group.cancel_scope.cancel()
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    if over.cancelled_caught:
        time = LIMITS["time"]
        return Outcome(kind=time.name, detail=time.used_up(budget.limits.get(time.name) or 0.0))
    return None


def _fail(environment: Environment, cause: FailureCause, detail: str) -> None:
    environment.finish(Outcome(kind="failed", cause=cause, detail=detail))


def as_solver(loop: Loop, at_end: AtEnd | None = None) -> Solver:
    """An Inspect solver that runs this loop on the sample's Environment."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        await run_agent(current_environment(), loop, at_end)
        return state

    return solve
