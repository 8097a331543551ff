"""Homes that tests share, so that python environments are built once."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlagentbench.task_checks.leak_probe import REQUIREMENTS
from mlagentbench.tasks.python_env.env import PythonEnv, ensure_python_env
from mlagentbench.tasks.task import load_task


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("shared-home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLAGENTBENCH_HOME", str(home))
        asyncio.run(ensure_python_env(REQUIREMENTS, announce=print))
    yield home


@pytest.fixture
def with_shared_home(shared_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(shared_home))
    return shared_home


@pytest.fixture
def python_env(with_shared_home: Path) -> PythonEnv:
    return asyncio.run(ensure_python_env(REQUIREMENTS, announce=print))


@pytest.fixture(scope="session")
def kept_home() -> Path:
    """Kept beside the interpreter, so that a second round of tests finds it filled."""
    return Path(sys.prefix) / "test-home"


@pytest.fixture(scope="session")
def torch_env(kept_home: Path) -> PythonEnv:
    """The python environment that all torch tasks share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLAGENTBENCH_HOME", str(kept_home))
        requirements = load_task("cifar10").spec.python.requirements
        return asyncio.run(ensure_python_env(requirements, announce=print))
