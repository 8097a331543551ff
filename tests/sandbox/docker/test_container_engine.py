"""Removing containers, with programs that answer like an engine."""

import json
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


def busy_engine(directory: Path, gone: int) -> ContainerEngine:
    """An engine that is removing a container, which is gone at the call of this number."""
    program = directory / "docker"
    program.write_text(BUSY.replace("GONE", str(gone)))
    program.chmod(0o755)
    return ContainerEngine(program=str(program))


def test_a_container_that_the_engine_is_removing_is_waited_for(tmp_path: Path) -> None:
    busy_engine(tmp_path, 4).remove_container("c")
    asked = (tmp_path / "asked").read_text().split()
    assert asked == ["rm", "container", "container", "container"]


def test_waiting_for_a_removal_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_engine, "_REMOVAL", 0.2)
    with pytest.raises(RunFailed, match=r"cannot remove container c: .*already in progress"):
        busy_engine(tmp_path, 10_000).remove_container("c")


@pytest.mark.parametrize("name", ["database", "--link", "mlagentbench-1-0123abcd x", "a\n", ""])
def test_only_containers_of_ours_are_removed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's run directory may name anything."""
    monkeypatch.setenv("MLAGENTBENCH_CONTAINER_ENGINE", "false")
    with pytest.raises(RunFailed, match="does not name a container of MLAgentBench"):
        DOCKER.kill_leftover(json.dumps({"container": name}).encode())
    ours = "mlagentbench-1-0123abcd"
    assert LeftContainer.read(json.dumps({"container": ours}).encode()).container == ours
