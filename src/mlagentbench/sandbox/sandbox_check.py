"""`mlagentbench doctor --sandbox`: does a sandbox enforce the required isolation here?"""

import asyncio

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import scratch_directory
from mlagentbench.sandbox.conformance import ConformanceResult, check_sandbox
from mlagentbench.sandbox.inspect_adapter import InspectSandbox
from mlagentbench.sandbox.sandbox_provider import SandboxProvider

_ATTEMPTS = """
import mmap, os, pathlib, subprocess

def map_file(place):
    file = pathlib.Path(place, "code")
    file.write_bytes(bytes(mmap.PAGESIZE))
    with file.open("rb") as opened:
        mmap.mmap(opened.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)

attempts = {
    "starting a program": lambda: subprocess.run(["true"]),
    "executable memory": lambda: mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_EXEC),
    "writing to the workspace": lambda: pathlib.Path("new").touch(),
    "writing to /proc": lambda: os.open("/proc/self/mem", os.O_WRONLY),
}
for place in ("/tmp", "/var/tmp", "/dev/shm", pathlib.Path.home()):
    attempts[f"executing a file in {place}"] = lambda place=place: map_file(place)
for name, attempt in attempts.items():
    try:
        attempt()
    except OSError:
        continue
    print(name, "is possible")
"""


def check_fresh(provider: SandboxProvider) -> list[ConformanceResult]:
    """Test every guarantee of the contract in fresh sandboxes."""
    return asyncio.run(_check_fresh(provider))


async def _check_fresh(provider: SandboxProvider) -> list[ConformanceResult]:
    with scratch_directory("check") as directory:
        async with await provider.without_packages(directory) as sandbox:
            results = await check_sandbox(sandbox)
    return [*results, await check_machine_code(provider)]


async def check_machine_code(provider: SandboxProvider) -> ConformanceResult:
    """Test whether submissions can be kept from executing code of their own."""
    name = "submitted programs execute only installed machine code"
    with scratch_directory("check") as directory:
        (directory / "attempts.py").write_text(_ATTEMPTS, encoding="utf-8")
        spec = (await provider.without_packages(directory)).spec
        restricted = spec.model_copy(update={"machine_code": "installed"})
        try:
            async with provider.fresh(restricted) as sandbox:
                result = await sandbox.run(["python3", "attempts.py"])
        except RunFailed as error:
            return ConformanceResult(name=name, ok=False, problem=str(error))
    held = result.exit_code == 0 and not result.output
    return ConformanceResult(name=name, ok=held, problem=result.output.strip())


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
