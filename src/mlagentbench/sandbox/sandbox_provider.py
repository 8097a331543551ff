"""A provider of sandboxes for runs: what it offers, and how a run's sandbox is made and killed."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mlagentbench.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from mlagentbench.runs.directory import RunDirectory
    from mlagentbench.sandbox.base import LoopbackServer, Sandbox, SandboxSpec
    from mlagentbench.sandbox.conformance import ConformanceResult
    from mlagentbench.sandbox.executor.executor_sandbox import ExecutorSandbox
    from mlagentbench.tasks.python_env.env import PythonEnvs
    from mlagentbench.tasks.spec import ToolName


class RunSandbox(Protocol):
    """What a run needs of its sandbox."""

    @property
    def contract(self) -> "Sandbox": ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


@dataclass(frozen=True)
class SandboxProvider(ABC):
    """A row of SANDBOXES; its methods import what they need."""

    name: str
    """For --sandbox, and in what results disclose."""
    description: str
    """For help: "no isolation"."""
    inspect_provider: str
    """The provider of Inspect whose sandbox a sample gets."""
    serves_loopback: bool = False
    """Whether programs reach a server of the harness, which gives them a model."""
    runs_agents: bool = False
    """Whether in-sandbox agents can run in it, and reach their model."""
    runs_tasks: bool = False
    """Whether grading and the tasks' own functions run in it; otherwise they run in another."""
    withholds_commands: bool = False
    """Whether it can keep Inspect's tools and agents from running commands in it."""
    needs_mark: bool = True
    """Whether results say beside their numbers that they come from this sandbox."""

    @abstractmethod
    def for_run(
        self, run: "RunDirectory", spec: "SandboxSpec", server: "LoopbackServer | None" = None
    ) -> RunSandbox:
        """A run's sandbox, not started; `server` is None unless `serves_loopback`."""

    @abstractmethod
    def isolation(self) -> str:
        """How commands are isolated from the host, for disclosure; "none" if they are not."""

    def fresh(
        self, spec: "SandboxSpec", server: "LoopbackServer | None" = None
    ) -> "ExecutorSandbox":
        """A sandbox for grading or a function of a task, not started; only if `runs_tasks`."""
        raise NotImplementedError(self.name)

    async def without_packages(self, workspace: "Path") -> "ExecutorSandbox":
        """A sandbox with an interpreter and no packages, not started; only if `runs_tasks`."""
        raise NotImplementedError(self.name)

    def base_image(self, asked: str | None) -> str | None:
        """The image that virtual environments are added to; None if it uses none."""
        if asked is not None:
            raise UsageError(f"--image {asked}: --sandbox {self.name} uses no image")
        return None

    def python_envs(self, image: str | None) -> "PythonEnvs":  # noqa: ARG002
        """The virtual environments that can be used in it, on this base image."""
        from mlagentbench.tasks.python_env.env import HOST_ENVS

        return HOST_ENVS

    def visible_tools(
        self,
        asked: "tuple[ToolName, ...]",  # noqa: ARG002
    ) -> "tuple[ToolName, ...] | None":
        """The compilers and language runtimes that programs find, besides Python.

        None if it shows all that the machine has, whatever the task asked for.
        """
        return None

    def require_tools(self, asked: "Sequence[ToolName]", who: str) -> None:  # noqa: B027
        """Raise a UsageError if this machine lacks one of the tools that `who` asks for."""

    def require(self) -> None:  # noqa: B027
        """Raise a UsageError if this machine lacks something that the sandbox needs."""

    def kill_leftover(self, written: bytes) -> None:  # noqa: B027
        """Kill what a killed harness left behind; `written` is what it wrote to sandbox.json."""

    def check(self) -> "list[ConformanceResult]":
        """Test every guarantee of the contract in a fresh sandbox."""
        from mlagentbench.sandbox.sandbox_check import check_inspect_provider

        return check_inspect_provider(self.inspect_provider)
