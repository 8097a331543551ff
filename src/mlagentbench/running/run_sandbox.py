"""The sandbox of a run: started for it, known to Inspect, and ended with it."""

from inspect_ai.util import sandbox as inspect_sandbox

from mlagentbench.environment.run_directory import RunDirectory
from mlagentbench.environment.sandbox.bubblewrap import BubblewrapSandbox
from mlagentbench.environment.sandbox.guardian_client import kill_if_alive
from mlagentbench.environment.sandbox.inspect_provider import BubblewrapSandboxEnvironment
from mlagentbench.environment.sandbox.sandbox import Identity, SandboxSpec
from mlagentbench.files import write_atomically


class RunSandbox:
    """A bubblewrap sandbox that Inspect's own tools and bridges reach, too."""

    def __init__(self, run: RunDirectory, spec: SandboxSpec) -> None:
        self.run = run
        self.contract = BubblewrapSandbox(spec)

    async def start(self) -> None:
        """Start it; what a killed harness may have left of an earlier one is ended first."""
        if self.run.sandbox_json.is_file():
            kill_if_alive(Identity.model_validate_json(self.run.sandbox_json.read_bytes()))
        await self.contract.start()
        write_atomically(self.run.sandbox_json, self.contract.identity.model_dump_json().encode())
        await inspect_sandbox().as_type(BubblewrapSandboxEnvironment).attach(self.contract)

    async def stop(self) -> None:
        await self.contract.stop()
        self.run.sandbox_json.unlink(missing_ok=True)
