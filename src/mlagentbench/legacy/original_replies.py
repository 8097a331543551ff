"""Replies of the original's agents in `agent_log/main_log`, matched with their steps.

A reply has the form

    Step N:
                                two empty lines
    Assistant:
    Reflection: ... Research Plan and Status: ... Thought: ... Action: ... Action Input: ...
    Observation:

    ```
    ...
    ```

N counts the agent's memory, not the steps of the trace: a reply with unreadable arguments made no
step, and with the research log on there are steps without a reply. So replies and steps are
matched in order, by the name of the action.
"""

import re
from collections.abc import Sequence

from mlagentbench.legacy.original_log import LegacyStep
from mlagentbench.records import Record

_BEGINNING = re.compile(r"^Step \d+:\s*\n+Assistant:[ \t]*\n", re.MULTILINE)
_OBSERVED = re.compile(r"\nObservation:[ \t]*\n+```\n")
_UNOBSERVED = re.compile(r"\nObservation:\s*\Z")
_ACTION = re.compile(r"Action:\s*(.+?)\s*Action Input:", re.DOTALL)
_UNREADABLE = "ActionInputParsingError"
STEPS_WITHOUT_REPLY = ("Retrieval from Research Log", "Append Summary to Research Log")
"""Steps that the original's research agent took without a model reply."""


class LegacyReply(Record):
    """A reply, and the name of its action, if any."""

    text: str
    action: str | None
    unreadable: bool = False
    """Whether its arguments were unreadable, so that it made no step."""


class MatchedReplies(Record):
    """The replies of each step, numbered from 1; `unmatched` counts the others."""

    by_step: dict[int, tuple[LegacyReply, ...]]
    matched: int
    unmatched: int


def read_replies(main_log: str) -> list[LegacyReply]:
    """All replies in a main_log in order; empty if it has another form."""
    starts = list(_BEGINNING.finditer(main_log))
    ends = [*(start.start() for start in starts[1:]), len(main_log)]
    return [_reply(main_log[start.end() : end]) for start, end in zip(starts, ends, strict=False)]


def _reply(entry: str) -> LegacyReply:
    split = _OBSERVED.search(entry) or _UNOBSERVED.search(entry)
    text = entry[: split.start()] if split else entry
    observed = entry[split.end() :] if split else ""
    actions = _ACTION.findall(text)
    return LegacyReply(
        text=text.strip(),
        action=actions[-1].strip() if actions else None,
        unreadable=observed.startswith(_UNREADABLE),
    )


def match_replies(replies: Sequence[LegacyReply], steps: Sequence[LegacyStep]) -> MatchedReplies:
    """Match each reply with its step; an unreadable one with the step after it."""
    by_step: dict[int, list[LegacyReply]] = {}
    waiting: list[LegacyReply] = []
    position = matched = unmatched = 0
    for reply in replies:
        if reply.unreadable:
            waiting.append(reply)
            continue
        found = _next_step(reply, steps, position)
        if found is None:
            unmatched += 1
            continue
        by_step.setdefault(found + 1, []).extend([*waiting, reply])
        matched += len(waiting) + 1
        waiting = []
        position = found + 1
    if waiting:
        by_step.setdefault(min(position, len(steps) - 1) + 1, []).extend(waiting)
        matched += len(waiting)
    return MatchedReplies(
        by_step={step: tuple(given) for step, given in by_step.items()},
        matched=matched,
        unmatched=unmatched,
    )


def _next_step(reply: LegacyReply, steps: Sequence[LegacyStep], position: int) -> int | None:
    """The first step of the reply's action from a position on, skipping steps without a reply."""
    for index in range(position, len(steps)):
        name = steps[index].action
        if name == reply.action:
            return index
        if name not in STEPS_WITHOUT_REPLY:
            return None
    return None
