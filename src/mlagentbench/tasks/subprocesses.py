"""Running other programs to their end: pip, uv, the clients of data sources."""

import asyncio
import os
import signal
from collections.abc import Collection, Sequence

from mlagentbench.errors import UsageError
from mlagentbench.records import Record


class Finished(Record):
    """What a program said, and how it ended."""

    exit_code: int
    stdout: str
    stderr: str

    def last_lines(self, count: int = 8) -> str:
        """What is most likely to tell why it failed."""
        lines = [line.rstrip() for line in f"{self.stderr}\n{self.stdout}".splitlines()]
        telling = [line for line in lines if line and not line.startswith(("WARNING:", "[notice]"))]
        return "\n  ".join(telling[-count:]) or "it said nothing"


async def run_command(
    command: Sequence[str], *, without: Collection[str] = (), lock: int | None = None
) -> Finished:
    """Run a program to its end, without a keyboard; it dies with the coroutine that waits for it.

    `without` names environment variables that it does not get. Everybody may read what it writes:
    sandboxes may run as another user. It keeps the descriptor `lock` open: should the harness be
    killed, the lock is held until the program, too, has ended.
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
    return Finished(
        exit_code=process.returncode or 0,
        stdout=stdout.decode(errors="replace"),
        stderr=stderr.decode(errors="replace"),
    )
