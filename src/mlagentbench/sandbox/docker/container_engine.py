"""The container engine, by its command line: docker, or podman, which has the same options."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.records import Record
from mlagentbench.tasks.subprocesses import FinishedCommand, run_command

ENGINE = "MLAGENTBENCH_CONTAINER_ENGINE"
"""The environment variable that names the program of the engine."""
LABEL = "mlagentbench"
"""What all our containers are labelled with; images have their facts in labels below it."""
CONTAINER_NAME = rf"{LABEL}-([0-9]+)-[0-9a-f]{{8}}"
"""The names of containers that are sandboxes; the number is the process of their harness."""
_ENGINES = ("docker", "podman")
_ADDRESSES = ("DOCKER_HOST", "CONTAINER_HOST")
_QUICK = 30.0
_REMOVAL = 20.0
"""Seconds within which an engine has removed a container that has ended."""
_PAUSE = 0.1


class ContainerEngine(Record):
    """The program of an engine; whether it answers is known when it is asked."""

    program: str

    @property
    def name(self) -> str:
        return Path(self.program).name

    async def run(self, *arguments: str, lock: int | None = None) -> FinishedCommand:
        """Run a command of the engine to its end."""
        return await run_command([self.program, *arguments], lock=lock)

    async def need(self, *arguments: str, lock: int | None = None) -> str:
        """What a command prints; RunFailed if it fails."""
        done = await self.run(*arguments, lock=lock)
        self.require_success(arguments[0], done)
        return done.stdout.strip()

    def require_success(self, command: str, done: FinishedCommand) -> None:
        """RunFailed if this command of the engine has failed."""
        if done.exit_code:
            raise RunFailed("sandbox", f"{self.name} {command} failed: {done.last_lines(3)}")

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command that takes no time, where there is no event loop."""
        command = [self.program, *arguments]
        try:
            return subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_QUICK,
            )
        except subprocess.TimeoutExpired:
            raise UsageError(f"{self.name} does not answer; is the engine in order?") from None

    def remove_container(self, name: str) -> None:
        """Kill and remove a container with its anonymous volumes, if it is still there."""
        try:
            done = self.ask("rm", "--force", "--volumes", name)
        except UsageError as error:
            raise RunFailed("sandbox", f"cannot remove container {name}: {error}") from error
        said = done.stderr.lower()
        if not done.returncode or "no such container" in said:
            return
        if "already in progress" not in said or not self._is_gone_soon(name):
            raise RunFailed("sandbox", f"cannot remove container {name}: {done.stderr.strip()}")

    def _is_gone_soon(self, name: str) -> bool:
        """Wait for a container that the engine itself is removing."""
        deadline = time.monotonic() + _REMOVAL
        while not self.ask("container", "inspect", name).returncode:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE)
        return True

    def remove_leftovers(self) -> None:
        """Remove containers that do not run and whose harness is gone."""
        which = [f"status={state}" for state in ("created", "exited", "dead")]
        filters = [word for one in (f"label={LABEL}", *which) for word in ("--filter", one)]
        for name in self.ask("ps", "--all", *filters, "--format", "{{.Names}}").stdout.split():
            found = re.fullmatch(CONTAINER_NAME, name)
            if found is not None and not Path("/proc", found[1]).exists():
                self.remove_container(name)

    @property
    def version(self) -> str:
        """Name and version of the engine, such as "docker 28.2.2"; a UsageError if none answers."""
        return _version(self.program, tuple(os.environ.get(name) for name in _ADDRESSES))


@lru_cache(maxsize=8)
def _version(program: str, _addresses: Sequence[str | None]) -> str:
    engine = ContainerEngine(program=program)
    done = engine.ask("version", "--format", "{{.Server.Version}}")
    if done.returncode:
        said = (done.stderr or done.stdout).strip().rpartition("\n")[2]
        raise UsageError(
            f"--sandbox docker: {engine.name} finds no engine ({said}); start it (systemctl start "
            f"docker), let your user use it (usermod -aG docker $USER), or set DOCKER_HOST"
        )
    return f"{engine.name} {done.stdout.strip()}"


def find_engine() -> ContainerEngine:
    """The engine of this machine; a UsageError if there is none, or if it is another machine's."""
    asked = os.environ.get(ENGINE)
    found = next(filter(None, map(shutil.which, [asked] if asked else _ENGINES)), None)
    if found is None:
        where = f"{ENGINE}={asked}: no such program" if asked else "docker and podman not found"
        raise UsageError(
            f"--sandbox docker: {where}; install one of them, such as with: "
            "apt-get install docker.io"
        )
    for name in _ADDRESSES:
        address = os.environ.get(name, "")
        if address and not address.startswith("unix://"):
            raise UsageError(
                f"--sandbox docker: {name}={address} is the engine of another machine, which "
                "cannot see the workspace; run MLAgentBench on that machine, or unset it"
            )
    return ContainerEngine(program=found)
