"""Which runs continue when they are opened again, and under which limits."""

from collections.abc import Sequence
from pathlib import Path

from mlagentbench.errors import OutcomeKind, RunEnded, UsageError
from mlagentbench.limit_table import LIMITS, BudgetLimits
from mlagentbench.records import Action, Observation
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
    return outcome.kind in LIMITS and limits.used_up(history.usage) is None


def last_limits(history: History) -> BudgetLimits | None:
    """The limits that a run has now; None for one that has not begun."""
    return limits_after(history.limits, len(history.steps)) if history.limits else None


def limits_after(limits: Sequence[LimitsFrom], step: int) -> BudgetLimits:
    """The limits that held when a step had ended, by all that held in a run."""
    held = [one for one in limits if one.step <= step]
    return BudgetLimits.model_validate(held[-1].limits)


def changed_limits(before: BudgetLimits, after: BudgetLimits) -> str:
    """A description of the differences; empty when there are none."""
    names = [name for name in LIMITS if before.get(name) != after.get(name)]
    return ", ".join(
        f"{name} {_shown(before.get(name))} -> {_shown(after.get(name))}" for name in names
    )


def _shown(limit: float | None) -> str:
    return "unlimited" if limit is None else f"{limit:g}"
