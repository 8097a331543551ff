"""Replies that nobody understood, actions that do not exist or do not fit, and tools' errors."""

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
_SHOWN = 200


def unreadable_replies(history: History) -> Iterator[Finding]:
    """One finding per reply; a journal without such events has one per step that was lost."""
    told = _unreadable_events(history)
    replies = {reply.n: reply for reply in history.replies}
    covered = set()
    for number, event in told.items():
        reply = replies.get(number)
        prepared = _prepared_step(history, reply, event)
        covered.add(prepared)
        yield Finding(
            kind="unreadable-reply",
            steps=(prepared,),
            form=event.form or "",
            detail=event.detail or "nothing could be done with the reply",
            quote="" if reply is None else reply.reply[:_SHOWN],
        )
    for step in history.steps:
        if action_of(step) == ActionName.UNUSABLE_REPLY and step.n not in covered:
            yield Finding(
                kind="unreadable-reply",
                steps=(step.n,),
                detail=step.observation.text[:_SHOWN] or "no reply could be read",
            )


def _unreadable_events(history: History) -> dict[int, EventLine]:
    """By the number of the reply's line; after a resume an event may stand there again."""
    found: dict[int, EventLine] = {}
    for event in history.events:
        if event.event == "unreadable":
            found.setdefault(event.n if event.reply is None else event.reply, event)
    return found


def _prepared_step(history: History, reply: ReplyLine | None, event: EventLine) -> int:
    """The step that the reply was for: its own number, at most the last step's."""
    last = history.steps[-1].n if history.steps else 0
    if reply is not None:
        return min(reply.step, last) if last else reply.step
    done = [one.step for one in history.replies if one.n < event.n]
    return min(max(done, default=last), last)


def invalid_actions(history: History) -> Iterator[Finding]:
    """Steps whose action does not exist or whose arguments do not fit."""
    for step in history.steps:
        form = invalid_form(step)
        if form is not None:
            yield Finding(
                kind="invalid-action",
                steps=(step.n,),
                form=form,
                detail=f"{step.action.name[:100]}: {form}",
                quote=step.observation.text[:_SHOWN],
            )


def tool_errors(history: History) -> Iterator[Finding]:
    """Actions of the right form that could not be carried out, other than executions."""
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
            quote=step.observation.text[:_SHOWN],
        )
