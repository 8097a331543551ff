"""Replies of the original's agents in `agent_log/`, matched with their steps.

A reply in `main_log` has the form

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

A reply without the expected entries, or with an unknown action, was discarded and is not in
`main_log`: the model was asked again with a reminder at the end of the prompt, up to five times.
`step_N_log.log` has all prompts and replies:

    ===================prompt=====================
    ...
    ===================MODEL response (2000)=====================
    ...
    ===================tokens=====================

So a reply was discarded if a prompt with one more reminder follows it, or if `main_log` has no
reply after it. N repeats after a reply with unreadable arguments, and so does the file's name.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from mlagentbench.legacy.original_log import LegacyRun, LegacyStep
from mlagentbench.records import Record
from mlagentbench.runs.journal import ReplyFault

_BEGINNING = re.compile(r"^Step (\d+):\s*\n+Assistant:[ \t]*\n", re.MULTILINE)
_OBSERVED = re.compile(r"\nObservation:[ \t]*\n+```\n")
_UNOBSERVED = re.compile(r"\nObservation:\s*\Z")
_ACTION = re.compile(r"Action:\s*(.+?)\s*Action Input:", re.DOTALL)
_UNREADABLE = "ActionInputParsingError"
_PROMPT = re.compile(r"^={19}prompt={21}\n", re.MULTILINE)
_RESPONSE = re.compile(r"^={19}[^\n]{1,200} response \(\d+\)={21}\n", re.MULTILINE)
_TOKENS = re.compile(r"^={19}tokens={21}$", re.MULTILINE)
_REMINDER = "Your response was in incorrect format."
STEPS_WITHOUT_REPLY = ("Retrieval from Research Log", "Append Summary to Research Log")
"""Steps that the original's research agent took without a model reply."""


class LegacyReply(Record):
    """A reply, and the name of its action, if any."""

    text: str
    action: str | None
    fault: ReplyFault | None = None
    """Why it could not be used, so that it made no step."""


class MatchedReplies(Record):
    """The replies of each step, numbered from 1; `unmatched` counts the others.

    Replies that prepared a step which never came have the number after the last.
    """

    by_step: dict[int, tuple[LegacyReply, ...]]
    matched: int
    unmatched: int


def read_replies(log: LegacyRun) -> list[LegacyReply]:
    """All replies in order, also discarded ones; empty if main_log has another form."""
    starts = list(_BEGINNING.finditer(log.main_log))
    ends = [*(start.start() for start in starts[1:]), len(log.main_log)]
    asked = {number: _asked(text) for number, text in log.step_logs.items()} if starts else {}
    replies = []
    for start, end in zip(starts, ends, strict=False):
        given = next(asked.get(int(start[1]), iter(())), ())
        replies += [_discarded(text, log.actions) for text in given[:-1]]
        replies.append(_reply(log.main_log[start.end() : end]))
    for number in sorted(asked):
        replies += [_discarded(text, log.actions) for given in asked[number] for text in given]
    return replies


def _asked(step_log: str) -> Iterator[Sequence[str]]:
    """For each time that the agent needed a reply: the model's replies until one could be used."""
    replies: list[str] = []
    reminders = -1
    for exchange in _PROMPT.split(step_log)[1:]:
        response = _RESPONSE.search(exchange)
        if response is None:
            continue
        before, reminders = reminders, exchange.count(_REMINDER, 0, response.start())
        if reminders <= before:
            yield replies
            replies = []
        said = exchange[response.end() :]
        ends = [end.start() for end in _TOKENS.finditer(said)]
        replies.append(said[: ends[-1]] if ends else said)
    if replies:
        yield replies


def _discarded(text: str, known: Collection[str]) -> LegacyReply:
    action = _action(text)
    fault: ReplyFault = "fields" if action is None or action in known else "action"
    return LegacyReply(text=text.strip(), action=action, fault=fault if text.strip() else "empty")


def _reply(entry: str) -> LegacyReply:
    split = _OBSERVED.search(entry) or _UNOBSERVED.search(entry)
    text = entry[: split.start()] if split else entry
    observed = entry[split.end() :] if split else ""
    return LegacyReply(
        text=text.strip(),
        action=_action(text),
        fault="json" if observed.startswith(_UNREADABLE) else None,
    )


def _action(text: str) -> str | None:
    actions = _ACTION.findall(text)
    return actions[-1].strip() if actions else None


def match_replies(replies: Sequence[LegacyReply], steps: Sequence[LegacyStep]) -> MatchedReplies:
    """Match each reply with its step; one that could not be used with the step after it."""
    by_step: dict[int, list[LegacyReply]] = {}
    waiting: list[LegacyReply] = []
    position = matched = unmatched = 0
    for reply in replies:
        if reply.fault is not None:
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
        by_step.setdefault(position + 1, []).extend(waiting)
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
