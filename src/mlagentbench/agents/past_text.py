"""A run's past in words, for an agent that goes on where another one was."""

from mlagentbench.environment.chunked_text import steps_in_words
from mlagentbench.environment.environment import Environment
from mlagentbench.prompts import prompt

SHOWN_PAST = 30_000
"""Characters of the past that an agent is shown, its newest steps first of all."""


def with_past(environment: Environment, steps: int) -> str:
    """The problem, and what the first steps of the run did, if there are any."""
    if not steps:
        return environment.problem
    past = steps_in_words(environment.steps[:steps], SHOWN_PAST)
    return f"{environment.problem.rstrip()}\n\n{prompt('agents/past', steps=steps, past=past)}\n"
