"""Containers of docker or podman as the sandbox of runs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlagentbench.sandbox.sandbox_provider import RunSandbox, SandboxProvider

if TYPE_CHECKING:
    from pathlib import Path

    from mlagentbench.runs.directory import RunDirectory
    from mlagentbench.sandbox.base import LoopbackServer, SandboxSpec
    from mlagentbench.sandbox.conformance import ConformanceResult
    from mlagentbench.sandbox.docker.docker_sandbox import DockerSandbox
    from mlagentbench.tasks.python_env.env import PythonEnvs


@dataclass(frozen=True)
class DockerProvider(SandboxProvider):
    """A container for each run, of an image with the task's packages."""

    def for_run(
        self, run: "RunDirectory", spec: "SandboxSpec", server: "LoopbackServer | None" = None
    ) -> RunSandbox:
        from mlagentbench.sandbox.executor_run_sandbox import ExecutorRunSandbox

        return ExecutorRunSandbox(run, self.fresh(spec, server))

    def fresh(self, spec: "SandboxSpec", server: "LoopbackServer | None" = None) -> "DockerSandbox":
        from mlagentbench.sandbox.docker.docker_sandbox import DockerSandbox

        return DockerSandbox(spec, server)

    async def without_packages(self, workspace: "Path") -> "DockerSandbox":
        from mlagentbench.sandbox.base import SandboxSpec

        env = await self.python_envs(None).ensure((), announce=lambda _text: None)
        return self.fresh(SandboxSpec(workspace=workspace, python_env=env.directory))

    def base_image(self, asked: str | None) -> str:
        from mlagentbench.sandbox.docker.images import base_image

        return base_image(asked)

    def python_envs(self, image: str | None) -> "PythonEnvs":
        from mlagentbench.sandbox.docker.container_engine import find_engine
        from mlagentbench.sandbox.docker.images import ImageEnvs

        return ImageEnvs(find_engine(), self.base_image(image), self.name)

    def isolation(self) -> str:
        from mlagentbench.sandbox.docker.container_engine import find_engine

        return f"container of {find_engine().version}"

    def require(self) -> None:
        from mlagentbench.sandbox.docker.container_engine import find_engine
        from mlagentbench.sandbox.linux_only import require_linux

        require_linux()
        self.isolation()
        find_engine().remove_leftovers()

    def kill_leftover(self, written: bytes) -> None:
        from mlagentbench.sandbox.docker.container import LeftContainer
        from mlagentbench.sandbox.docker.container_engine import find_engine

        left = LeftContainer.read(written)
        find_engine().remove_container(left.container)

    def check(self) -> "list[ConformanceResult]":
        from mlagentbench.sandbox.sandbox_check import check_fresh

        self.require()
        return check_fresh(self)


DOCKER = DockerProvider(
    name="docker",
    description="containers, where bubblewrap cannot be used",
    inspect_provider="container",
    serves_loopback=True,
    runs_agents=True,
    runs_tasks=True,
    withholds_commands=True,
)
