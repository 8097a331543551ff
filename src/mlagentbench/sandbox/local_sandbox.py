"""A run in Inspect's `local` sandbox."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from inspect_ai.util import sandbox as inspect_sandbox

from mlagentbench.inspect_private import local_sandbox_directory
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.sandbox.base import SandboxSpec
from mlagentbench.sandbox.inspect_adapter import InspectSandbox


class LocalRunSandbox:
    """Inspect's `local` sandbox in the run's directory, without isolation.

    What a sandbox would bind is copied, and protected only by the actions.
    """

    def __init__(self, run: RunDirectory, spec: SandboxSpec) -> None:
        self.run = run
        self.spec = spec
        self._environment = inspect_sandbox()
        path = f"{spec.python_env / 'bin'}:/usr/local/bin:/usr/bin:/bin"
        variables = {"PATH": path, **spec.slot_variables, **spec.env}
        self.contract = InspectSandbox(
            self._environment, spec.limits, variables, _on_cores(spec.cores)
        )

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


def _on_cores(cores: Sequence[int]) -> list[str]:
    """What starts a command on these cores, which it can leave again."""
    taskset = shutil.which("taskset") if cores else None
    return [] if taskset is None else [taskset, "--cpu-list", ",".join(map(str, cores))]
