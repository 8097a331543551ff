"""The sandbox of a run: attached to Inspect, and stopped with the run."""

from inspect_ai.util import sandbox as inspect_sandbox

from mlagentbench.fs import write_atomically
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.sandbox.executor.executor_sandbox import ExecutorSandbox
from mlagentbench.sandbox.inspect_provider import ExecutorSandboxEnvironment


class ExecutorRunSandbox:
    """A sandbox that Inspect's tools and bridges can use, too."""

    def __init__(self, run: RunDirectory, sandbox: ExecutorSandbox) -> None:
        self.run = run
        self.contract = sandbox

    async def start(self) -> None:
        await self.contract.start()
        write_atomically(self.run.sandbox_json, self.contract.leftover.model_dump_json().encode())
        await inspect_sandbox().as_type(ExecutorSandboxEnvironment).attach(self.contract)

    async def stop(self) -> None:
        await self.contract.stop()
        if self.run.lease is None or not self.run.lease.is_lost:
            self.run.sandbox_json.unlink(missing_ok=True)
