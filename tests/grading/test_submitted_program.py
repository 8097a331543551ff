"""Submitted programs on hidden inputs: what they leave, and what they would like to be graded."""

import asyncio
import shutil
import sys
import textwrap
from pathlib import Path

import pytest

from mlagentbench.grading.submitted_program import collect_program
from mlagentbench.tasks.call_contract import InvalidSubmissionReported
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.spec import TaskSpec
from mlagentbench.tasks.task import Task

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

    def allow_only_installed_code(self) -> None:
        collect = self.task.spec.collect
        assert collect is not None
        changed = collect.model_copy(update={"machine_code": "installed"})
        self.task = Task(self.task.folder, self.task.spec.model_copy(update={"collect": changed}))

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


def test_a_program_that_may_run_only_installed_code_writes_its_outputs(trial: Trial) -> None:
    trial.allow_only_installed_code()
    program = """
        import pathlib, sys
        pathlib.Path(sys.argv[2], "answer.txt").write_text("42")
        try:
            pathlib.Path("elsewhere.txt").write_text("42")
        except OSError as error:
            pathlib.Path(sys.argv[2], "error.txt").write_text(error.strerror)
    """
    assert trial.collect(program) == {"answer.txt": "42", "error.txt": "Read-only file system"}


def test_a_program_that_may_run_only_installed_code_starts_no_other(trial: Trial) -> None:
    program = "import subprocess; subprocess.run(['true'], check=True)"
    assert trial.collect(program) == {}
    trial.allow_only_installed_code()
    with pytest.raises(InvalidSubmissionReported, match="Operation not permitted: 'true'"):
        trial.collect(program)


def test_outputs_are_bounded_where_only_installed_code_may_run(trial: Trial) -> None:
    trial.allow_only_installed_code()
    with pytest.raises(InvalidSubmissionReported, match="larger than"):
        trial.collect("import os; os.truncate(os.open('outputs/a', 66), 2_000_000)")


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_more_files_than_a_program_needs_are_refused(trial: Trial) -> None:
    program = """
        from pathlib import Path
        for number in range(10_001):
            Path("outputs", str(number)).touch()
    """
    with pytest.raises(InvalidSubmissionReported, match="more than 10,000 files"):
        trial.collect(program)


ALTERATIONS = """
    from mlagentbench_task import InvalidSubmission

    def make(submission, inputs, directory, rng):
        lines = submission.read_text().splitlines()
        if len(lines) != 1:
            raise InvalidSubmission(f"{len(lines)} lines")
        for name in ("as-it-is", "tripled", "drawn"):
            number = {"as-it-is": 1, "tripled": 3, "drawn": int(rng.integers(10**9))}[name]
            (directory / name / "inputs").mkdir(parents=True)
            (directory / name / "submission").write_text(f"{lines[0]} * {number}")
            chosen = (inputs / "number.txt").read_text()[: 1 if name == "drawn" else 2]
            (directory / name / "inputs" / "number.txt").write_text(chosen)
"""
CLOCKS = """
import os, pathlib
number = int(pathlib.Path("/inputs/number.txt").read_text())
answer = eval(pathlib.Path("predict.py").read_text())
pathlib.Path("outputs", "answer.txt").write_text(str(answer))
paths = (".", "predict.py", "run.py", "/inputs", "/inputs/number.txt")
times = [os.stat(path).st_mtime for path in paths]
pathlib.Path("outputs", "times.txt").write_text(str(times))
mounts = pathlib.Path("/proc/self/mountinfo").read_text()
pathlib.Path("outputs", "mounts.txt").write_text(mounts)
"""


@pytest.fixture
def varied(trial: Trial) -> Trial:
    """The submission is an expression, which the task's own program evaluates."""
    own = {
        "collect": {"command": "python run.py", "inputs": "inputs"},
        "read_only": {"paths": ["run.py"]},
    }
    trial.task = Task(trial.task.folder, TaskSpec.model_validate({**SPEC, **own}))
    (trial.task.folder / "alterations.py").write_text(textwrap.dedent(ALTERATIONS))
    (trial.task.starter / "run.py").write_text(CLOCKS)
    return trial


@pytest.mark.slow
def test_every_alteration_of_a_submission_is_run(varied: Trial) -> None:
    first = varied.collect("number")
    shutil.rmtree(varied.outputs)
    varied.outputs.mkdir()
    second = varied.collect("number")
    for found in (first, second):
        assert (found["as-it-is/answer.txt"], found["tripled/answer.txt"]) == ("21", "63")
        assert len(found) == 9
    assert first["drawn/answer.txt"] != second["drawn/answer.txt"]
    assert int(first["drawn/answer.txt"]) % 2 == 0  # its inputs are its own: 2, not 21


def test_times_do_not_tell_the_alterations_apart(varied: Trial) -> None:
    found = varied.collect("number")
    times = {text for name, text in found.items() if name.endswith("times.txt")}
    assert times == {str([0.0] * 5)}


def test_mounts_do_not_tell_the_alterations_apart(varied: Trial) -> None:
    """The kernel shows every process from which directories its mounts come."""
    found = varied.collect("number")
    for name in ("as-it-is", "tripled", "drawn"):
        mounts = found[f"{name}/mounts.txt"]
        assert "/inputs " in mounts
        assert name not in mounts


def test_a_submission_that_cannot_be_varied_is_invalid(varied: Trial) -> None:
    with pytest.raises(InvalidSubmissionReported, match="2 lines"):
        varied.collect("number\n+ number")


def test_an_alteration_that_fails_is_named(varied: Trial) -> None:
    with pytest.raises(InvalidSubmissionReported, match=r"alteration tripled: .*exit status 1"):
        varied.collect("type('T', (), {'__mul__': lambda self, n: 1 // (n - 3)})()")


def test_a_program_that_never_ends_is_stopped(trial: Trial) -> None:
    collect = {"command": "python predict.py", "inputs": "inputs", "timeout": "1s"}
    trial.task = Task(trial.task.folder, TaskSpec.model_validate({**SPEC, "collect": collect}))
    with pytest.raises(InvalidSubmissionReported, match="ended by the limit on wall time"):
        trial.collect("while True: pass")
