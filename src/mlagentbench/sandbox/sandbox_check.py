"""`mlagentbench doctor --sandbox`: does a sandbox enforce the required isolation here?"""

import asyncio
import sys
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import scratch_directory
from mlagentbench.sandbox.base import SandboxSpec
from mlagentbench.sandbox.bwrap.sandbox import BubblewrapSandbox
from mlagentbench.sandbox.conformance import ConformanceResult, check_sandbox
from mlagentbench.sandbox.inspect_adapter import InspectSandbox


def check_bubblewrap() -> list[ConformanceResult]:
    """Test every guarantee of the contract in a fresh bubblewrap."""
    return asyncio.run(_check_bubblewrap())


async def _check_bubblewrap() -> list[ConformanceResult]:
    with scratch_directory("check") as directory:
        spec = SandboxSpec(workspace=directory, python_env=Path(sys.base_prefix))
        async with BubblewrapSandbox(spec) as sandbox:
            return await check_sandbox(sandbox)


def check_inspect_provider(provider: str) -> list[ConformanceResult]:
    """Test a sandbox provider of Inspect, within a sample."""
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.util import sandbox

    results: list[ConformanceResult] = []

    @solver
    def try_sandbox() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
            results.extend(await check_sandbox(InspectSandbox(sandbox())))
            return state

        return solve

    task = inspect_ai.Task(dataset=[Sample(input="-")], solver=try_sandbox(), sandbox=provider)
    with scratch_directory("check") as logs:
        try:
            [log] = inspect_ai.eval(task, model="none", display="none", log_dir=str(logs))
        except Exception as error:
            raise UsageError(f"no sandbox {provider!r} on this machine: {error}") from error
    if log.status != "success":
        reason = log.error.message if log.error else log.status
        raise UsageError(f"no sandbox {provider!r} on this machine: {reason}")
    return results
