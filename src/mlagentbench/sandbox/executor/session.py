"""A long-running program in the sandbox, controlled over its stdin and stdout."""

import asyncio
import fcntl
import os
import socket
from collections.abc import Callable
from typing import Any

import anyio

from mlagentbench.sandbox.base import LimitHit
from mlagentbench.sandbox.executor.channel import Answer, ExecutorGone, Request
from mlagentbench.sandbox.executor.command import OutputPipe

PIPE_SIZE = 1 << 20
KEPT_STDERR = 1 << 16
KILL_GRACE = 5.0
END_GRACE = 1.0


class ProcessEnded(Exception):
    """The program ended, or a limit ended it, while it was in use."""

    def __init__(self, exit_code: int | None, limit: LimitHit | None, stderr: bytes) -> None:
        end = str(limit) if limit else f"ended with exit code {exit_code}"
        super().__init__(end)
        self.exit_code = exit_code
        self.limit = limit
        self.stderr = stderr


class SandboxProcess:
    """A program with stdin and stdout as byte streams; `close` kills all its processes."""

    def __init__(self, control: socket.socket, on_end: Callable[["SandboxProcess"], None]) -> None:
        self.stderr = bytearray()
        self.limit: LimitHit | None = None
        self._errors = OutputPipe(self._keep_stderr)
        input_inside, self._input = os.pipe2(os.O_CLOEXEC)
        self._output, output_inside = os.pipe2(os.O_CLOEXEC)
        for ours in (self._input, self._output):
            os.set_blocking(ours, False)
            fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
        self._open = True
        self._answer: asyncio.Task[Answer | None] | None = None
        self._on_end = on_end
        inside = [input_inside, output_inside, self._errors.inside]
        try:
            self._request = Request(control, inside)
        finally:
            for descriptor in inside:
                os.close(descriptor)

    async def begin(self, **fields: Any) -> None:
        await self._request.send(kind="run", **fields)
        self._answer = asyncio.create_task(self._wait())
        self._answer.add_done_callback(lambda _task: self._on_end(self))

    async def _wait(self) -> Answer | None:
        try:
            return await self._request.answer()
        except ExecutorGone:
            return None

    async def write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._input, left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._input)
            except BrokenPipeError:
                raise await self._ended() from None

    async def read_exactly(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            try:
                data = os.read(self._output, min(PIPE_SIZE, size - len(received)))
            except BlockingIOError:
                await anyio.wait_readable(self._output)
                continue
            if not data:
                raise await self._ended()
            received += data
        return bytes(received)

    async def _ended(self) -> ProcessEnded:
        if self._answer is not None:
            await asyncio.wait([self._answer], timeout=END_GRACE)
        answer = await self._killed()
        self._errors.drain()
        exit_code = answer.exit_code if answer is not None else None
        return ProcessEnded(exit_code, self.limit, bytes(self.stderr))

    async def _killed(self) -> Answer | None:
        """Have everything killed; None when there is no answer."""
        self._request.end()
        if self._answer is None:
            return None
        await asyncio.wait([self._answer], timeout=KILL_GRACE)
        return self._answer.result() if self._answer.done() else None

    def _keep_stderr(self, data: bytes) -> None:
        self.stderr += data
        del self.stderr[:-KEPT_STDERR]

    def end(self, limit: LimitHit | None) -> None:
        """Have the program killed because of a limit."""
        self.limit = self.limit or limit
        self._request.end()

    async def close(self) -> None:
        """Kill the program and everything it started."""
        if not self._open:
            return
        self._open = False
        os.close(self._input)
        os.close(self._output)
        with anyio.CancelScope(shield=True):
            await self._killed()
        self._errors.close()
        self._request.close()
