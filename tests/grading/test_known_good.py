"""A grader that fails: the submission's fault if a known-good one is graded, else nobody's."""

import asyncio
import json
import shutil
import sys
import textwrap
from pathlib import Path

import pytest
from prepared import write_data
from task_folders import GENERATED, task_toml, write_task_folder

from mlagentbench.errors import RunFailed
from mlagentbench.grading import grade as grading
from mlagentbench.grading import timed_grading
from mlagentbench.grading.grade import Scored, score_submission
from mlagentbench.tasks.data.prepared_files import KNOWN_GOOD
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import SUITE, Task, load_folder

ENV = PythonEnv(directory=Path(sys.prefix), hash="-", python_version="-", packages={})
CRASH = "what only this submission says"
GRADE = """
    import time
    from mlagentbench_task import Grade, InvalidSubmission

    def grade(outputs, private):
        text = (outputs / "answer.txt").read_text()
        if (private / "defect.txt").exists():
            raise OSError("a broken library")
        if text == "crash":
            raise ValueError("what only this submission says")
        if text == "exit":
            raise SystemExit(3)
        if text == "gobble":
            bytearray(10**9)
        if text == "hang":
            time.sleep(1000)
        if text == "nothing":
            raise InvalidSubmission("empty")
        return Grade(float(text))
"""
KNOWN = "def known_good(public):\n    return '1.5'\n"
RESOURCES = f"{GENERATED}[resources]\ncpus = 1\nmemory = '300MB'\n"


class Trial:
    """A task whose score is what was submitted, unless that makes its grader fail."""

    def __init__(self, top: Path, trivial: str = KNOWN, **private: str) -> None:
        folder = top / "echo"
        toml = task_toml("echo", submission="answer.txt", requirements=[], tables=RESOURCES)
        files = {"mini.py": "", "prepare.py": "", "trivial.py": trivial, "grade.py": GRADE}
        write_task_folder(folder, toml, files)
        self.task, self.submitted = load_folder(folder), top / "submitted"
        answers = {f"{name}.txt": text for name, text in private.items()}
        self.data = write_data(top / "data", {"a.txt": ""}, {"answers.txt": "1", **answers})
        self.submitted.mkdir()

    def score(self, text: str) -> Scored:
        (self.submitted / "answer.txt").write_text(text)
        return asyncio.run(score_submission(self.task, self.data, ENV, self.submitted))


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("crash", "failed (ValueError)"),
        ("exit", "failed (exit code 3)"),
        ("gobble", "was ended by the limit on memory"),
        ("hang", "was ended by the limit on wall time"),
        ("nan", "gave the score nan"),
    ],
)
def test_a_submission_that_alone_breaks_the_grader_is_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, how: str
) -> None:
    monkeypatch.setattr(grading, "GRADING_TIMEOUT", 3.0 if text == "hang" else 60.0)
    scored = Trial(tmp_path).score(text)
    assert scored.score is None and scored.reason is not None
    assert scored.reason.startswith(f"grade.grade() {how}")
    assert scored.reason.endswith("on this submission, twice, while it works on a known-good one")
    assert CRASH not in scored.reason


