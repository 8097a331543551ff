"""Inspect's `local` sandbox for runs: commands run as the user, without isolation."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlagentbench.sandbox.sandbox_provider import RunSandbox, SandboxProvider

if TYPE_CHECKING:
    from mlagentbench.runs.directory import RunDirectory
    from mlagentbench.sandbox.base import LoopbackServer, SandboxSpec


@dataclass(frozen=True)
class LocalProvider(SandboxProvider):
    """Only for tasks and agents that are trusted."""

    def for_run(
        self,
        run: "RunDirectory",
        spec: "SandboxSpec",
        server: "LoopbackServer | None" = None,  # noqa: ARG002
    ) -> RunSandbox:
        from mlagentbench.sandbox.local_sandbox import LocalRunSandbox

        return LocalRunSandbox(run, spec)

    def isolation(self) -> str:
        return "none"


LOCAL = LocalProvider(name="local", description="no isolation", inspect_provider="local")
