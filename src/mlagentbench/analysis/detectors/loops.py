"""Loops: steps that were repeated on an unchanged workspace with the same observation."""

import json
import re
from collections.abc import Iterator

from mlagentbench.analysis.detectors.parsing.step_facts import ActionName, action_of
from mlagentbench.analysis.findings import Finding
from mlagentbench.records import Step
from mlagentbench.runs.journal import History

MIN_REPETITIONS = 3

_NUMBER = r"\d+(?:[.,]\d+)*(?:e[-+]?\d+)?"
_TIME = re.compile(
    rf"""
      \b\d{{4}}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?   # a date, with its time
    | \b\d{{1,3}}:\d\d(?::\d\d)?(?:[.,]\d+)?\b                        # a time of day, a duration
    | {_NUMBER}\s*(?:it|steps?|samples?|examples?|batch(?:es)?)/s(?:ec(?:ond)?)?\b
    | {_NUMBER}\s*(?:ns|us|µs|μs|ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?
                    |milliseconds?|microseconds?)(?:/\w+)?\b
    | (?<=\b)(?:time|times|elapsed|took|duration|runtime|seconds|secs?|ms|eta|latency|clock)\b
      [^\w\n]{{0,4}}(?:taken|used|per\ \w+|is|was|of)?[^\w\n]{{0,4}}{_NUMBER}
    """,
    re.IGNORECASE | re.VERBOSE,
)


def loops(history: History) -> Iterator[Finding]:
    """One finding per action and arguments, with all its repetitions."""
    for attempts in _by_action(history).values():
        repeated = [step for group in attempts.values() for step in _same_observation(group)]
        if repeated:
            numbers = tuple(sorted(step.n for step in repeated))
            yield Finding(
                kind="loop",
                steps=numbers,
                detail=f"{repeated[0].action.name} {len(numbers)} times on the same workspace, "
                "with the same observation",
            )


def _by_action(history: History) -> dict[str, dict[str, list[Step]]]:
    """All steps by action and arguments, then by the workspace before them."""
    before = history.run.snapshot if history.run is not None else ""
    found: dict[str, dict[str, list[Step]]] = {}
    for step in history.steps:
        if (
            action_of(step) != ActionName.UNUSABLE_REPLY
            and step.observation.status != "interrupted"
        ):
            found.setdefault(_action_key(step), {}).setdefault(before, []).append(step)
        before = step.snapshot
    return found


def _same_observation(steps: list[Step]) -> list[Step]:
    """The steps whose observation repeats often enough."""
    if len(steps) < MIN_REPETITIONS:
        return []
    groups: dict[str, list[Step]] = {}
    for step in steps:
        seen = f"{step.observation.status} {without_times(step.observation.text)}"
        groups.setdefault(seen, []).append(step)
    return [step for group in groups.values() if len(group) >= MIN_REPETITIONS for step in group]


def without_times(text: str) -> str:
    """A text without times and durations."""
    return _TIME.sub("", text)


def _action_key(step: Step) -> str:
    arguments = json.dumps(step.action.arguments, sort_keys=True, default=str)
    return f"{action_of(step)} {arguments}"
