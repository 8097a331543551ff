"""Suites: which tasks a name stands for, and what is said when a name or file is wrong."""

from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.guest.mlagentbench_task import CANARY
from mlagentbench.tasks.suites import chosen_tasks, load_suite, suite_names
from mlagentbench.tasks.task import SUITE, load_task, task_folders

PAPER, V1 = 13, 15


@pytest.mark.parametrize("name", suite_names())
def test_every_shipped_suite_names_tasks_that_exist(name: str) -> None:
    tasks = chosen_tasks([], name)
    assert len(set(tasks)) == len(tasks) > 0
    for task in tasks:
        load_task(task)


def test_the_papers_suites_are_complete() -> None:
    paper, first = load_suite("paper").tasks, load_suite("v1").tasks
    assert len(paper) == PAPER and len(first) == V1 and set(paper) < set(first)
    added = {load_task(name).spec.category for name in set(first) - set(paper)}
    assert added == {"llm-tool"}
    assert set(chosen_tasks([], "all")) == set(task_folders()) >= set(first)


def test_tasks_or_a_suite_but_not_both() -> None:
    assert chosen_tasks(["house-price", "house-price"], None) == ["house-price"]
    with pytest.raises(UsageError, match="both tasks and a suite"):
        chosen_tasks(["house-price"], "paper")
    with pytest.raises(UsageError, match=r"no task is named; .*--suite all \| demo"):
        chosen_tasks([], None)


def test_a_suite_of_the_persons_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('tasks = ["./my-task", "*"]')
    assert chosen_tasks([], str(file)) == ["./my-task", *sorted(task_folders())]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tasks = 3", "tasks: "),
        ("tasks = []", "names no task"),
        ("tasks = [", "not valid TOML"),
        ('task = ["house-price"]', 'a suite has description = "..." and tasks'),
    ],
)
def test_a_wrong_file_is_explained(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"mine\.toml: ") as error:
        chosen_tasks([], str(file))
    assert said in str(error.value)


def test_an_unknown_suite_is_answered_with_a_near_one() -> None:
    with pytest.raises(UsageError, match="unknown suite 'papr'; did you mean paper"):
        load_suite("papr")
    with pytest.raises(UsageError, match=r"unknown suite 'nowhere\.toml'; known: all, demo"):
        load_suite("nowhere.toml")


@pytest.mark.parametrize("folder", sorted(SUITE.glob("*/task.toml")), ids=lambda f: f.parent.name)
def test_problem_and_solution_bear_the_canary(folder: Path) -> None:
    texts = [folder.parent / "problem.md", *(folder.parent / "solution").rglob("*.py")]
    assert len(texts) > 1
    for text in texts:
        assert CANARY in text.read_text(encoding="utf-8"), text
