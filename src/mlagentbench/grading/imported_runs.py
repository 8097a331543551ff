"""Grading runs that were imported from the original's logs: only where their answers fit our data.

The original split its data otherwise, and often left the test labels in the workspace. So a
submission that does not fit our test set is no failure of the agent: it cannot be graded. One that
fits is graded with a warning.
"""

from mlagentbench.errors import UsageError
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.tasks.data.preparation import PreparedData, find_prepared
from mlagentbench.tasks.task import Task

NOT_GRADED = "imported from the original's logs: not graded, since its test data are not ours"
WARNING = (
    "imported from the original's logs and graded on our test set; "
    "its labels may have been in the run's workspace"
)


def data_for_imported(run: RunDirectory, task: Task) -> PreparedData:
    """Our full data, on which an imported run's predictions may fit; UsageError otherwise."""
    if task.spec.kind != "predictions":
        raise UsageError(
            f"{run.relative}: {NOT_GRADED}; {task.id} is graded by running what was submitted, and "
            "the original's submissions have another form"
        )
    data = find_prepared(task, "full")
    if data is None:
        raise UsageError(
            f"{run.relative}: {NOT_GRADED}; to see whether its submission fits ours, run: "
            f"mlagentbench tasks prepare {task.address} --tier full"
        )
    return data


def require_fit(run: RunDirectory, reason: str | None, has_submission: bool) -> None:
    """A UsageError for a submission that our test set does not fit; to have none is a failure."""
    if reason is not None and has_submission:
        raise UsageError(
            f"{run.relative}: {NOT_GRADED}; its submission does not fit them: {reason}"
        )
