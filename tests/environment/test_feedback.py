"""Feedback: a metric on data held out by the task itself, told a limited number of times."""

from pathlib import Path
from typing import Any

import pytest
from small_task import HOLD_OUT, OpenRun

from mlagentbench.environment.environment import Environment
from mlagentbench.environment.feedback import Feedback, hold_out, validation_path
from mlagentbench.errors import UsageError
from mlagentbench.records import Action, Observation
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))


@pytest.fixture
async def feedback(task: Task, data: PreparedData, numpy_env: PythonEnv) -> Feedback:
    with (task.folder / "prepare.py").open("a") as file:
        file.write(HOLD_OUT)
    return await hold_out(task, data, numpy_env, call_task, calls=2)


async def do(environment: Environment, name: str, **arguments: Any) -> Observation:
    return await environment.execute(Action(name=name, arguments=arguments))


async def validation(environment: Environment, *values: float) -> str:
    rows = "".join(f"{row},{value}\n" for row, value in zip((3, 4), values, strict=False))
    await do(
        environment,
        "Write File",
        file_name=validation_path(environment.task),
        content=f"id,y\n{rows}",
    )
    return (await do(environment, "Validate Submission")).text


@pytest.mark.slow
async def test_the_metric_is_told_so_often_and_no_more(
    open_environment: OpenRun, feedback: Feedback
) -> None:
    async with open_environment(feedback=feedback) as environment:
        assert "`validation_submission.csv`" in environment.problem
        assert "at most 2 times" in environment.problem
        listing = (await do(environment, "List Files")).text
        assert "validation/, read-only" in listing
        assert (
            await do(environment, "Read File", file_name="train.csv")
        ).text == "id,y\n1,1\n2,2\n"
        await do(environment, "Execute Script", script_name="train.py")
        first = (await do(environment, "Validate Submission")).text
        assert first.startswith("submission.csv is a valid submission.\nWrite predictions")
        invalid = await validation(environment, 3.0)
        assert "validation_submission.csv was not scored: row ids differ" in invalid
        told = await validation(environment, 3.5, 4.5)
        assert "mean absolute error = 0.5 (lower is better); 1 of 2 measurements left." in told
    async with open_environment(feedback=feedback) as environment:
        assert "error = 0 (lower is better); 0 of 2" in await validation(environment, 3, 4)
        assert "all 2 measurements are used" in await validation(environment, 3, 4)
        answers = (await do(environment, "List Files")).text
        assert "answers" not in answers


async def test_an_invalid_submission_is_an_error_beside_the_metric(
    open_environment: OpenRun, feedback: Feedback
) -> None:
    async with open_environment(feedback=feedback) as environment:
        told = await validation(environment, 3, 4)
        assert told.startswith("submission.csv is not a valid submission: submission.csv not found")
        assert "mean absolute error = 0 " in told
        assert environment.steps[-1].observation.status == "error"


async def test_all_runs_share_one_split(
    task: Task, data: PreparedData, numpy_env: PythonEnv, feedback: Feedback
) -> None:
    answers = feedback.private / "answers.csv"
    before = answers.stat().st_ino
    again = await hold_out(task, data, numpy_env, call_task, calls=5)
    assert again.private == feedback.private
    assert answers.stat().st_ino == before
    assert list(data.directory.glob(".held-out-*")) == []


async def test_a_task_without_the_function_says_so(
    task: Task, data: PreparedData, numpy_env: PythonEnv
) -> None:
    with pytest.raises(UsageError, match="small-task: --feedback validation:N is not possible"):
        await hold_out(task, data, numpy_env, call_task, calls=1)
