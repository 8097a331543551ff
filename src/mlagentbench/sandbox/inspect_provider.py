"""Sandboxes with an executor as sandbox providers of Inspect.

`sample_init` returns a sandbox that is not started. An MLAgentBench run attaches its own. In other
Inspect tasks it starts at first use, with an empty temporary workspace and an interpreter without
packages.
"""

import asyncio
import errno
import math
import os
import tempfile
from pathlib import Path
from typing import Literal, overload

from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from typing_extensions import override

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import SCRATCH, make_scratch_directory, remove_tree
from mlagentbench.inspect_private import prerequisite_error
from mlagentbench.sandbox.base import WORKSPACE, CommandResult
from mlagentbench.sandbox.bwrap.bubblewrap_provider import BUBBLEWRAP
from mlagentbench.sandbox.docker.docker_provider import DOCKER
from mlagentbench.sandbox.executor.executor_sandbox import ExecutorSandbox
from mlagentbench.sandbox.files_only import NOT_ALLOWED, NOT_EXECUTED
from mlagentbench.sandbox.sandbox_registry import SANDBOXES

_USERS = (None, "agent", "1000")
_KILLED = 137


class ExecutorSandboxEnvironment(SandboxEnvironment):
    """A sandbox with an executor through Inspect's contract."""

    provider: str
    """The name of its provider in SANDBOXES."""

    def __init__(self) -> None:
        super().__init__()
        self._sandbox: ExecutorSandbox | None = None
        self._temporary: Path | None = None
        self._starting = asyncio.Lock()

    async def attach(self, sandbox: ExecutorSandbox) -> None:
        """Use this sandbox from now on; it is stopped when the sample ends."""
        await self._discard()
        self._sandbox = sandbox

    async def started(self) -> ExecutorSandbox:
        """The running sandbox: the attached one, else a new one."""
        async with self._starting:
            if self._sandbox is None:
                self._temporary = make_scratch_directory("sandbox")
                self._sandbox = await SANDBOXES[self.provider].without_packages(self._temporary)
            await self._sandbox.start()
            return self._sandbox

    async def _discard(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await sandbox.stop()
        if self._temporary is not None:
            remove_tree(self._temporary)
            self._temporary = None

    @override
    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a command; its background processes run until the sample ends.

        In a run without executions it fails.
        """
        if user not in _USERS:
            raise SandboxUserUnsupportedError(
                f"the {self.provider} sandbox runs everything as the user agent, not as {user!r}"
            )
        sandbox = await self.started()
        if not sandbox.spec.foreign_commands:
            return ExecResult(success=False, returncode=NOT_ALLOWED, stdout="", stderr=NOT_EXECUTED)
        try:
            result = await sandbox.run_and_leave(
                cmd,
                stdin=input.encode() if isinstance(input, str) else input or b"",
                cwd=cwd or WORKSPACE,
                env=env,
                timeout=math.inf if timeout is None else timeout,
                max_output=2 * SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE,
            )
        except RunFailed as error:
            raise SandboxUnavailableError(str(error)) from error
        _raise_for(cmd, result)
        return _exec_result(result)

    @override
    async def write_file(self, file: str, contents: str | bytes) -> None:
        data = contents.encode() if isinstance(contents, str) else contents
        await (await self.started()).write(file, data)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    @override
    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        try:
            contents = await (await self.started()).read(file, max_bytes=limit)
        except OSError as error:
            if error.errno == errno.EFBIG:
                limit_text = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR
                raise OutputLimitExceededError(limit_text, None) from error
            raise
        return contents.decode() if text else contents

    @override
    def default_polling_interval(self) -> float:
        return 0.2

    @override
    @classmethod
    def default_concurrency(cls) -> int:
        return max(1, (os.cpu_count() or 1) // 2)

    @override
    @classmethod
    async def task_init(cls, task_name: str, config: SandboxEnvironmentConfigType | None) -> None:
        try:
            SANDBOXES[cls.provider].require()
        except UsageError as error:
            raise prerequisite_error(str(error)) from error

    @override
    @classmethod
    async def sample_init(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        metadata: dict[str, str],
    ) -> dict[str, SandboxEnvironment]:
        return {"default": cls()}

    @override
    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        for environment in environments.values():
            await environment.as_type(cls)._discard()

    @override
    @classmethod
    async def cli_cleanup(cls, id: str | None) -> None:
        """Remove the directories of harnesses that were killed together with their guardians."""
        for place in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
            owner = place.name.removeprefix(SCRATCH).partition("-")[0]
            if owner.isdigit() and not Path("/proc", owner).exists():
                remove_tree(place)


def _raise_for(command: list[str], result: CommandResult) -> None:
    """Raise the error that Inspect's contract requires for this result."""
    if result.start_error == errno.EACCES:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), command[0])
    limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
    if max(len(result.stdout), len(result.stderr)) > limit:
        raise OutputLimitExceededError(
            SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, result.output[:limit]
        )
    if result.limit is not None and result.limit.name == "wall time":
        raise TimeoutError(str(result.limit))


def _exec_result(result: CommandResult) -> ExecResult[str]:
    notes = [str(result.limit)] if result.limit is not None else []
    if result.restarted:
        notes.append("the sandbox was restarted: every process in it had been killed")
    stderr = result.stderr.decode("utf-8", "replace") + "".join(f"\n{note}" for note in notes)
    return ExecResult(
        success=result.exit_code == 0 and not notes,
        returncode=_KILLED if result.exit_code is None else result.exit_code,
        stdout=result.stdout.decode("utf-8", "replace"),
        stderr=stderr,
    )


@sandboxenv(name=BUBBLEWRAP.inspect_provider)
class BubblewrapSandboxEnvironment(ExecutorSandboxEnvironment):
    """A bubblewrap sandbox through Inspect's contract."""

    provider = BUBBLEWRAP.name


@sandboxenv(name=DOCKER.inspect_provider)
class ContainerSandboxEnvironment(ExecutorSandboxEnvironment):
    """A docker sandbox through Inspect's contract; Inspect has a provider `docker` of its own."""

    provider = DOCKER.name


bubblewrap, container = BubblewrapSandboxEnvironment, ContainerSandboxEnvironment
"""The providers under their names in Inspect's registry."""
