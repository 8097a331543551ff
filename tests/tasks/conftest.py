"""A home of its own for each test, and task folders written for it."""

import sys
from pathlib import Path

import pytest
from small_tasks import MAKE, PREPARE, WriteTask
from task_folders import GENERATED, task_toml, with_replaced, write_task_folder

from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task, load_folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for each test."""
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def write_task(tmp_path: Path) -> WriteTask:
    """Writes a task folder; the sources table and single files can be replaced."""

    def write(task_id: str = "small-task", sources: str = GENERATED, **files: str) -> Task:
        folder = tmp_path / "tasks" / task_id
        own = {"mini.py": MAKE, "prepare.py": PREPARE, "trivial.py": "", "grade.py": ""}
        toml = task_toml(task_id, tables=sources)
        write_task_folder(folder, toml, with_replaced(own, files))
        return load_folder(folder)

    return write


@pytest.fixture
def this_env() -> PythonEnv:
    """The interpreter of the tests, as if it were a task's environment."""
    return PythonEnv(directory=Path(sys.prefix), hash="-", python_version="-", packages={})
