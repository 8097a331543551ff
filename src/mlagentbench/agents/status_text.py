"""What is left of a run's budget, as agents are told."""

from mlagentbench.environment.chunked_text import steps_in_words
from mlagentbench.environment.environment import Environment
from mlagentbench.prompts import prompt
from mlagentbench.records import BudgetLimits, Usage

SHOWN_PAST = 30_000
"""Characters of the past that an agent is shown, its newest steps first of all."""


def left_in_words(limits: BudgetLimits, used: Usage) -> str:
    """What is left of everything that is limited: "12 of 50 steps, 4 h 50 min of 5 h 0 min"."""
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
    """A time in two units, always the same ones for about the same time: "4 h 0 min"."""
    total = int(seconds)
    if total >= 3600:
        return f"{total // 3600} h {total // 60 % 60} min"
    return f"{total // 60} min {total % 60} s" if total >= 60 else f"{total} s"


def with_past(environment: Environment, steps: int) -> str:
    """The problem, and what the first steps of the run did, if there are any."""
    if not steps:
        return environment.problem
    past = steps_in_words(environment.steps[:steps], SHOWN_PAST)
    return f"{environment.problem.rstrip()}\n\n{prompt('agents/past', steps=steps, past=past)}\n"
