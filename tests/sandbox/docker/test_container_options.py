"""What needs no engine: options, base images, wheels, and errors that say what to do."""

import os
from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.launch.request import SuiteRequest
from mlagentbench.machine.gpus import Gpu
from mlagentbench.sandbox.base import Bind, SandboxSpec
from mlagentbench.sandbox.docker import container
from mlagentbench.sandbox.docker.container_engine import ContainerEngine, find_engine
from mlagentbench.sandbox.docker.container_options import ContainerOptions
from mlagentbench.sandbox.docker.images import image_build
from mlagentbench.sandbox.docker.wheelhouse import BasePython
from mlagentbench.sandbox.sandbox_registry import default_sandbox, needs_mark, tasks_sandbox


def words(spec: SandboxSpec) -> list[str]:
    return ContainerOptions(spec, "name", 1000, 1000).words({})


def test_gpus_and_cores_are_those_of_the_slot(tmp_path: Path) -> None:
    gpus = tuple(Gpu(uuid=f"GPU-{n}", minor=n, name="A") for n in (0, 1))
    said = words(SandboxSpec(workspace=tmp_path, python_env=tmp_path, gpus=gpus, cores=(2, 3)))
    assert said[said.index("--gpus") + 1] == '"device=GPU-0,GPU-1"'
    assert said[said.index("--cpuset-cpus") + 1] == "2,3"
    assert "--gpus" not in words(SandboxSpec(workspace=tmp_path, python_env=tmp_path))


def test_any_path_can_be_bound(tmp_path: Path) -> None:
    bind = Bind(source=Path("/a,b:c"), target="/workspace/d")
    said = words(SandboxSpec(workspace=tmp_path, python_env=tmp_path, binds=(bind,)))
    assert 'type=bind,"src=/a,b:c",dst=/workspace/d,readonly' in said


def test_the_helper_is_found_at_any_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "NOEXEC_PROGRAM", Path("/a,b/program.py"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    said = container._helper(ContainerEngine(program="docker"), "base")
    assert said is not None
    mount = said[said.index("--mount") + 1]
    assert mount == 'type=bind,"src=/a,b/program.py",dst=/run/program.py,readonly'
    assert said[-1] == "/run/program.py"


def test_wheels_are_those_of_the_image(tmp_path: Path) -> None:
    python = BasePython(version="3.12.4", machine="aarch64", libc="glibc 2.28", has_pip=True)
    platforms = python.platforms()
    assert platforms[0] == "manylinux_2_28_aarch64" and platforms[-1] == "linux_aarch64"
    assert "manylinux2014_aarch64" in platforms and "manylinux_2_29_aarch64" not in platforms
    options = python.download_options()
    assert options[options.index("--python-version") + 1] == "3.12"
    assert "cp312" in options and ":all:" in options
    with pytest.raises(UsageError, match="has no glibc"):
        python.model_copy(update={"libc": ""}).platforms()


def test_the_engine_of_another_machine_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("MLAGENTBENCH_CONTAINER_ENGINE", str(program))
    monkeypatch.setenv("DOCKER_HOST", "tcp://example.invalid:2375")
    with pytest.raises(UsageError, match="is the engine of another machine"):
        find_engine()
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/docker.sock")
    assert find_engine().name == "docker"
    monkeypatch.setenv("MLAGENTBENCH_CONTAINER_ENGINE", "no-such-engine")
    with pytest.raises(UsageError, match=r"no-such-engine: no such program; install one of them"):
        find_engine()


def test_an_engine_that_does_not_run_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\necho 'Cannot connect' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("MLAGENTBENCH_CONTAINER_ENGINE", str(program))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    with pytest.raises(UsageError, match=r"docker finds no engine \(Cannot connect\); start it"):
        tasks_sandbox("docker").require()


def test_an_image_is_part_of_what_a_run_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def image(**options: str) -> str | None:
        request = SuiteRequest.read(tasks="house-price", agents="nop", out=tmp_path, **options)
        return request.settings.image

    monkeypatch.delenv("MLAGENTBENCH_IMAGE", raising=False)
    assert image() is None
    assert image(sandbox="docker") == "python:3.11-slim"
    assert image(sandbox="docker", image="mine:1") == "mine:1"
    with pytest.raises(UsageError, match="--image mine: --sandbox bubblewrap uses no image"):
        image(image="mine")
    monkeypatch.setenv("MLAGENTBENCH_IMAGE", "other")
    assert (image(), image(sandbox="docker")) == (None, "other")
    monkeypatch.setenv("MLAGENTBENCH_IMAGE_BUILD", "magic")
    with pytest.raises(UsageError, match="expected network or wheelhouse"):
        image_build()


def test_where_tasks_run(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("docker", "bubblewrap", "local", "of a package that is gone")
    found = [tasks_sandbox(name).name for name in names]
    assert found == ["docker", "bubblewrap", "bubblewrap", "bubblewrap"]
    assert needs_mark("docker")
    monkeypatch.setenv("MLAGENTBENCH_SANDBOX", "docker")
    assert default_sandbox() == "docker"
    monkeypatch.setenv("MLAGENTBENCH_SANDBOX", "dockr")
    with pytest.raises(UsageError, match="did you mean docker"):
        default_sandbox()
