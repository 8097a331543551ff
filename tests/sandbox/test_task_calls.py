"""Calling a task's functions: results, invalid submissions, and whose fault a failure is."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from sandboxes import PYTHON_ENV

from mlagentbench.errors import RunFailed
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.call_contract import InvalidSubmissionReported
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.spec import TaskSpec
from mlagentbench.tasks.task import Task

ENV = PythonEnv(directory=PYTHON_ENV, hash="", python_version="", packages={})
GRADE = """
from mlagentbench_task import Grade, InvalidSubmission, require_file

def grade(outputs, private):
    require_file(outputs / "submission.csv")
    text = (outputs / "submission.csv").read_text()
    if text == "bug":
        raise ValueError("what is wrong")
    if text == "dictionary":
        return {"score": 1}
    if text == "slow":
        import time; time.sleep(60)
    right = text == (private / "answers.csv").read_text()
    score = float(text) if text in ("nan", "inf") else float(right)
    return Grade(score, {"rows": 1, "rate": 1e999})
"""
PREPARE = """
import os, pathlib

def prepare(raw, public, private):
    (public / "data.csv").write_text((raw / "raw.csv").read_text())
    (private / "folder").mkdir()
    (private / "folder" / "answers.csv").write_text("7")
    os.symlink("/etc/hostname", private / "link")
    for place in (raw, pathlib.Path("/task")):
        try:
            (place / "x").write_text("")
        except OSError:
            continue
        raise SystemExit(f"wrote to {place}")
"""
TRIVIAL = """
def predictors(public):
    return {"text": "1", "bytes": b"2", "folder": {"a/b.txt": "3", "c.txt": b"4"}}
"""


@pytest.fixture
def task(tmp_path: Path) -> Task:
    folder = tmp_path / "demo"
    folder.mkdir()
    for name, text in (("grade", GRADE), ("prepare", PREPARE), ("trivial", TRIVIAL)):
        (folder / f"{name}.py").write_text(text)
    values: dict[str, Any] = {
        "id": "demo", "title": "", "category": "custom", "task_type": "", "modality": "",
        "kind": "predictions", "version": 1, "metric": {"name": "m", "better": "higher"},
        "submission": {"path": "submission.csv"}, "commands": {"starter": "", "solution": ""},
        "python": {"requirements": []}, "sources": [],
    }  # fmt: skip
    return Task(folder, TaskSpec.model_validate(values))


def call(task: Task, function: str, timeout: float = 30.0, **paths: Any) -> Any:
    return asyncio.run(call_task(task, ENV, function, timeout=timeout, **paths))


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    private = tmp_path / "private"
    private.mkdir()
    (private / "answers.csv").write_text("7")
    private.chmod(0o700)
    return private


def grade(task: Task, answers: Path, submission: str | None, timeout: float = 30.0) -> Any:
    outputs = answers.parent / "outputs"
    outputs.mkdir()
    if submission is not None:
        (outputs / "submission.csv").write_text(submission)
    return call(task, "grade.grade", timeout, read={"outputs": outputs, "private": answers})


def test_a_grade_comes_back_by_its_fields(task: Task, answers: Path) -> None:
    assert grade(task, answers, "7") == {"score": 1.0, "extra": {"rows": 1, "rate": None}}


def test_an_invalid_submission_is_reported(task: Task, answers: Path) -> None:
    with pytest.raises(InvalidSubmissionReported, match=r"submission\.csv not found"):
        grade(task, answers, None)


@pytest.mark.parametrize(
    ("submission", "message"),
    [
        ("bug", "ValueError: what is wrong"),
        ("nan", "gave the score nan"),
        ("inf", "gave the score inf"),
        ("dictionary", "what is not a Grade"),
    ],
)
def test_a_failing_grader_is_no_score(
    task: Task, answers: Path, submission: str, message: str
) -> None:
    with pytest.raises(RunFailed, match=message) as failure:
        grade(task, answers, submission)
    assert failure.value.cause == "grader"


def test_a_limit_is_a_failure(task: Task, answers: Path) -> None:
    with pytest.raises(RunFailed, match="limit on wall time"):
        grade(task, answers, "slow", timeout=0.5)


def test_an_unknown_function_is_the_tasks_fault(task: Task, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="has no attribute 'other'") as failure:
        call(task, "prepare.other")
    assert failure.value.cause == "task"


def test_what_is_written_belongs_to_the_harness(task: Task, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "raw.csv").write_text("1,2")
    written = {name: tmp_path / "made" / name for name in ("public", "private")}
    assert call(task, "prepare.prepare", read={"raw": raw}, write=written) is None
    assert (written["public"] / "data.csv").read_text() == "1,2"
    assert (written["private"] / "folder" / "answers.csv").read_text() == "7"
    for path in tmp_path.joinpath("made").rglob("*"):
        assert path.lstat().st_uid == os.getuid()


def test_trivial_predictors_are_written_as_submissions(task: Task, tmp_path: Path) -> None:
    public, out = tmp_path / "public", tmp_path / "out"
    public.mkdir()
    names = call(task, "trivial.predictors", read={"public": public}, write={"out": out})
    assert names == ["text", "bytes", "folder"]
    assert (out / "text" / "submission.csv").read_text() == "1"
    assert (out / "bytes" / "submission.csv").read_text() == "2"
    assert (out / "folder" / "submission.csv" / "a" / "b.txt").read_text() == "3"
    assert (out / "folder" / "submission.csv" / "c.txt").read_text() == "4"
