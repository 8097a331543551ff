"""The one way to open a run: its services, sandbox and Environment, in this order.

Inspect's samples, replays and `Environment.open` all come through here.
"""

from collections.abc import Callable
from contextlib import AsyncExitStack

from anyio import to_thread

from mlagentbench.environment.environment import Environment
from mlagentbench.environment.run_context import RunContext
from mlagentbench.environment.run_setup import RunSetup
from mlagentbench.environment.workspace import sandbox_spec
from mlagentbench.program_services.services import serving
from mlagentbench.sandbox.base import LoopbackServer, SandboxSpec
from mlagentbench.sandbox.sandbox_provider import RunSandbox

MakeSandbox = Callable[[SandboxSpec, LoopbackServer | None], RunSandbox]


async def open_run(setup: RunSetup, make_sandbox: MakeSandbox) -> RunContext:
    """Start a run, or resume it from where its journal ends, and make it the current one.

    The caller holds the run, from before it is opened until after it is closed. If anything fails,
    all that was started before it is stopped.
    """
    async with AsyncExitStack() as resources:
        await resources.enter_async_context(serving(setup.services))
        spec = sandbox_spec(
            setup.task, setup.run, setup.data, setup.python_env, setup.seed, setup.feedback
        )
        spec = spec.model_copy(update={"foreign_commands": setup.execution})
        sandbox = make_sandbox(spec, setup.services)
        environment = Environment(setup, sandbox.contract)
        resources.push_async_callback(sandbox.stop)
        resources.push_async_callback(environment.close)
        await to_thread.run_sync(environment.start)  # it waits for the disk
        await sandbox.start()
        return RunContext(setup, environment, resources.pop_all()).publish()
