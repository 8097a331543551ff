"""The client of the Python REPL, whose server process runs in the sandbox."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from anyio import to_thread

from mlagentbench.errors import RunFailed
from mlagentbench.guest import repl_server
from mlagentbench.records import Record
from mlagentbench.sandbox.base import CommandResult, LimitHit, Sandbox

SERVER_SECONDS = 1e7
"""Practically no time limit: the server runs as long as the run."""
NEW_SESSION = "[The Python session is new: variables and imports of earlier calls are gone.]\n"
_SESSION_ALIVE = (repl_server.OK, repl_server.RAISED, repl_server.TIME, repl_server.OUTPUT)


class ReplAnswer(Record):
    """The result of one piece of code."""

    output: bytes
    raised: bool = False
    limit: LimitHit | None = None
    lost: str | None = None
    """Why the session ended, if it did."""
    emptied: bool = False
    """Whether an earlier session was lost before this call."""
    restarted: bool = False
    """Whether the sandbox died and was restarted."""


class Repl:
    """A Python session in a sandbox; it starts with the first call, again when it was lost."""

    def __init__(
        self,
        sandbox: Sandbox,
        before_start: Callable[[], None],
        used_before: bool = False,
    ) -> None:
        """A session that is not started; `before_start` is called each time it will be."""
        self._sandbox = sandbox
        self._before_start = before_start
        self._server: asyncio.Task[CommandResult] | None = None
        self._address = ""
        self._emptied = used_before

    @property
    def is_running(self) -> bool:
        return self._server is not None and not self._server.done()

    async def run(
        self, code: str, seconds: float, max_bytes: int, on_output: Callable[[bytes], None]
    ) -> ReplAnswer:
        """Run code in the session; a limit interrupts the code, if possible not the session."""
        if not self.is_running:
            await self.stop()
            await to_thread.run_sync(self._before_start)
            self._start()
            await self._client("wait", timeout=2 * repl_server.CONNECT_SECONDS)
        result = await self._client(
            "ask",
            str(seconds),
            str(max_bytes),
            stdin=code.encode("utf-8", "replace"),
            timeout=seconds + 2 * repl_server.GRACE_SECONDS,
            on_output=on_output,
        )
        emptied, self._emptied = self._emptied, False
        limit = result.limit or _limit(result.exit_code, seconds, max_bytes)
        lost = None
        if result.exit_code not in _SESSION_ALIVE:
            ended = await self._server_result()
            limit = limit or (None if ended is None else ended.limit)
            lost = _why_lost(result, ended)
            await self.stop()
        return ReplAnswer(
            output=result.stdout,
            raised=result.exit_code == repl_server.RAISED,
            limit=limit,
            lost=lost,
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
        command = ["python", "-P", "-u", "-c", _source(), "serve", self._address]
        self._server = asyncio.create_task(self._sandbox.run(command, timeout=SERVER_SECONDS))

    async def _client(
        self,
        *words: str,
        timeout: float,
        stdin: bytes = b"",
        on_output: Callable[[bytes], None] | None = None,
    ) -> CommandResult:
        """Run the client in the sandbox; the code can stop it, but not the harness's clock."""
        what, *more = words
        command = ["python", "-I", "-S", "-c", _source(), what, self._address, *more]
        try:
            return await self._sandbox.run(
                command, stdin=stdin, timeout=timeout, on_output=on_output, tidy=False
            )
        except BaseException:
            self._cancel()
            raise

    def _cancel(self) -> None:
        if self._server is not None:
            self._server.cancel()

    async def _server_result(self) -> CommandResult | None:
        """How the server ended, if it ended by itself."""
        if self._server is None:
            return None
        await asyncio.wait([self._server], timeout=1.0)
        if not self._server.done() or self._server.cancelled() or self._server.exception():
            return None
        return self._server.result()


@cache
def _source() -> str:
    return Path(repl_server.__file__).read_text(encoding="utf-8")


def _limit(exit_code: int | None, seconds: float, max_bytes: int) -> LimitHit | None:
    if exit_code in (repl_server.TIME, repl_server.STUCK):
        return LimitHit(name="wall time", value=f"{seconds:g} s")
    if exit_code == repl_server.OUTPUT:
        return LimitHit(name="output size", value=f"{max_bytes:,} bytes")
    return None


def _why_lost(asked: CommandResult, ended: CommandResult | None) -> str:
    if asked.exit_code == repl_server.STUCK:
        return "it could not be interrupted"
    if ended is None:
        return "its process is gone"
    if ended.limit is not None:
        return str(ended.limit)
    return f"its process ended with exit code {ended.exit_code}"
