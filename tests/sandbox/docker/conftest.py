"""A Docker engine for all tests of a process, and a home that keeps what they download."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from docker_engine import DockerEngine, docker_engine


@pytest.fixture(scope="session")
def running_engine(kept_home: Path) -> Iterator[DockerEngine]:
    with docker_engine(kept_home / "docker-base.tar") as engine:
        yield engine


@pytest.fixture(scope="session")
def docker_home(kept_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data and images of its own; wheels and virtual environments are the kept ones."""
    home = tmp_path_factory.mktemp("docker-home")
    for name in ("envs", "wheels"):
        (kept_home / name).mkdir(parents=True, exist_ok=True)
        (home / name).symlink_to(kept_home / name)
    return home


@pytest.fixture
def engine(
    running_engine: DockerEngine, docker_home: Path, monkeypatch: pytest.MonkeyPatch
) -> DockerEngine:
    """The engine, which this process uses during the test."""
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(docker_home))
    for name, value in running_engine.variables.items():
        monkeypatch.setenv(name, value)
    return running_engine
