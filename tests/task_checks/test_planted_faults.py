"""Faults that real benchmarks had, planted into an honest task one by one: each is found."""

import asyncio
from pathlib import Path

import pytest
from folders import LEARNING_TASK, write_folder

from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.check import check_task
from mlagentbench.task_checks.verdicts import CheckedTask
from mlagentbench.tasks.make_ready import ensure_ready

pytestmark = [pytest.mark.usefixtures("with_shared_home"), pytest.mark.slow]

PREPARE = LEARNING_TASK["prepare.py"]
GRADE = LEARNING_TASK["grade.py"]
DEFINITIONS = "        def write(file, header, rows):"


def failures(folder: Path, changed: dict[str, str]) -> dict[str, str]:
    """What the check of the changed task finds, but for the figures, which nobody measured."""
    assert changed.keys() <= LEARNING_TASK.keys()
    assert all(LEARNING_TASK[name] != text for name, text in changed.items())
    task = write_folder(folder, LEARNING_TASK | changed)
    checked: CheckedTask = asyncio.run(
        check_task(task, ensure_ready(task, "mini", call=call_task), print)
    )
    found = {result.name: result.detail for result in checked.results if result.ok is False}
    assert found.pop("measurements are recorded")
    return found


def test_without_a_fault_nothing_is_found(tmp_path: Path) -> None:
    harmless = {"starter/train.py": LEARNING_TASK["starter/train.py"].replace("60", "61")}
    assert failures(tmp_path / "sound", harmless) == {}


def test_a_label_column(tmp_path: Path) -> None:
    found = failures(
        tmp_path / "label-column",
        {
            "prepare.py": PREPARE.replace(
                DEFINITIONS,
                """            write(public / "batches.csv", ["id", "batch"],
                  [[i, 7 - 3 * int(label)] for i, label in zip(ids[half:], y[half:])])
"""
                + DEFINITIONS,
            )
        },
    )
    assert found.keys() == {"no private column"}
    assert "batches.csv: batch is a code for private/answers.csv: y" in found["no private column"]


def test_an_ordered_test_set(tmp_path: Path) -> None:
    found = failures(
        tmp_path / "ordered",
        {
            "prepare.py": PREPARE.replace(
                "x, y, clean = x[order], y[order], clean[order]",
                "order[300:] = sorted(order[300:], key=lambda row: y[row]);"
                " x, y, clean = x[order], y[order], clean[order]",
            )
        },
    )
    assert found.keys() == {"probe learns nothing"}
    assert "on position" in found["probe learns nothing"]


def test_a_rating_in_a_file_name(tmp_path: Path) -> None:
    found = failures(
        tmp_path / "file-names",
        {
            "prepare.py": PREPARE.replace(
                DEFINITIONS,
                """            (public / "texts").mkdir()
            for i, label in zip(ids[half:], y[half:]):
                rating = int(rng.integers(7, 11) if label else rng.integers(1, 5))
                (public / "texts" / f"{i}_{rating}.txt").write_text("a text")
"""
                + DEFINITIONS,
            )
        },
    )
    assert found.keys() == {"probe learns nothing"}
    assert "on name" in found["probe learns nothing"]


def test_a_random_grader(tmp_path: Path) -> None:
    found = failures(
        tmp_path / "random-grader",
        {
            "grade.py": GRADE.replace(
                "return sum(hits) / len(hits)",
                "import random; return random.random()",
            )
        },
    )
    assert "grading twice gives the same" in found


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("imports", "import sys; sys.path.insert(0, str(outputs)); import sitecustomize"),
        (
            "unpickles",
            "import pickle\n            try: pickle.load((outputs / 'submission.csv').open('rb'))\n"
            "            except Exception: pass",
        ),
    ],
)
def test_a_grader_that_runs_the_agents_code(tmp_path: Path, name: str, runs: str) -> None:
    start = "        def grade(outputs, private):\n"
    found = failures(
        tmp_path / name, {"grade.py": GRADE.replace(start, f"{start}            {runs}\n")}
    )
    assert "ran" in found["grading runs nothing that was submitted"]
