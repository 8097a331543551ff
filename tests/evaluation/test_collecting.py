"""Submitted programs on hidden inputs: what they leave, and what they would like to be graded."""

import asyncio
import sys
import textwrap
from pathlib import Path

import pytest

from mlagentbench.evaluation.collecting import collect_program
from mlagentbench.tasks.python_env import PythonEnv
from mlagentbench.tasks.task import Task, TaskSpec
from mlagentbench.tasks.task_call import InvalidSubmissionReported

ENV = PythonEnv(directory=Path(sys.prefix), hash="-", python_version="-", packages={})


class Trial:
    """A task whose submitted program doubles a number, and what is collected from it."""

    def __init__(self, top: Path) -> None:
        self.submitted, self.outputs = top / "submitted", top / "outputs"
        self.private = top / "private"
        for place in (self.submitted, self.outputs, self.private / "inputs", top / "task/starter"):
            place.mkdir(parents=True)
        (self.private / "inputs" / "number.txt").write_text("21")
        (self.private / "answer.txt").write_text("42")
        self.task = Task(top / "task", TaskSpec.model_validate(SPEC))

    def collect(self, program: str) -> dict[str, str]:
        (self.submitted / "predict.py").write_text(textwrap.dedent(program))
        asyncio.run(collect_program(self.task, ENV, self.submitted, self.private, self.outputs))
        files = [path for path in self.outputs.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.outputs)): path.read_text() for path in files}


SPEC = {
    "id": "double",
    "title": "Double",
    "category": "custom",
    "task_type": "regression",
    "modality": "tabular",
    "kind": "program",
    "version": 1,
    "metric": {"name": "error", "better": "lower"},
    "submission": {"path": "predict.py", "max_bytes": "1MB"},
    "commands": {"starter": "python predict.py", "solution": "python predict.py"},
    "collect": {"command": "python predict.py {inputs} {outputs}", "inputs": "inputs"},
    "limits": {"steps": 1, "time": "1m", "command_time": "1m"},
    "resources": {"cpus": 1, "memory": "1GB"},
    "python": {"requirements": []},
    "sources": [{"kind": "generated"}],
}


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


def test_what_the_program_writes_is_collected(trial: Trial) -> None:
    program = """
        import pathlib, sys
        number = int(pathlib.Path(sys.argv[1], "number.txt").read_text())
        pathlib.Path(sys.argv[2], "part").mkdir()
        pathlib.Path(sys.argv[2], "part", "answer.txt").write_text(str(2 * number))
    """
    assert trial.collect(program) == {"part/answer.txt": "42"}


def test_outputs_that_lead_to_the_answers_are_not_followed(trial: Trial) -> None:
    program = f"""
        import os
        os.rmdir("outputs")
        os.symlink({str(trial.private)!r}, "outputs")
    """
    with pytest.raises(InvalidSubmissionReported, match="outputs is not a directory"):
        trial.collect(program)
    assert not list(trial.outputs.iterdir())


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import os; os.symlink('/etc/passwd', 'outputs/answer.txt')", "not a regular file"),
        ("import os; os.symlink('/etc', 'outputs/folder')", "not a regular file"),
        ("import os; os.mkfifo('outputs/answer.txt')", "not a regular file"),
        ("import os; os.mkfifo(b'outputs/\\xff')", r"\\udcff is not a regular file"),
        ("import os; os.truncate(os.open('outputs/a', 66), 2_000_000)", "larger than"),
        ("import os; os.rmdir('outputs')", "not a directory"),
        ("raise SystemExit('x' * 100_000)", "exit status 1"),
    ],
)
def test_what_is_no_output_is_said(trial: Trial, program: str, reason: str) -> None:
    with pytest.raises(InvalidSubmissionReported, match=reason) as invalid:
        trial.collect(program)
    assert len(str(invalid.value).encode("utf-8")) < 3000


def test_a_bottomless_directory_is_refused_and_removed(
    trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    program = """
        import os
        os.chdir("outputs")
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
        os.chmod(".", 0)
    """
    with pytest.raises(InvalidSubmissionReported, match="deeper than 100"):
        trial.collect(program)
    assert not list(scratch.iterdir())
