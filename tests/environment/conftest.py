"""A small real task with its data, and Environments on it in the real sandbox."""

import platform
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from mlagentbench.environment.budget import Budget, BudgetLimits
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.feedback import Feedback
from mlagentbench.environment.run_directory import RunDirectory
from mlagentbench.environment.sandbox.bubblewrap import BubblewrapSandbox
from mlagentbench.environment.sandbox.task_process import call_task
from mlagentbench.environment.workspace import sandbox_spec
from mlagentbench.tasks.data import PreparedData
from mlagentbench.tasks.python_env import PythonEnv
from mlagentbench.tasks.task import Task, load_folder

TASK_TOML = """
id = "small-task"
title = "A small task"
category = "custom"
task_type = "regression"
modality = "tabular"
kind = "predictions"
version = 1
[metric]
name = "mean absolute error"
better = "lower"
[submission]
path = "submission.csv"
[commands]
starter = "python train.py"
solution = "python train.py"
[limits]
steps = 40
time = "10m"
command_time = "20s"
[resources]
cpus = 1
memory = "1GB"
[python]
requirements = []
[read_only]
paths = ["fixed.py"]
[[sources]]
kind = "url"
"""

TRAIN = """
import csv, os, sys
rows = list(csv.DictReader(open("train.csv")))
mean = sum(float(row["y"]) for row in rows) / len(rows)
with open("submission.csv", "w") as file:
    file.write("id,y\\n")
    for row in csv.DictReader(open("test.csv")):
        file.write(f"{row['id']},{mean}\\n")
print("mean", mean, "arguments", sys.argv[1:], "seed", os.environ["MLAGENTBENCH_SEED"])
"""

GRADE = """
import csv
from pathlib import Path
from mlagentbench_task import Grade, InvalidSubmission, finite_numbers, read_table, rows_in_order

def _read(submission, expected):
    table = read_table(submission, ["id", "y"])
    order = rows_in_order(table["id"], expected)
    values = finite_numbers(table["y"], "y")
    return [values[row] for row in order]

def _column(path, name):
    return [row[name] for row in csv.DictReader(path.open())]

def check_format(submission: Path, public: Path) -> None:
    _read(submission, _column(public / "test.csv", "id"))

def grade(outputs: Path, private: Path) -> Grade:
    answers = private / "answers.csv"
    values = _read(outputs / "submission.csv", _column(answers, "id"))
    truth = [float(value) for value in _column(answers, "y")]
    return Grade(sum(abs(a - b) for a, b in zip(values, truth)) / len(truth))
"""

PREPARE = """
def prepare(raw, public, private, rng):
    raise NotImplementedError
"""

HOLD_OUT = """

def hold_out(public, held_public, held_private, rng):
    header, *rows = (public / "train.csv").read_text().splitlines()
    (held_public / "train.csv").write_text("\\n".join([header, *rows[:-2]]) + "\\n")
    (held_public / "test.csv").write_text((public / "test.csv").read_text())
    (held_public / "validation").mkdir()
    ids = [row.split(",")[0] for row in rows[-2:]]
    (held_public / "validation" / "test.csv").write_text("\\n".join(["id", *ids]) + "\\n")
    (held_private / "answers.csv").write_text("\\n".join([header, *rows[-2:]]) + "\\n")
"""

OpenEnvironment = Callable[..., AbstractAsyncContextManager[Environment]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def python_env(tmp_path_factory: pytest.TempPathFactory) -> PythonEnv:
    directory = tmp_path_factory.mktemp("python") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    return PythonEnv(
        directory=directory, hash="0", python_version=platform.python_version(), packages={}
    )


@pytest.fixture
def task(tmp_path: Path) -> Task:
    folder = tmp_path / "small-task"
    files = {
        "task.toml": TASK_TOML,
        "problem.md": "Predict y.",
        "prepare.py": PREPARE,
        "mini.py": "",
        "trivial.py": "",
        "grade.py": GRADE,
        "starter/train.py": TRAIN,
        "starter/fixed.py": "LIMIT = 1\n",
        "starter/notes/ideas.txt": "none yet\n",
        "solution/train.py": TRAIN,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return load_folder(folder)


@pytest.fixture
def data(tmp_path: Path) -> PreparedData:
    directory = tmp_path / "data"
    for name, text in {
        "public/train.csv": "id,y\n1,1\n2,2\n3,3\n4,4\n",
        "public/test.csv": "id\n5\n6\n",
        "public/images/one.txt": "1\n",
        "private/answers.csv": "id,y\n5,5\n6,6\n",
    }.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return PreparedData(
        directory=directory,
        tier="mini",
        hash="da7a" * 16,
        recipe="0",
        verified=True,
        files=4,
        bytes=1,
        created="",
    )


@pytest.fixture
def open_environment(
    tmp_path: Path, task: Task, data: PreparedData, python_env: PythonEnv
) -> OpenEnvironment:
    """Opens the one run of this test, again and again if need be."""

    @asynccontextmanager
    async def opened(
        limits: BudgetLimits | None = None, feedback: Feedback | None = None
    ) -> AsyncIterator[Environment]:
        run = RunDirectory(tmp_path / "out", Path("runs/small-task/mini/test-0/none/1"))
        sandbox = BubblewrapSandbox(sandbox_spec(task, run, data, python_env, 7, feedback))
        environment = Environment(
            task,
            run,
            sandbox,
            Budget(limits or BudgetLimits(steps=40, time=600.0)),
            data,
            python_env,
            call_task,
            feedback=feedback,
        )
        with run.locked():
            environment.start()
            async with sandbox:
                try:
                    yield environment
                finally:
                    await environment.close()

    return opened
