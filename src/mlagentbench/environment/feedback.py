"""`--feedback validation:N`: tell the agent a metric on held-out training data at most N times.

A task supports this by a function `prepare.hold_out(public, held_public, held_private, rng)`. From
public/ it makes a smaller public/ with the inputs of the held-out part, and a private/ with its
answers, as grade.py expects it. The agent works on the smaller public/ and writes its predictions
for the held-out part to a file named `validation_` plus the submission's name.
"""

from pathlib import Path, PurePosixPath

from mlagentbench.errors import UsageError
from mlagentbench.fs import reset_times, whole_directory
from mlagentbench.records import Record
from mlagentbench.tasks.call_contract import CallTask
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

FUNCTION = "hold_out"


class Feedback(Record):
    """The agent may be told the metric on the held-out part of the data, `calls` times."""

    calls: int
    public: Path
    private: Path


def require_feedback(task: Task) -> None:
    """Raise UsageError when the task cannot hold out a part of its training data."""
    if not task.defines(hold_out_function(task)):
        tier = " in the hard tier" if task.is_hard else ""
        raise UsageError(
            f"{task.id}: --feedback validation:N is not possible{tier}: {task.splitter}.py has no "
            f"function {FUNCTION}(public, held_public, held_private, rng); use --feedback none"
        )


def hold_out_function(task: Task) -> str:
    """The function that holds out a part of the training data."""
    return f"{task.splitter}.{FUNCTION}"


def validation_path(task: Task) -> str:
    """Where the agent writes its predictions for the held-out part."""
    path = PurePosixPath(task.spec.submission.path)
    return path.with_name(f"validation_{path.name}").as_posix()


def explanation(task: Task, feedback: Feedback) -> str:
    """The explanation of feedback that follows the problem."""
    metric = task.spec.metric
    return (
        "## Feedback\n\n"
        "A part of the training data was held out. Its inputs are among the files whose names "
        f"begin with `validation`. Write predictions for it to `{validation_path(task)}`, in the "
        f"format of `{task.spec.submission.path}`: Validate Submission then tells their "
        f"{metric.name} ({metric.better} is better), at most {feedback.calls} times in the run.\n"
    )


async def hold_out(
    task: Task, data: PreparedData, python_env: PythonEnv, call_task: CallTask, calls: int
) -> Feedback:
    """Split the public data, once for each prepared data set: all runs get the same split."""
    require_feedback(task)
    target = data.directory / "held-out"
    feedback = Feedback(calls=calls, public=target / "public", private=target / "private")
    if target.is_dir():
        return feedback
    with whole_directory(target) as scratch:
        for part in ("public", "private"):
            (scratch / part).mkdir()
        await call_task(
            task,
            python_env,
            hold_out_function(task),
            read={"public": data.public},
            write={"held_public": scratch / "public", "held_private": scratch / "private"},
            seed=task.public_seed(data.tier),
        )
        reset_times(scratch)
        (scratch / "private").chmod(0o700)
    return feedback
