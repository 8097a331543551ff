"""The sandbox of a run in which nothing can be executed, as its agent reaches it."""

from collections.abc import Callable, Mapping, Sequence

from mlagentbench.sandbox.base import WORKSPACE, CommandResult, Sandbox

NOT_EXECUTED = "nothing can be executed in this run: it was started with --no-execution\n"
NOT_ALLOWED = 126
"""The exit code of a command that may not be executed."""


class FilesOnlySandbox:
    """Reads and writes the files of another sandbox; every command fails.

    The actions of the run still use the other one, to list, copy and remove files.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def run(
        self,
        command: Sequence[str],  # noqa: ARG002
        *,
        stdin: bytes = b"",  # noqa: ARG002
        cwd: str = WORKSPACE,  # noqa: ARG002
        env: Mapping[str, str] | None = None,  # noqa: ARG002
        timeout: float | None = None,  # noqa: ARG002
        on_output: Callable[[bytes], None] | None = None,  # noqa: ARG002
        tidy: bool = True,  # noqa: ARG002
    ) -> CommandResult:
        return CommandResult(
            exit_code=NOT_ALLOWED,
            output=NOT_EXECUTED,
            stdout=b"",
            stderr=NOT_EXECUTED.encode(),
            seconds=0.0,
        )

    async def read(self, path: str) -> bytes:
        return await self._sandbox.read(path)

    async def write(self, path: str, contents: bytes) -> None:
        await self._sandbox.write(path, contents)
