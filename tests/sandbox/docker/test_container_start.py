"""A container that does not start leaves nothing open and nothing on the disk."""

import asyncio
import os
import re
import socket
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from real_engines import wait_for

from mlagentbench.errors import RunFailed
from mlagentbench.sandbox.base import SandboxSpec
from mlagentbench.sandbox.docker import container as container_module
from mlagentbench.sandbox.docker import container_engine
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
HANGS = """#!/bin/sh
case "$1" in
HANGING)
    echo $$ >>"$(dirname "$0")/processes"
    exec sleep 60 ;;
esac
"""
"""An engine that does not answer some commands."""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for temporary files whose path is longer than the address of a socket."""
    directory = tmp_path / ("long" * 30)
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def failing_engine(directory: Path, says: str) -> ContainerEngine:
    return make_engine(directory, CONNECTS.replace("SAYS", says))


def make_engine(directory: Path, script: str) -> ContainerEngine:
    program = directory / "docker"
    program.write_text(script)
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


@pytest.mark.parametrize(
    ("hanging", "expected"),
    [
        ("run", "container .* did not start in time"),
        ("run | rm", "cannot remove container .*: docker does not answer"),
    ],
)
def test_an_engine_that_hangs(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, hanging: str, expected: str
) -> None:
    monkeypatch.setattr(container_module, "START_TIMEOUT", 0.5)
    monkeypatch.setattr(container_engine, "_QUICK", 0.5)
    children = set(psutil.Process().children())
    began = time.monotonic()
    reason, left = start(make_engine(tmp_path, HANGS.replace("HANGING", hanging)), tmp_path)
    assert re.search(expected, reason)
    assert time.monotonic() - began < 20
    assert (left, list(temporary.iterdir())) == (set(), [])
    processes = [int(pid) for pid in (tmp_path / "processes").read_text().split()]
    assert len(processes) == len(hanging.split("|"))
    wait_for("its processes are gone", lambda: not any(map(is_running, processes)), 10)
    assert set(psutil.Process().children()) <= children


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_files_that_cannot_be_written(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_listener: socket.socket, _path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container_module, "_bind", fails)
    reason, left = start(failing_engine(tmp_path, "ready"), tmp_path)
    assert f"cannot write a container's files to {temporary}" in reason
    assert (left, list(temporary.iterdir())) == (set(), [])
