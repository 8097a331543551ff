"""bubblewrap as the sandbox of runs."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlagentbench.sandbox.sandbox_provider import RunSandbox, SandboxProvider

if TYPE_CHECKING:
    from mlagentbench.runs.directory import RunDirectory
    from mlagentbench.sandbox.base import LoopbackServer, SandboxSpec
    from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox
    from mlagentbench.sandbox.conformance import ConformanceResult
    from mlagentbench.tasks.spec import ToolName


@dataclass(frozen=True)
class BubblewrapProvider(SandboxProvider):
    """Namespaces, a uid and limits of their own for each run."""

    def for_run(
        self, run: "RunDirectory", spec: "SandboxSpec", server: "LoopbackServer | None" = None
    ) -> RunSandbox:
        from mlagentbench.sandbox.executor_run_sandbox import ExecutorRunSandbox

        return ExecutorRunSandbox(run, self.fresh(spec, server))

    def fresh(
        self, spec: "SandboxSpec", server: "LoopbackServer | None" = None
    ) -> "BubblewrapSandbox":
        from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox

        return BubblewrapSandbox(spec, server)

    async def without_packages(self, workspace: Path) -> "BubblewrapSandbox":
        from mlagentbench.sandbox.base import SandboxSpec

        return self.fresh(SandboxSpec(workspace=workspace, python_env=Path(sys.base_prefix)))

    def isolation(self) -> str:
        from mlagentbench.sandbox.bwrap.prerequisites import isolation

        return isolation()

    def visible_tools(self, asked: "tuple[ToolName, ...]") -> "tuple[ToolName, ...]":
        return asked

    def require_tools(self, asked: "Sequence[ToolName]", who: str) -> None:
        from mlagentbench.sandbox.bwrap.visible.tools import require_tools

        require_tools(asked, who)

    def require(self) -> None:
        from mlagentbench.sandbox.bwrap.prerequisites import find_bwrap
        from mlagentbench.sandbox.bwrap.visible.tools import require_commands
        from mlagentbench.sandbox.linux_only import require_linux

        require_linux()
        find_bwrap()
        require_commands()

    def kill_leftover(self, written: bytes) -> None:
        from mlagentbench.sandbox.base import Identity
        from mlagentbench.sandbox.executor.guardian_client import kill_if_alive

        kill_if_alive(Identity.model_validate_json(written))

    def check(self) -> "list[ConformanceResult]":
        from mlagentbench.sandbox.sandbox_check import check_fresh

        return check_fresh(self)


BUBBLEWRAP = BubblewrapProvider(
    name="bubblewrap",
    description="isolated by namespaces, the default",
    inspect_provider="bubblewrap",
    serves_loopback=True,
    runs_agents=True,
    runs_tasks=True,
    withholds_commands=True,
    needs_mark=False,
)
