"""The sandbox of a run: started for it, attached to Inspect, and stopped with it."""

import shutil
from pathlib import Path
from typing import Protocol

from inspect_ai.util import sandbox as inspect_sandbox

from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.inspect_private import local_sandbox_directory
from mlagentbench.launch.request import SandboxName
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.sandbox.base import Identity, LoopbackServer, Sandbox, SandboxSpec
from mlagentbench.sandbox.bwrap.guardian_client import kill_if_alive
from mlagentbench.sandbox.bwrap.sandbox import BubblewrapSandbox
from mlagentbench.sandbox.inspect_adapter import InspectSandbox
from mlagentbench.sandbox.inspect_provider import BubblewrapSandboxEnvironment


class RunSandbox(Protocol):
    """What a run needs of its sandbox."""

    @property
    def contract(self) -> Sandbox: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


def run_sandbox(
    name: SandboxName, run: RunDirectory, spec: SandboxSpec, server: LoopbackServer | None = None
) -> RunSandbox:
    """The sandbox of that name for a run, not started."""
    if name == "bubblewrap":
        return BubblewrapRunSandbox(run, spec, server)
    if server is not None:
        raise UsageError(
            f"--sandbox {name}: a task whose programs use a model needs --sandbox bubblewrap"
        )
    return LocalRunSandbox(run, spec)


def kill_leftover_sandbox(run: RunDirectory) -> None:
    """Kill a sandbox that a killed harness may have left behind."""
    with run.locked():
        if run.sandbox_json.is_file():
            kill_if_alive(Identity.model_validate_json(run.sandbox_json.read_bytes()))
            run.sandbox_json.unlink()


class BubblewrapRunSandbox:
    """A bubblewrap sandbox that Inspect's tools and bridges can use, too."""

    def __init__(
        self, run: RunDirectory, spec: SandboxSpec, server: LoopbackServer | None = None
    ) -> None:
        self.run = run
        self.contract = BubblewrapSandbox(spec, server)

    async def start(self) -> None:
        await self.contract.start()
        write_atomically(self.run.sandbox_json, self.contract.identity.model_dump_json().encode())
        await inspect_sandbox().as_type(BubblewrapSandboxEnvironment).attach(self.contract)

    async def stop(self) -> None:
        await self.contract.stop()
        self.run.sandbox_json.unlink(missing_ok=True)


class LocalRunSandbox:
    """Inspect's `local` sandbox in the run's directory, without isolation.

    What a sandbox would bind is copied, and protected only by the actions.
    """

    def __init__(self, run: RunDirectory, spec: SandboxSpec) -> None:
        self.run = run
        self.spec = spec
        self._environment = inspect_sandbox()
        variables = {"PATH": f"{spec.python_env / 'bin'}:/usr/local/bin:/usr/bin:/bin", **spec.env}
        self.contract = InspectSandbox(self._environment, "local", spec.limits, variables)

    async def start(self) -> None:
        for bind in self.spec.binds:
            target = self.run.work / Path(bind.target).name
            if bind.source.is_dir():
                shutil.copytree(bind.source, target, dirs_exist_ok=True)
            else:
                shutil.copyfile(bind.source, target)
        directory = self._directory()
        shutil.rmtree(directory)
        directory.symlink_to(self.run.work)

    async def stop(self) -> None:
        """Restore the empty directory that Inspect will remove."""
        directory = self._directory()
        if directory.is_symlink():
            directory.unlink()
            directory.mkdir()

    def _directory(self) -> Path:
        return local_sandbox_directory(self._environment)
