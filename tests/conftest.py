"""Homes that tests share, so that python environments are built once, and the order of files."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mlagentbench.grading.timed_grading import TIME_ANYWAY
from mlagentbench.machine.ledger import VARIABLE as SLOTS
from mlagentbench.task_checks.leak_probe import REQUIREMENTS
from mlagentbench.tasks.python_env.env import PythonEnv, ensure_python_env
from mlagentbench.tasks.task import load_task

TESTS = Path(__file__).parent
LONGEST_FIRST = (
    "launch/engines/test_slurm.py",
    "end_to_end/test_check_all.py",
    "launch/engines/test_clusters.py",
    "grading/test_timed_grading.py",
    "end_to_end/test_run.py",
    "end_to_end/test_killed_harness.py",
    "end_to_end/test_demo.py",
    "sandbox/bwrap/test_ordinary_user.py",
    "tasks/suite/test_fuzzed_graders.py",
    "tasks/python_env/test_env.py",
    "launch/engines/test_ray.py",
)
"""So that no long file begins when the other process has nothing left to do."""


def pytest_configure() -> None:
    """A shell ignores SIGINT for what it starts in the background, and children inherit that.

    Tests that run at the same time keep the machine busy, which must not delay timed grading.
    """
    os.environ[TIME_ANYWAY] = "1"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {TESTS / name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture(scope="session", autouse=True)
def own_slots() -> Iterator[None]:
    """Slots of its own for each process of the tests, so that none waits for the others."""
    with (
        TemporaryDirectory(prefix="slots-of-tests-") as directory,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv(SLOTS, directory)
        yield


@pytest.fixture(scope="session")
def shared_home(kept_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data of its own for each process of the tests; the python environments are the kept ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLAGENTBENCH_HOME", str(kept_home))
        asyncio.run(ensure_python_env(REQUIREMENTS, announce=print))
    home = tmp_path_factory.mktemp("shared-home")
    for name in ("envs", "locks"):
        (home / name).symlink_to(kept_home / name)
    return home


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
