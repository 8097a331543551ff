"""Texts that tell an agent about its run: the remaining budget, and what happened before."""

from mlagentbench.environment.chunked_text import steps_text
from mlagentbench.environment.environment import Environment
from mlagentbench.prompts import prompt
from mlagentbench.records import BudgetLimits, Usage

MAX_HISTORY = 30_000
"""Characters of the history that an agent is shown; the oldest steps are omitted."""


def remaining_budget_text(limits: BudgetLimits, used: Usage) -> str:
    """What is left of each limit: "12 of 50 steps, 4 h 50 min of 5 h 0 min"."""
    left = limits.left(used)
    parts = []
    if left.steps is not None:
        parts.append(f"{left.steps} of {limits.steps} steps")
    if left.time is not None and limits.time is not None:
        parts.append(f"{duration(left.time)} of {duration(limits.time)}")
    if left.tokens is not None:
        parts.append(f"{left.tokens:,} of {limits.tokens:,} tokens")
    if left.cost is not None:
        parts.append(f"${left.cost:.2f} of ${limits.cost:.2f}")
    return ", ".join(parts) or "everything: nothing is limited"


def duration(seconds: float) -> str:
    """A time in two units: "4 h 0 min"."""
    total = int(seconds)
    if total >= 3600:
        return f"{total // 3600} h {total // 60 % 60} min"
    return f"{total // 60} min {total % 60} s" if total >= 60 else f"{total} s"


def problem_with_history(environment: Environment, steps: int) -> str:
    """The problem, and the first steps of the run, if there are any."""
    if not steps:
        return environment.problem
    past = steps_text(environment.steps[:steps], MAX_HISTORY)
    return f"{environment.problem.rstrip()}\n\n{prompt('agents/past', steps=steps, past=past)}\n"
