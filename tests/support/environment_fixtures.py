"""What the tests of the Environment share: a task, its data, a python env, and runs on them."""

import platform
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from small_task import OpenRun, open_run, small_data, small_task

from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task


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


@pytest.fixture(scope="session")
def numpy_env(tmp_path_factory: pytest.TempPathFactory) -> PythonEnv:
    """One with the numpy of these tests in it: functions of a task get their rng from numpy."""
    import numpy

    directory = tmp_path_factory.mktemp("python") / "numpy-env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    installed = Path(numpy.__file__).parents[1]
    [packages] = directory.glob("lib/python*/site-packages")
    for name in ("numpy", "numpy.libs"):
        if (installed / name).is_dir():
            ignored = shutil.ignore_patterns("tests", "__pycache__")
            shutil.copytree(installed / name, packages / name, ignore=ignored)
    return PythonEnv(
        directory=directory, hash="1", python_version=platform.python_version(), packages={}
    )


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return small_task(tmp_path)


@pytest.fixture
def data(tmp_path: Path) -> PreparedData:
    return small_data(tmp_path)


@pytest.fixture
def open_environment(tmp_path: Path, task: Task, python_env: PythonEnv) -> OpenRun:
    """Opens the one run of this test, again and again if need be."""
    return partial(open_run, tmp_path, python_env)
