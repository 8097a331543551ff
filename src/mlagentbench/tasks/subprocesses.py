"""Run other programs to their end: pip and the clients of data sources."""

import asyncio
import os
import signal
from collections.abc import Collection, Sequence

from mlagentbench.errors import UsageError
from mlagentbench.records import Record


class FinishedCommand(Record):
    """A program's output and exit code."""

    exit_code: int
    stdout: str
    stderr: str

    def last_lines(self, count: int = 8) -> str:
        """The last lines of its output, which usually give the reason of a failure."""
        lines = [line.rstrip() for line in f"{self.stderr}\n{self.stdout}".splitlines()]
        telling = [line for line in lines if line and not line.startswith(("WARNING:", "[notice]"))]
        return "\n  ".join(telling[-count:]) or "no output"


async def run_command(
    command: Sequence[str], *, without: Collection[str] = (), lock: int | None = None
) -> FinishedCommand:
    """Run a program to its end, without stdin; cancelling the coroutine kills it.

    `without` names environment variables to leave out. Its files are readable for all users, since
    sandboxes may run as another one. It inherits the descriptor `lock`, so that the lock is held
    until the program ends, even if the harness is killed.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={key: value for key, value in os.environ.items() if key not in without},
            umask=0o022,
            start_new_session=True,
            pass_fds=() if lock is None else (lock,),
        )
    except OSError as error:
        raise UsageError(f"cannot start {command[0]}: {error.strerror}") from error
    try:
        stdout, stderr = await process.communicate()
    except BaseException:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        raise
    return FinishedCommand(
        exit_code=process.returncode or 0,
        stdout=stdout.decode(errors="replace"),
        stderr=stderr.decode(errors="replace"),
    )
