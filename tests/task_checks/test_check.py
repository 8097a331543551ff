"""Checking whole tasks: an honest one passes, and what is wrong with rotten ones is found."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from folders import LEARNING_TASK, write_folder

from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.check import check_task
from mlagentbench.task_checks.measure import measure
from mlagentbench.task_checks.verdicts import CheckedTask
from mlagentbench.tasks.make_ready import Ready, ensure_ready
from mlagentbench.tasks.stored_measurements import store_in_home
from mlagentbench.tasks.task import Task, load_folder

pytestmark = [pytest.mark.usefixtures("with_shared_home"), pytest.mark.slow]
COMMAND = str(Path(sys.executable).with_name("mlagentbench"))


def measured(task: Task) -> Ready:
    ready = ensure_ready(task, "mini", call=call_task)
    figures = asyncio.run(measure(task, ready.data, ready.python_env, 4, 1, print))
    store_in_home(task, "mini", figures)
    return ready


def failures(checked: CheckedTask) -> dict[str, str]:
    return {result.name: result.detail for result in checked.results if result.ok is False}


@pytest.fixture(scope="module")
def honest(shared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Task:
    task = write_folder(tmp_path_factory.mktemp("tasks") / "honest", LEARNING_TASK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLAGENTBENCH_HOME", str(shared_home))
        measured(task)
    return task


def test_an_honest_task_passes(honest: Task) -> None:
    checked = asyncio.run(check_task(honest, ensure_ready(honest, "mini", call=call_task), print))
    assert checked.ok and failures(checked) == {}
    skipped = [result for result in checked.results if result.ok is None]
    assert [result.name for result in skipped] == ["public files were written in random order"]
    assert all(result.detail.startswith("not applicable: ") for result in skipped)
    assert len(checked.results) == 17
    assert checked.measured is not None and checked.measured.ceiling is not None
    assert checked.starter is not None and checked.solution is not None
    assert checked.solution.score > checked.measured.bar > checked.starter.score


def test_a_rotten_grader_and_its_baits(tmp_path: Path) -> None:
    """A grader that forgets the ids and rolls dice, a sample with answers, a free success."""
    task = write_folder(
        tmp_path / "rotten",
        LEARNING_TASK
        | {
            "grade.py": """
                import random
                from mlagentbench_task import Grade, read_table
                def grade(outputs, private):
                    answers = read_table(private / "answers.csv", ["id", "y"])
                    submission = read_table(outputs / "submission.csv", ["id", "y"])
                    off = abs(submission["y"].count("1") - answers["y"].count("1"))
                    return Grade(1 - off / len(answers["y"]) + random.random() / 1000)
                def check_format(submission, public):
                    read_table(submission, ["id", "y"])
                """,
            "prepare.py": LEARNING_TASK["prepare.py"].replace(
                "[[i, 0] for i in ids[half:]]", "labels[half:]"
            ),
            "starter/submission.csv": "id,y\n" + "1,1\n" * 150,
            "starter/train.py": """
                header, *rows = open("test.csv").read().split()
                with open("submission.csv", "w") as file:
                    file.write("id,y\\n")
                    file.writelines(f"{row.split(',')[0]},0\\n" for row in rows)
                """,
        },
    )  # fmt: skip
    ready = measured(task)
    checked = asyncio.run(check_task(task, ready, print))
    found = failures(checked)
    assert found.keys() == {
        "doing nothing is no success",
        "sample submission is valid and constant",
        "shuffled predictions score like chance",
        "grading twice gives the same",
        "no private file by contents",
        "no private column",
    }
    assert found["sample submission is valid and constant"] == "not constant: y"
    assert "sample_submission.csv: y equals private/answers.csv: y" in found["no private column"]


def test_a_task_that_does_not_work_is_a_finding_not_a_crash(tmp_path: Path) -> None:
    task = write_folder(
        tmp_path / "broken",
        LEARNING_TASK
        | {
            "starter/train.py": "raise SystemExit('no GPU')",
            "solution/solution.py": "open('submission.csv', 'w').write('id,z')",
        },
    )
    checked = asyncio.run(check_task(task, ensure_ready(task, "mini", call=call_task), print))
    found = failures(checked)
    assert "nothing is recorded" in found["measurements are recorded"]
    assert "no GPU" in found["starter reproduces its score"]
    assert "has the columns id, z" in found["solution reaches the bar with room"]
    assert "no score" in found["grading twice gives the same"]
    assert checked.starter is None and checked.solution is None


def test_command_line(honest: Task) -> None:
    command = [
        str(Path(sys.executable).with_name("mlagentbench")),
        "tasks",
        "check",
        str(honest.folder),
    ]
    passed = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    (values,) = json.loads(passed.stdout)
    assert values["ok"] is True and values["task"] == "honest"
    assert {result["ok"] for result in values["results"]} == {True, None}

    (honest.folder / "starter" / "answers.csv").write_text("hm")
    measured(honest)  # other starters have other measurements
    failed = subprocess.run(command, capture_output=True, text=True)
    (honest.folder / "starter" / "answers.csv").unlink()
    measured(honest)
    assert failed.returncode == 1
    said = " ".join(failed.stdout.split())
    assert (
        "FAILED no private file by name" in said and "15 hold, 1 failed, 1 not applicable" in said
    )
    for word in ("floor", "starter", "reference", "ceiling", "bar", "CPU s"):
        assert word in failed.stdout
    assert load_folder(honest.folder).spec.measured == {}
