"""What a run took: its time by who used it, its tokens by role, its money."""

from collections.abc import Sequence
from itertools import pairwise

from mlagentbench.analysis.detectors.parsing.step_facts import (
    EXECUTE_SCRIPT,
    PYTHON_REPL,
    action_of,
)
from mlagentbench.analysis.run_summary import RoleUsage, RunEfficiency
from mlagentbench.runs.journal import AnyLine, EventLine, History, ReplyLine

EXECUTIONS = (EXECUTE_SCRIPT, PYTHON_REPL)
TOOL = "tool"
"""The role of the model that programs ask while they run; the journal knows only its total."""


def efficiency_of(lines: Sequence[AnyLine], history: History) -> RunEfficiency:
    """The efficiency of a run, from its journal's lines and what they add up to."""
    replies, used = history.replies, history.usage
    wall = _wall_seconds(lines)
    scripts = sum(step.seconds for step in history.steps if action_of(step) in EXECUTIONS)
    model = _seconds(replies)
    roles = [_role(role, replies) for role in dict.fromkeys(reply.role for reply in replies)]
    return RunEfficiency(
        wall_seconds=wall,
        working_seconds=used.seconds,
        model_seconds=model,
        script_seconds=scripts,
        harness_seconds=None if model is None else max(0.0, wall - model - scripts),
        steps=used.steps,
        roles=(*roles, *_tool(history)),
        input_tokens=used.input_tokens,
        cached_tokens=sum(reply.cached_tokens for reply in replies),
        output_tokens=used.output_tokens,
        reasoning_tokens=sum(reply.reasoning_tokens for reply in replies),
        cost=used.cost,
    )


def imported_efficiency(lines: Sequence[AnyLine], history: History) -> RunEfficiency:
    """Of a run from the original's logs, which count no tokens and tell only when steps ended."""
    return RunEfficiency(
        wall_seconds=_wall_seconds(lines),
        working_seconds=history.usage.seconds,
        model_seconds=None,
        script_seconds=None,
        harness_seconds=None,
        steps=history.usage.steps,
        roles=(),
        input_tokens=None,
        cached_tokens=None,
        output_tokens=None,
        reasoning_tokens=None,
        cost=None,
    )


TAKEN_UP_AGAIN = ("resumed", "branched", "taken over")


def _wall_seconds(lines: Sequence[AnyLine]) -> float:
    """From the first line to the last, without what lies before each resumption or branching."""
    return sum(
        max(0.0, later.at - earlier.at)
        for earlier, later in pairwise(lines)
        if not (isinstance(later, EventLine) and later.event in TAKEN_UP_AGAIN)
    )


def _seconds(replies: Sequence[ReplyLine]) -> float | None:
    """How long models took; unknown where one reply does not say."""
    known = [reply.seconds for reply in replies if reply.seconds is not None]
    return sum(known) if len(known) == len(replies) else None


def _role(role: str, replies: Sequence[ReplyLine]) -> RoleUsage:
    given = [reply for reply in replies if reply.role == role]
    costs = [reply.cost for reply in given if reply.cost is not None]
    return RoleUsage(
        role=role,
        replies=len(given),
        input_tokens=sum(reply.input_tokens for reply in given),
        cached_tokens=sum(reply.cached_tokens for reply in given),
        output_tokens=sum(reply.output_tokens for reply in given),
        reasoning_tokens=sum(reply.reasoning_tokens for reply in given),
        cost=sum(costs) if costs else None,
        seconds=_seconds(given),
    )


def _tool(history: History) -> list[RoleUsage]:
    """What the run used beyond its own replies: programs that it ran asked a model."""
    used, replies = history.usage, history.replies
    read = used.input_tokens - sum(reply.input_tokens for reply in replies)
    written = used.output_tokens - sum(reply.output_tokens for reply in replies)
    if read <= 0 and written <= 0:
        return []
    return [
        RoleUsage(
            role=TOOL,
            replies=None,
            input_tokens=read,
            cached_tokens=0,
            output_tokens=written,
            reasoning_tokens=0,
            cost=None,
            seconds=None,
        )
    ]
