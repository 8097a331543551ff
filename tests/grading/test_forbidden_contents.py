"""What no submission may contain; tests of machine code are with those of submitted programs."""

import asyncio
from pathlib import Path

import pytest
from number_task import write_number_task

from mlagentbench.grading.forbidden_contents import CHUNK, require_no_canary
from mlagentbench.grading.grade import score_submission
from mlagentbench.guest.mlagentbench_task import CANARY, CANARY_LINE
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.call_contract import InvalidSubmissionReported
from mlagentbench.tasks.make_ready import Ready, ensure_ready
from mlagentbench.tasks.suites import load_suite
from mlagentbench.tasks.task import Task, load_task


@pytest.fixture
def ready(tmp_path: Path, kept_home: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Task, Ready]:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))
    task = load_task(str(write_number_task(tmp_path)))
    return task, ensure_ready(task, "mini", call=call_task)


def test_answers_that_were_copied_are_proven_by_their_canary(
    ready: tuple[Task, Ready], tmp_path: Path
) -> None:
    task, made = ready
    submitted = tmp_path / "submitted"
    submitted.mkdir()
    answers = (made.data.private / "answers.csv").read_bytes()
    assert answers.startswith(CANARY_LINE.encode())
    (submitted / "submission.csv").write_bytes(answers)
    stolen = asyncio.run(score_submission(task, made.data, made.python_env, submitted))
    assert stolen.score is None and stolen.broken_rule
    assert stolen.reason == "submission.csv contains the canary of the task's hidden files"

    honest = answers.removeprefix(f"{CANARY_LINE}\n".encode())
    (submitted / "submission.csv").write_bytes(honest)
    scored = asyncio.run(score_submission(task, made.data, made.python_env, submitted))
    assert scored.score == 0.0 and not scored.broken_rule

    (submitted / "submission.csv").write_text("id,y\n")
    short = asyncio.run(score_submission(task, made.data, made.python_env, submitted))
    assert short.score is None and not short.broken_rule, "a mistake is no broken rule"


def test_a_grader_names_a_broken_rule(
    tmp_path: Path, kept_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))
    folder = write_number_task(tmp_path)
    imported = "from mlagentbench_task import BrokenRule\n\n"
    raising = "def grade(outputs, private):\n    raise BrokenRule('the weights are decoration')\n"
    (folder / "grade.py").write_text(imported + raising)
    task = load_task(str(folder))
    made = ensure_ready(task, "mini", call=call_task)
    submitted = tmp_path / "submitted"
    submitted.mkdir()
    (submitted / "submission.csv").write_text("id,y\n")
    scored = asyncio.run(score_submission(task, made.data, made.python_env, submitted))
    assert (scored.reason, scored.broken_rule) == ("the weights are decoration", True)


def test_the_canary_is_found_wherever_it_is_in_a_large_file(tmp_path: Path) -> None:
    line = CANARY_LINE.encode()
    for before in (0, CHUNK - 40, 2 * CHUNK - len(line), 3 * CHUNK + 5):
        (tmp_path / "weights.bin").write_bytes(b"x" * before + line + b"x" * CHUNK)
        with pytest.raises(InvalidSubmissionReported, match="contains the canary"):
            require_no_canary(tmp_path)
    (tmp_path / "weights.bin").write_bytes(b"x" * 3 * CHUNK + line[:-1])
    (tmp_path / "link").symlink_to("/dev/zero")
    require_no_canary(tmp_path)


@pytest.mark.parametrize("name", load_suite("v1").tasks)
def test_nothing_that_an_agent_sees_has_the_canary_of_hidden_files(name: str) -> None:
    task = load_task(name)
    assert CANARY in task.problem and CANARY_LINE not in task.problem
    for file in task.starter.rglob("*"):
        assert not file.is_file() or CANARY_LINE.encode() not in file.read_bytes(), file
    assert any(file.read_bytes().startswith(CANARY_LINE.encode()) for file in _files(task.solution))
    for path, contents in task.solution_files().items():
        assert CANARY_LINE.encode() not in contents, path


def _files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]
