"""What a run used: time by who used it, tokens by role, and money."""

from collections.abc import Sequence
from itertools import pairwise

from mlagentbench.analysis.detectors.parsing.step_facts import ActionName, action_of
from mlagentbench.analysis.run_summary import RoleUsage, RunEfficiency
from mlagentbench.runs.journal import AnyLine, EventLine, History, ReplyLine

EXECUTIONS = (ActionName.EXECUTE_SCRIPT, ActionName.PYTHON_REPL)
TOOL = "tool"
"""The role of the model that programs call while they run; the journal has only its total."""
RESUMPTIONS = ("resumed", "branched", "taken over")
TOKEN_FIELDS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


def efficiency_of(lines: Sequence[AnyLine], history: History) -> RunEfficiency:
    """The efficiency of a run, from its journal's lines and the history that they add up to."""
    replies, used = history.replies, history.usage
    wall = _wall_seconds(lines)
    scripts = sum(step.seconds for step in history.steps if action_of(step) in EXECUTIONS)
    model = _model_seconds(replies)
    roles = [_role(role, replies) for role in dict.fromkeys(reply.role for reply in replies)]
    tokens = _token_sums(replies) | {
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
    }
    return RunEfficiency(
        wall_seconds=wall,
        working_seconds=used.seconds,
        model_seconds=model,
        script_seconds=scripts,
        harness_seconds=None if model is None else max(0.0, wall - model - scripts),
        steps=used.steps,
        roles=(*roles, *_tool_role(history)),
        cost=used.cost,
        **tokens,
    )


def imported_efficiency(lines: Sequence[AnyLine], history: History) -> RunEfficiency:
    """The efficiency of a run from the original's logs, which record only when steps ended."""
    used = history.usage
    return RunEfficiency(
        wall_seconds=_wall_seconds(lines), working_seconds=used.seconds, steps=used.steps
    )


def _wall_seconds(lines: Sequence[AnyLine]) -> float:
    """From the first line to the last, without the pauses before a resumption or a branch."""
    return sum(
        max(0.0, later.at - earlier.at)
        for earlier, later in pairwise(lines)
        if not (isinstance(later, EventLine) and later.event in RESUMPTIONS)
    )


def _model_seconds(replies: Sequence[ReplyLine]) -> float | None:
    """How long models took; unknown if any reply lacks its time."""
    known = [reply.seconds for reply in replies if reply.seconds is not None]
    return sum(known) if len(known) == len(replies) else None


def _token_sums(replies: Sequence[ReplyLine]) -> dict[str, int]:
    return {name: sum(getattr(reply, name) for reply in replies) for name in TOKEN_FIELDS}


def _role(role: str, replies: Sequence[ReplyLine]) -> RoleUsage:
    given = [reply for reply in replies if reply.role == role]
    costs = [reply.cost for reply in given if reply.cost is not None]
    return RoleUsage(
        role=role,
        replies=len(given),
        cost=sum(costs) if costs else None,
        seconds=_model_seconds(given),
        **_token_sums(given),
    )


def _tool_role(history: History) -> list[RoleUsage]:
    """What the run used beyond its own replies: programs that it ran called a model."""
    used, replies = history.usage, _token_sums(history.replies)
    read = used.input_tokens - replies["input_tokens"]
    written = used.output_tokens - replies["output_tokens"]
    if read <= 0 and written <= 0:
        return []
    spent = sum(reply.cost or 0.0 for reply in history.replies)
    cost = None if used.cost is None else max(0.0, used.cost - spent)
    return [RoleUsage(role=TOOL, input_tokens=read, output_tokens=written, cost=cost)]
