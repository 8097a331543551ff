"""A container that does not start leaves nothing open and nothing on the disk."""

import asyncio
import os
import socket
import sys
import tempfile
from pathlib import Path

import pytest

from mlagentbench.errors import RunFailed
from mlagentbench.sandbox.base import SandboxSpec
from mlagentbench.sandbox.docker import container as container_module
from mlagentbench.sandbox.docker.container import Container
from mlagentbench.sandbox.docker.container_engine import ContainerEngine
from mlagentbench.sandbox.docker.images import TaskImage

IMAGE = TaskImage(tag="mlagentbench-env:x", base="sha256:base")
CONNECTS = f"""#!{sys.executable} -IS
import os, socket, sys, time
from pathlib import Path
if sys.argv[1] == "run":
    mount = next(word for word in sys.argv if "dst=/run/control" in word)
    source = next(part[4:] for part in mount.split(",") if part.startswith("src="))
    connection = socket.socket(socket.AF_UNIX)
    os.chdir(Path(source).parent)
    connection.connect(Path(source).name)
    connection.send(b"SAYS")
    if os.fork() == 0:
        os.close(1)
        os.close(2)
        time.sleep(3)
"""
"""An engine whose container is a process that connects like an executor."""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for temporary files whose path is longer than the address of a socket."""
    directory = tmp_path / ("long" * 30)
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def failing_engine(directory: Path, says: str) -> ContainerEngine:
    program = directory / "docker"
    program.write_text(CONNECTS.replace("SAYS", says))
    program.chmod(0o755)
    return ContainerEngine(program=str(program))


def start(engine: ContainerEngine, workspace: Path) -> tuple[str, set[str]]:
    """Why a container did not start, and the targets of descriptors that are left."""

    async def run() -> tuple[str, set[str]]:
        await asyncio.create_subprocess_exec("true")  # which makes asyncio open what it keeps
        before = descriptors()
        spec = SandboxSpec(workspace=workspace, python_env=workspace)
        with pytest.raises(RunFailed) as failed:
            await Container.start(engine, IMAGE, spec, None)
        return str(failed.value), descriptors() - before

    return asyncio.run(run())


def descriptors() -> set[str]:
    found = set()
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        try:
            found.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")  # noqa: PTH115
        except FileNotFoundError:
            continue
    return found


def test_an_executor_that_is_not_ready(tmp_path: Path, temporary: Path) -> None:
    reason, left = start(failing_engine(tmp_path, "what?"), tmp_path)
    assert "ended while starting" in reason
    assert (left, list(temporary.iterdir())) == (set(), [])


def test_a_container_that_cannot_be_looked_into(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_executor: int) -> None:
        raise FileNotFoundError("its control group")

    monkeypatch.setattr(container_module, "ContainerView", fails)
    reason, left = start(failing_engine(tmp_path, "ready"), tmp_path)
    assert "cannot look into" in reason
    assert (left, list(temporary.iterdir())) == (set(), [])


def test_files_that_cannot_be_written(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_listener: socket.socket, _path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container_module, "_bind", fails)
    reason, left = start(failing_engine(tmp_path, "ready"), tmp_path)
    assert f"cannot write a container's files to {temporary}" in reason
    assert (left, list(temporary.iterdir())) == (set(), [])
