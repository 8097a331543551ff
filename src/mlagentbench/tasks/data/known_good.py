"""A known-good submission for each prepared data set: it tells a bad submission from a bad grader.

When the task's code fails on a submission, the same code is called on the known-good one. If that
works, the submission is invalid; otherwise the infrastructure has failed.

PRIVATE/.known_good/    laid out like a submission; not part of the data hash

It is what `trivial.known_good(public)` returns. Without that function it is sample_submission.csv
in public/, or, unless the task asks for predictions, the submission as it is in starter/.
"""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from mlagentbench.errors import RunFailed
from mlagentbench.fs import scratch_directory
from mlagentbench.tasks.call_contract import CallTask, InvalidSubmissionReported, TaskCodeFailed
from mlagentbench.tasks.data.prepared_files import KNOWN_GOOD, move_anonymously
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

Result = TypeVar("Result")
SAMPLE = "sample_submission.csv"


async def make_known_good(
    task: Task, public: Path, target: Path, call: CallTask, python_env: PythonEnv
) -> bool:
    """Write the known-good submission to `target`; False if the task has none."""
    path = task.spec.submission.path
    with scratch_directory("known-good") as out:
        made = out / "known_good"
        if task.defines("trivial.known_good"):
            function = "trivial.known_good"
            await call(task, python_env, function, read={"public": public}, write={"out": out})
        else:
            is_data = task.spec.kind == "predictions"
            source = public / SAMPLE if is_data else task.starter / path
            if not source.exists():
                return False
            (made / path).parent.mkdir(parents=True)
            copy = shutil.copytree if source.is_dir() else shutil.copyfile
            copy(source, made / path)
        move_anonymously(made, target)
    return True


@asynccontextmanager
async def known_good_submission(
    task: Task, public: Path, private: Path, call: CallTask, python_env: PythonEnv
) -> AsyncIterator[Path]:
    """The directory with the known-good submission, made now if preparation has stored none.

    Raises RunFailed("task", ...) if the task has none.
    """
    if (private / KNOWN_GOOD).is_dir():
        yield private / KNOWN_GOOD
        return
    with scratch_directory("known-good") as directory:
        if not await make_known_good(task, public, directory / KNOWN_GOOD, call, python_env):
            raise RunFailed(
                "task",
                f"{task.id}: has no known-good submission to compare with; "
                "add known_good(public) to its trivial.py",
            )
        yield directory / KNOWN_GOOD


async def hold_accountable(
    attempt: Callable[[], Awaitable[Result]], known_good: Callable[[], Awaitable[object]]
) -> Result:
    """Call the task's code on a submission, and find out whose fault a failure is.

    `known_good` is the same call on a known-good submission. If only the submission makes the
    task's code fail, and does so twice, InvalidSubmissionReported is raised; RunFailed if the
    known-good one cannot be used either.
    """
    try:
        return await attempt()
    except TaskCodeFailed as failure:
        try:
            await known_good()
        except (RunFailed, InvalidSubmissionReported, OSError) as other:
            raise RunFailed(
                failure.cause,
                f"{failure.detail}\nThe same call on a known-good submission: {other}\n"
                "If it is damaged, prepare the data again: "
                "mlagentbench tasks prepare TASK --tier TIER --again",
            ) from failure
    try:
        return await attempt()
    except TaskCodeFailed as again:
        raise InvalidSubmissionReported(
            f"{again.function}() {again.how} on this submission, twice, "
            "while it works on a known-good one"
        ) from again
