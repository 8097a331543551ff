"""Removing containers, with programs that answer like an engine."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from mlagentbench.errors import RunFailed
from mlagentbench.sandbox.docker import container_engine
from mlagentbench.sandbox.docker.container import LeftContainer
from mlagentbench.sandbox.docker.container_engine import ContainerEngine
from mlagentbench.sandbox.docker.docker_provider import DOCKER

BUSY = """#!/bin/sh
here=$(dirname "$0")
echo "$1" >>"$here/asked"
case "$1" in
rm) echo "Error response from daemon: removal of container c is already in progress" >&2; exit 1 ;;
container) test "$(wc -l <"$here/asked")" -lt GONE ;;
esac
"""
LISTS = """#!/bin/sh
here=$(dirname "$0")
case "$1" in
ps) echo "$@" >"$here/asked"; cat "$here/containers" ;;
*) echo "$@" >>"$here/removed" ;;
esac
"""


def make_engine(directory: Path, script: str) -> ContainerEngine:
    program = directory / "docker"
    program.write_text(script)
    program.chmod(0o755)
    return ContainerEngine(program=str(program))


def busy_engine(directory: Path, gone: int) -> ContainerEngine:
    """An engine that is removing a container, which is gone at the call of this number."""
    return make_engine(directory, BUSY.replace("GONE", str(gone)))


def test_a_container_that_the_engine_is_removing_is_waited_for(tmp_path: Path) -> None:
    busy_engine(tmp_path, 4).remove_container("c")
    asked = (tmp_path / "asked").read_text().split()
    assert asked == ["rm", "container", "container", "container"]


def test_waiting_for_a_removal_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_engine, "_REMOVAL", 0.2)
    with pytest.raises(RunFailed, match=r"cannot remove container c: .*already in progress"):
        busy_engine(tmp_path, 10_000).remove_container("c")


def test_leftovers_are_those_whose_harness_is_gone(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = f"mlagentbench-{ended.pid}-0123abcd"
    names = (
        *(f"mlagentbench-{os.getpid()}-0123abcd", left, f"mlagentbench-{ended.pid}"),
        *(f"mlagentbench-build-{ended.pid}", "mlagentbench--0123abcd", f"x-{left}", "database"),
    )
    (tmp_path / "containers").write_text("".join(f"{name}\n" for name in names))
    make_engine(tmp_path, LISTS).remove_leftovers()
    asked = (tmp_path / "asked").read_text()
    assert "--filter label=mlagentbench " in asked and "status=running" not in asked
    assert (tmp_path / "removed").read_text() == f"rm --force --volumes {left}\n"


@pytest.mark.parametrize("name", ["database", "--link", "mlagentbench-1-0123abcd x", "a\n", ""])
def test_only_containers_of_ours_are_removed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's run directory may name anything."""
    monkeypatch.setenv("MLAGENTBENCH_CONTAINER_ENGINE", "false")
    with pytest.raises(RunFailed, match="does not name a container of MLAgentBench"):
        DOCKER.kill_leftover(json.dumps({"container": name}).encode())
    ours = "mlagentbench-1-0123abcd"
    assert LeftContainer.read(json.dumps({"container": ours}).encode()).container == ours
