"""A home of its own for each test, and task folders written for it."""

import sys
import textwrap
from pathlib import Path

import pytest
from small_tasks import GENERATED, MAKE, PREPARE, TASK_TOML, WriteTask

from mlagentbench.tasks.python_env import PythonEnv
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
        for name in ("starter", "solution"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        contents = {
            "task.toml": TASK_TOML.format(id=task_id, sources=sources),
            "problem.md": "Predict y.",
            "mini.py": MAKE,
            "full.py": MAKE,
            "prepare.py": PREPARE,
            "trivial.py": "",
            "grade.py": "",
        }
        contents |= {name.replace("_py", ".py"): text for name, text in files.items()}
        for name, text in contents.items():
            (folder / name).write_text(textwrap.dedent(text))
        return load_folder(folder)

    return write


@pytest.fixture
def this_env() -> PythonEnv:
    """The interpreter of the tests, as if it were a task's environment."""
    return PythonEnv(directory=Path(sys.prefix), hash="-", python_version="-", packages={})
