"""What the original's agents said: their replies in `agent_log/main_log`, brought to their steps.

A reply stands there as

    Step N:
                                two empty lines
    Assistant:
    Reflection: ... Research Plan and Status: ... Thought: ... Action: ... Action Input: ...
    Observation:

    ```
    ...
    ```

N counts what the agent remembers, not the steps of the trace: a reply whose arguments could not be
read made no step, and with the research log on there are steps that no reply asked for. So replies
and steps are brought together in their order, by the name of the action.
"""

import re
from collections.abc import Sequence

from mlagentbench.launch.legacy.original_log import LegacyStep
from mlagentbench.records import Record

_BEGINNING = re.compile(r"^Step \d+:\s*\n+Assistant:[ \t]*\n", re.MULTILINE)
_OBSERVED = re.compile(r"\nObservation:[ \t]*\n+```\n")
_UNOBSERVED = re.compile(r"\nObservation:\s*\Z")
_ACTION = re.compile(r"Action:\s*(.+?)\s*Action Input:", re.DOTALL)
_UNREADABLE = "ActionInputParsingError"
MADE_BY_THE_AGENT_PROGRAM = ("Retrieval from Research Log", "Append Summary to Research Log")
"""Steps that the original's research agent took without asking its model."""


class LegacyReply(Record):
    """A reply, and the name of the action that it asks for, if any."""

    text: str
    action: str | None
    unreadable: bool = False
    """Whether its arguments could not be read, so that it made no step."""


class MatchedReplies(Record):
    """The replies of each step, by its number from 1 on; `unmatched` fit none."""

    by_step: dict[int, tuple[LegacyReply, ...]]
    matched: int
    unmatched: int


def read_replies(main_log: str) -> list[LegacyReply]:
    """All replies in a main_log, in their order; none where it has another form."""
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
    """Bring each reply to the step that it asked for; an unreadable one to the step after it."""
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
    """The first step from a position on that the reply asks for; only own steps may lie between."""
    for index in range(position, len(steps)):
        name = steps[index].action
        if name == reply.action:
            return index
        if name not in MADE_BY_THE_AGENT_PROGRAM:
            return None
    return None
