"""The harness's side of the Python REPL: a server process kept alive inside the sandbox."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from mlagentbench.environment.actions import repl_server
from mlagentbench.environment.sandbox.sandbox import CommandResult, Sandbox
from mlagentbench.errors import RunFailed
from mlagentbench.records import Record

SERVER_SECONDS = 1e7
"""The server lives as long as the run, so its own limit on time is out of reach."""
EMPTY_AGAIN = "[The Python session is new: variables and imports of earlier calls are gone.]\n"


class ReplAnswer(Record):
    """What one piece of code did."""

    output: bytes
    raised: bool = False
    limit: str | None = None
    lost: str | None = None
    """Why the session ended, when it did."""
    emptied: bool = False
    """Whether an earlier session was lost before this call."""
    restarted: bool = False
    """Whether the sandbox died and was started anew."""


class Repl:
    """A Python session in a sandbox; it starts with the first call, and anew when it is lost."""

    def __init__(self, sandbox: Sandbox, python: Path, used_before: bool = False) -> None:
        self._sandbox = sandbox
        self._python = str(python)
        self._server: asyncio.Task[CommandResult] | None = None
        self._address = ""
        self._emptied = used_before

    async def run(
        self, code: str, seconds: float, max_bytes: int, on_output: Callable[[bytes], None]
    ) -> ReplAnswer:
        """Run code in the session; a limit interrupts the code, and keeps the session if it can."""
        if self._server is None or self._server.done():
            await self.stop()
            self._start()
        patience = repl_server.CONNECT_SECONDS + 2 * repl_server.GRACE_SECONDS
        asker = [self._python, "-I", "-S", "-c", _source(), "ask", self._address]
        try:
            result = await self._sandbox.run(
                [*asker, str(seconds), str(max_bytes)],
                stdin=code.encode("utf-8", "replace"),
                timeout=seconds + patience,
                on_output=on_output,
            )
        except BaseException:
            self._cancel()
            raise
        emptied, self._emptied = self._emptied, False
        return ReplAnswer(
            output=result.stdout,
            raised=result.exit_code == repl_server.RAISED,
            limit=_limit(result.exit_code, seconds, max_bytes),
            lost=await self._loss(result),
            emptied=emptied,
            restarted=result.restarted,
        )

    async def stop(self) -> None:
        """End the session, if there is one."""
        self._cancel()
        if self._server is not None:
            with suppress(asyncio.CancelledError, RunFailed):
                await self._server
            self._server = None
            self._emptied = True

    def _start(self) -> None:
        self._address = f"/tmp/.python-{secrets.token_hex(8)}"
        command = [self._python, "-u", "-c", _source(), "serve", self._address]
        self._server = asyncio.create_task(self._sandbox.run(command, timeout=SERVER_SECONDS))

    def _cancel(self) -> None:
        if self._server is not None:
            self._server.cancel()

    async def _loss(self, result: CommandResult) -> str | None:
        """Why there is no session any more after this call; `None` when there is one."""
        if result.exit_code == repl_server.STUCK:
            await self.stop()
            return "it could not be interrupted"
        if result.exit_code in (repl_server.OK, repl_server.RAISED):
            return None
        if result.exit_code in (repl_server.TIME, repl_server.OUTPUT):
            return None
        reason = "its process ended"
        if self._server is not None:
            await asyncio.wait([self._server], timeout=repl_server.GRACE_SECONDS)
            if self._server.done() and not self._server.cancelled():
                failure = self._server.exception()
                ended = None if failure is not None else self._server.result()
                if ended is not None and ended.limit is not None:
                    reason = str(ended.limit)
                elif ended is not None:
                    reason = f"its process ended with exit code {ended.exit_code}"
        await self.stop()
        return reason


@cache
def _source() -> str:
    return Path(repl_server.__file__).read_text(encoding="utf-8")


def _limit(exit_code: int | None, seconds: float, max_bytes: int) -> str | None:
    if exit_code in (repl_server.TIME, repl_server.STUCK):
        return f"wall time ({seconds:g} s)"
    return f"output size ({max_bytes:,} bytes)" if exit_code == repl_server.OUTPUT else None
