"""A home that tests share, so that its python environment (numpy, scikit-learn) is built once."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlagentbench.evaluation.probe import REQUIREMENTS
from mlagentbench.tasks.python_env import PythonEnv, ensure_python_env


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