def test_others_are_graded_as_before(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    assert trial.score("2.5").score == 2.5
    assert trial.score("nothing").reason == "empty"


def test_a_grader_that_fails_on_a_known_good_submission_too_is_infrastructure(
    tmp_path: Path,
) -> None:
    with pytest.raises(RunFailed, match="a broken library") as failure:
        Trial(tmp_path, defect="yes").score("crash")
    assert failure.value.cause == "grader"
    assert "The same call on a known-good submission: grader: echo" in failure.value.detail


def test_without_a_known_good_submission_nobody_is_to_blame(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"add known_good\(public\) to its trivial.py"):
        Trial(tmp_path, trivial="").score("crash")


def test_the_stored_submission_is_used(tmp_path: Path) -> None:
    trial = Trial(tmp_path, trivial="")
    stored = trial.data.private / KNOWN_GOOD
    stored.mkdir()
    (stored / "answer.txt").write_text("1")
    assert trial.score("crash").reason is not None
    (stored / "answer.txt").write_text("nothing")
    with pytest.raises(RunFailed, match="known-good submission: empty"):
        trial.score("crash")


def write_program_task(top: Path) -> Task:
    """The submission is an expression; one alteration of it is run."""
    collect = '[collect]\ncommand = "python run.py {inputs} {outputs}"\ninputs = "inputs"\n'
    toml = task_toml(
        "program",
        submission="expression.txt",
        requirements=["numpy"],
        tables=f'{RESOURCES}{collect}[read_only]\npaths = ["run.py"]\n',
    ).replace('kind = "predictions"', 'kind = "program"')
    files = {
        "mini.py": "", "prepare.py": "", "trivial.py": "",
        "starter/expression.txt": "1 + 1",
        "starter/run.py": """
            import pathlib, sys
            value = eval(pathlib.Path("expression.txt").read_text())
            pathlib.Path(sys.argv[2], "value.txt").write_text(str(value))
            """,
        "alterations.py": """
            def make(submission, directory, rng, inputs=None):
                if "#" in submission.read_text():
                    raise RuntimeError("comments are forgotten")
                altered = directory / "same"
                if inputs is not None:
                    (altered / "inputs").mkdir(parents=True)
                    altered = altered / "submission"
                altered.write_text(submission.read_text())
            """,
        "grade.py": """
            from mlagentbench_task import Grade
            def grade(outputs, private):
                return Grade(float((outputs / "same" / "value.txt").read_text()))
            """,
    }  # fmt: skip
    write_task_folder(top / "program", toml, files)
    return load_folder(top / "program")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("2 * 3", "6.0"),
        ("'six'", "grade.grade() failed (ValueError) on this submission"),
        ("1 # one", "alterations.make() failed (RuntimeError) on this submission"),
        ("1 / 0", "`python run.py {inputs} {outputs}` failed on the hidden inputs"),
    ],
)
def test_programs_are_compared_with_the_starter(
    tmp_path: Path, expression: str, expected: str
) -> None:
    task, submitted = write_program_task(tmp_path), tmp_path / "submitted"
    data = write_data(tmp_path / "data", {"a.txt": ""}, {"inputs/a.txt": ""})
    submitted.mkdir()
    (submitted / "expression.txt").write_text(expression)
    scored = asyncio.run(score_submission(task, data, ENV, submitted))
    shown = str(scored.score) if scored.reason is None else scored.reason
    inputs = expected.format(inputs="/inputs", outputs="outputs")
    assert shown.removeprefix("alteration same: ").startswith(inputs)


BROKEN_GRADE = """

_right_grade = grade


def grade(outputs, private, public):
    if "crash" in (outputs / FILE).read_text():
        raise ValueError
    return _right_grade(outputs, private, public)
"""


@pytest.mark.slow
def test_timed_programs_are_compared_with_the_starter_without_timing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(timed_grading.TIME_ANYWAY, "1")
    folder = tmp_path / "vectorization"
    shutil.copytree(SUITE / "vectorization", folder)
    with (folder / "grade.py").open("a") as file:
        file.write(textwrap.dedent(BROKEN_GRADE))
    layer = {
        "batch": 1, "height": 32, "width": 32, "channels": 3,
        "rows": 3, "columns": 3, "filters": 8, "stride": 2, "padding": 2,
    }  # fmt: skip
    data = write_data(
        tmp_path / "data",
        public={"layer.json": json.dumps(layer)},
        private={"requests.json": json.dumps({"timed": 9, "layer": layer})},
    )
    submitted = tmp_path / "submitted"
    submitted.mkdir()
    starter = (folder / "starter" / "convolution.py").read_text()
    (submitted / "convolution.py").write_text(f"{starter}\n# crash\n")
    scored = asyncio.run(score_submission(load_folder(folder), data, ENV, submitted))
    assert scored.reason is not None
    assert scored.reason.startswith("grade.grade() failed (ValueError) on this submission")
