"""Unreadable replies, invalid actions, and errors of actions."""

from collections.abc import Iterator

from mlagentbench.analysis.detectors.parsing.step_facts import (
    ActionName,
    action_of,
    invalid_form,
    is_execution,
)
from mlagentbench.analysis.findings import Finding
from mlagentbench.runs.journal import EventLine, History, ReplyLine

MAIN = "main"
_QUOTED = 200


def unreadable_replies(history: History) -> Iterator[Finding]:
    """One finding per unreadable reply, or per lost step if the journal lacks such events."""
    events = _unreadable_events(history)
    replies = {reply.n: reply for reply in history.replies}
    covered = set()
    for number, event in events.items():
        reply = replies.get(number)
        prepared = _prepared_step(history, reply, event)
        covered.add(prepared)
        yield Finding(
            kind="unreadable-reply",
            steps=(prepared,),
            form=event.form or "",
            detail=event.detail or "the reply could not be used",
            quote="" if reply is None else reply.reply[:_QUOTED],
        )
    for step in history.steps:
        if action_of(step) == ActionName.UNUSABLE_REPLY and step.n not in covered:
            yield Finding(
                kind="unreadable-reply",
                steps=(step.n,),
                detail=step.observation.text[:_QUOTED] or "no reply could be read",
            )


def _unreadable_events(history: History) -> dict[int, EventLine]:
    """By the number of the reply's line; after a resume an event may be repeated."""
    found: dict[int, EventLine] = {}
    for event in history.events:
        if event.event == "unreadable":
            found.setdefault(event.n if event.reply is None else event.reply, event)
    return found


def _prepared_step(history: History, reply: ReplyLine | None, event: EventLine) -> int:
    """The step that the reply prepared, at most the last one."""
    last = history.steps[-1].n if history.steps else 0
    if reply is not None:
        return min(reply.step, last) if last else reply.step
    done = [one.step for one in history.replies if one.n < event.n]
    return min(max(done, default=last), last)


def invalid_actions(history: History) -> Iterator[Finding]:
    """Steps with an unknown action or bad arguments."""
    for step in history.steps:
        form = invalid_form(step)
        if form is not None:
            yield Finding(
                kind="invalid-action",
                steps=(step.n,),
                form=form,
                detail=f"{step.action.name[:100]}: {form}",
                quote=step.observation.text[:_QUOTED],
            )


def tool_errors(history: History) -> Iterator[Finding]:
    """Valid actions that failed, other than executions."""
    for step in history.steps:
        if step.observation.status != "error" or invalid_form(step) is not None:
            continue
        if action_of(step) in (
            ActionName.UNUSABLE_REPLY,
            ActionName.VALIDATE_SUBMISSION,
        ) or is_execution(step):
            continue
        yield Finding(
            kind="tool-error",
            steps=(step.n,),
            detail=f"{step.action.name} could not be carried out",
            quote=step.observation.text[:_QUOTED],
        )
