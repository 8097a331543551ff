"""Texts that tell an agent about its run: the remaining budget, and what happened before."""

from mlagentbench.environment.chunked_text import steps_text
from mlagentbench.environment.environment import Environment
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.prompts import prompt
from mlagentbench.records import Usage

MAX_HISTORY = 30_000
"""Characters of the history that an agent is shown; the oldest steps are omitted."""


def remaining_budget_text(limits: BudgetLimits, used: Usage) -> str:
    """What is left of each limit: "12 of 50 steps, 4 h 50 min of 5 h 0 min"."""
    left = limits.left(used)
    parts = (
        f"{limit.number(left.get(limit.name) or 0)} of {limit.text(amount)}"
        for limit, amount in limits.items()
    )
    return ", ".join(parts) or "everything: nothing is limited"


def problem_with_history(environment: Environment, steps: int) -> str:
    """The problem, and the first steps of the run, if there are any."""
    if not steps:
        return environment.problem
    past = steps_text(environment.steps[:steps], MAX_HISTORY)
    return f"{environment.problem.rstrip()}\n\n{prompt('agents/past', steps=steps, past=past)}\n"
