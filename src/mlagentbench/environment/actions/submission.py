"""Validate Submission: check the format and, with feedback, tell the score on held-out data.

Under --protocol rebuild, the submission is made again instead (rehearse.py).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mlagentbench.environment.actions.action import ActionContext, action
from mlagentbench.environment.actions.rehearse import rehearse
from mlagentbench.environment.feedback import Feedback, validation_path
from mlagentbench.environment.rehearsal import Rehearsal
from mlagentbench.errors import ActionError, RunFailed
from mlagentbench.fs import scratch_directory
from mlagentbench.records import Json
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import NotCollected, entry_at, materialise
from mlagentbench.tasks.call_contract import CallTask, InvalidSubmissionReported
from mlagentbench.tasks.data.known_good import hold_accountable, known_good_submission
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

CHECK_SECONDS = 600.0
T = TypeVar("T")


@dataclass
class SubmissionCheck:
    """Checks the submission in a snapshot with the task's grade.py, in a fresh sandbox."""

    task: Task
    python_env: PythonEnv
    call_task: CallTask
    data: PreparedData
    public: Path
    """The public data of the run; with feedback, less than all."""
    feedback: Feedback | None = None
    rehearsal: Rehearsal | None = None
    """Set under --protocol rebuild: the submission is made again."""
    seed: int = 0
    """The seed of the run, for programs that make the submission again."""
    told: int = 0
    """The number of times a metric was told in this run."""

    async def check_format(self, store: ObjectStore, snapshot: str) -> None:
        """Raise InvalidSubmissionReported unless the submission can be graded."""
        with scratch_directory("check") as directory:
            path = self.task.spec.submission.path
            await self.check_outputs(self._collect(store, snapshot, path, directory), self.public)

    async def check_outputs(self, outputs: Path, public: Path) -> None:
        """The same for the submission in a directory, made from some public data."""
        path = self.task.spec.submission.path

        async def check(submitted: Path) -> None:
            its_public = public if submitted == outputs else self.data.public
            read = {"submission": submitted / path, "public": its_public}
            await self._call("grade.check_format", read)

        await self._accountable(check, outputs)

    async def measure(self, store: ObjectStore, snapshot: str, private: Path) -> float:
        """The metric on the held-out part of the data."""
        path = validation_path(self.task)
        with scratch_directory("check") as directory:
            outputs = self._collect(store, snapshot, path, directory)
            (outputs / path).rename(outputs / self.task.spec.submission.path)

            async def grade(submitted: Path) -> Json:
                answers = private if submitted == outputs else self.data.private
                return await self._call("grade.grade", {"outputs": submitted, "private": answers})

            result = await self._accountable(grade, outputs)
        if not isinstance(result, dict) or not isinstance(result.get("score"), int | float):
            raise RunFailed("grader", f"{self.task.id}: grade() returned {result!r}")
        return float(result["score"])

    async def _call(self, function: str, read: Mapping[str, Path]) -> Json:
        return await self.call_task(
            self.task, self.python_env, function, read=read, timeout=CHECK_SECONDS
        )

    async def _accountable(self, call: Callable[[Path], Awaitable[T]], submitted: Path) -> T:
        """Call the task's code; a failure that only this submission causes makes it invalid."""

        async def call_on_known_good() -> None:
            async with known_good_submission(
                self.task, self.data.public, self.data.private, self.call_task, self.python_env
            ) as known_good:
                await call(known_good)

        return await hold_accountable(lambda: call(submitted), call_on_known_good)

    def _collect(self, store: ObjectStore, snapshot: str, path: str, directory: Path) -> Path:
        outputs = directory / "outputs"
        outputs.mkdir(mode=0o755)
        try:
            materialise(store, snapshot, outputs, [path], self.task.spec.submission.max_bytes)
        except NotCollected as reason:
            raise InvalidSubmissionReported(str(reason)) from reason
        return outputs


@action("Validate Submission", executes=True)
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
    rehearsal = check.rehearsal
    if rehearsal is not None and rehearsal.command is not None:
        try:
            return f"{await rehearse(check, rehearsal, store, snapshot)}{told}"
        except ActionError as refused:
            raise ActionError(f"{refused}{told}") from refused
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
