"""Validate Submission: check the format and, with feedback, tell the score on held-out data."""

from dataclasses import dataclass
from pathlib import Path

from mlagentbench.environment.actions.action import ActionContext, action
from mlagentbench.environment.feedback import Feedback, validation_path
from mlagentbench.errors import ActionError, RunFailed
from mlagentbench.fs import scratch_directory
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import NotCollected, entry_at, materialise
from mlagentbench.tasks.call_contract import CallTask, InvalidSubmissionReported
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

CHECK_SECONDS = 600.0


@dataclass
class SubmissionCheck:
    """Checks the submission in a snapshot with the task's grade.py, in a fresh sandbox."""

    task: Task
    python_env: PythonEnv
    call_task: CallTask
    public: Path
    feedback: Feedback | None = None
    told: int = 0
    """The number of times a metric was told in this run."""

    async def check_format(self, store: ObjectStore, snapshot: str) -> None:
        """Raise InvalidSubmissionReported unless the submission can be graded."""
        with scratch_directory("check") as directory:
            outputs = self._collect(store, snapshot, self.task.spec.submission.path, directory)
            await self.call_task(
                self.task,
                self.python_env,
                "grade.check_format",
                read={
                    "submission": outputs / self.task.spec.submission.path,
                    "public": self.public,
                },
                timeout=CHECK_SECONDS,
            )

    async def measure(self, store: ObjectStore, snapshot: str, private: Path) -> float:
        """The metric on the held-out part of the data."""
        path = validation_path(self.task)
        with scratch_directory("check") as directory:
            outputs = self._collect(store, snapshot, path, directory)
            (outputs / path).rename(outputs / self.task.spec.submission.path)
            result = await self.call_task(
                self.task,
                self.python_env,
                "grade.grade",
                read={"outputs": outputs, "private": private},
                timeout=CHECK_SECONDS,
            )
        if not isinstance(result, dict) or not isinstance(result.get("score"), int | float):
            raise RunFailed("grader", f"{self.task.id}: grade() returned {result!r}")
        return float(result["score"])

    def _collect(self, store: ObjectStore, snapshot: str, path: str, directory: Path) -> Path:
        outputs = directory / "outputs"
        outputs.mkdir(mode=0o755)
        try:
            materialise(store, snapshot, outputs, [path], self.task.spec.submission.max_bytes)
        except NotCollected as reason:
            raise InvalidSubmissionReported(str(reason)) from reason
        return outputs


@action("Validate Submission")
async def validate_submission(at: ActionContext) -> str:
    """Check that the submission is there and has the right format.

    It is not scored; where the problem speaks of a part held out, predictions for that part are.
    """
    check = at.submission
    store, snapshot = at.snapshots.store, at.snapshots.take().id
    path = at.task.spec.submission.path
    told = ""
    if check.feedback is not None:
        told = await _feedback(at, check, check.feedback, snapshot)
    try:
        await check.check_format(store, snapshot)
    except InvalidSubmissionReported as invalid:
        raise ActionError(f"{path} is not a valid submission: {invalid}{told}") from invalid
    return f"{path} is a valid submission.{told}"


async def _feedback(
    at: ActionContext, check: SubmissionCheck, feedback: Feedback, snapshot: str
) -> str:
    """What the agent is told about its predictions for the held-out part."""
    path = validation_path(at.task)
    left = feedback.calls - check.told
    if entry_at(at.snapshots.store, snapshot, path) is None:
        return f"\nWrite predictions for the held-out part to {path} to be told their score."
    if left <= 0:
        return f"\n{path} was not scored: all {feedback.calls} measurements are used."
    try:
        score = await check.measure(at.snapshots.store, snapshot, feedback.private)
    except InvalidSubmissionReported as invalid:
        return f"\n{path} was not scored: {invalid}"
    check.told += 1
    at.notes.feedback = True
    metric = at.task.spec.metric
    return (
        f"\n{path}: {metric.name} = {score:.6g} ({metric.better} is better); "
        f"{left - 1} of {feedback.calls} measurements left."
    )
