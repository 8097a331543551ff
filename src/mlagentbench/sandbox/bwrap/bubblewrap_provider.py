"""bubblewrap as the sandbox of runs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlagentbench.sandbox.sandbox_provider import RunSandbox, SandboxProvider

if TYPE_CHECKING:
    from mlagentbench.runs.directory import RunDirectory
    from mlagentbench.sandbox.base import LoopbackServer, SandboxSpec
    from mlagentbench.sandbox.conformance import ConformanceResult


@dataclass(frozen=True)
class BubblewrapProvider(SandboxProvider):
    """Namespaces, a uid and limits of their own for each run."""

    def for_run(
        self, run: "RunDirectory", spec: "SandboxSpec", server: "LoopbackServer | None" = None
    ) -> RunSandbox:
        from mlagentbench.sandbox.bwrap.run_sandbox import BubblewrapRunSandbox

        return BubblewrapRunSandbox(run, spec, server)

    def isolation(self) -> str:
        from mlagentbench.sandbox.bwrap.prerequisites import isolation

        return isolation()

    def require(self) -> None:
        from mlagentbench.sandbox.bwrap.prerequisites import find_bwrap

        find_bwrap()

    def kill_leftover(self, written: bytes) -> None:
        from mlagentbench.sandbox.base import Identity
        from mlagentbench.sandbox.bwrap.guardian_client import kill_if_alive

        kill_if_alive(Identity.model_validate_json(written))

    def check(self) -> "list[ConformanceResult]":
        from mlagentbench.sandbox.sandbox_check import check_bubblewrap

        return check_bubblewrap()


BUBBLEWRAP = BubblewrapProvider(
    name="bubblewrap",
    description="isolated by namespaces, the default",
    inspect_provider="bubblewrap",
    serves_loopback=True,
    runs_agents=True,
    needs_mark=False,
)
