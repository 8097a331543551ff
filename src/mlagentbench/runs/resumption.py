"""Which runs continue when they are opened again, and under which limits."""

from collections.abc import Sequence
from pathlib import Path

from mlagentbench.errors import OutcomeKind, RunEnded, UsageError
from mlagentbench.records import Action, BudgetLimits, Observation
from mlagentbench.runs.journal import History, LimitsFrom, RunLine
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.task import Task

INTERRUPTED = Observation(
    text="This action was interrupted from outside before it ended. It was not run again, and the "
    "workspace is as it was before it.",
    status="interrupted",
)
CUT_OFF = Observation(
    text="This action was cut off before it ended, because the run was stopped. The workspace is "
    "as the action left it.",
    status="interrupted",
)
BROKEN_OFF: tuple[OutcomeKind, ...] = ("failed", "interrupted")
USED_UP: tuple[OutcomeKind, ...] = ("steps", "time", "tokens", "cost")


def require_same(directory: Path, first: RunLine, task: Task, data: PreparedData) -> None:
    """A UsageError when a directory holds a run of another task, version or data."""
    found = (first.task, first.task_version, first.data_hash)
    if found != (task.id, task.spec.version, data.hash):
        raise UsageError(
            f"{directory} holds a run of {first.task} version {first.task_version} on data "
            f"{first.data_hash[:8]}, and here is {task.id} version {task.spec.version} on data "
            f"{data.hash[:8]}; restore the former, or choose another --out to start again"
        )


def submitted_by(action: Action) -> RunEnded:
    """How a run ends whose agent submits by this action."""
    return RunEnded("submitted", str(action.arguments.get("final_answer", "")))


def goes_on(history: History, limits: BudgetLimits) -> bool:
    """Whether there is something left to do: a run continues if it was interrupted, or if its
    budget was used up and is raised now."""
    outcome = history.outcome
    if outcome is None or outcome.kind in BROKEN_OFF:
        return True
    left = limits.left(history.usage).model_dump().values()
    return outcome.kind in USED_UP and 0 not in left


def last_limits(history: History) -> BudgetLimits | None:
    """The limits that a run has now; None for one that has not begun."""
    return limits_after(history.limits, len(history.steps)) if history.limits else None


def limits_after(limits: Sequence[LimitsFrom], step: int) -> BudgetLimits:
    """The limits that held when a step had ended, by all that held in a run."""
    held = [one for one in limits if one.step <= step]
    return BudgetLimits.model_validate(held[-1].limits)


def changed_limits(before: BudgetLimits, after: BudgetLimits) -> str:
    """A description of the differences; empty when there are none."""
    old, new = before.model_dump(), after.model_dump()
    return ", ".join(
        f"{name} {_shown(old[name])} -> {_shown(new[name])}"
        for name in new
        if new[name] != old[name]
    )


def _shown(limit: float | None) -> str:
    return "unlimited" if limit is None else f"{limit:g}"
