"""A running command: its pipes, its output as it arrives, and how it is ended."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable

from mlagentbench.records import Json
from mlagentbench.sandbox.base import LimitHit
from mlagentbench.sandbox.executor.channel import Answer, Request

CHUNK = 1 << 16
LAST_OUTPUT_TIMEOUT = 5.0


class OutputPipe:
    """The harness's end of a command's stdout or stderr; passes on what arrives."""

    def __init__(self, on_data: Callable[[bytes], None]) -> None:
        self._on_data = on_data
        self._loop = asyncio.get_running_loop()
        self._end, self.inside = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._end, False)
        self.closed = asyncio.Event()
        self._loop.add_reader(self._end, self._read)

    def _read(self) -> bool:
        """Pass on one chunk; False when there is none now."""
        try:
            data = os.read(self._end, CHUNK)
        except BlockingIOError:
            return False
        if data:
            self._on_data(data)
            return True
        self.close()
        return False

    def drain(self) -> None:
        """Pass on everything that is in the pipe now."""
        while not self.closed.is_set() and self._read():
            continue

    def discard(self) -> None:
        """Keep emptying the pipe, so that processes that hold it never block."""
        self._on_data = lambda _data: None

    def close(self) -> None:
        if not self.closed.is_set():
            self.closed.set()
            self._loop.remove_reader(self._end)
            os.close(self._end)


class InputPipe:
    """The harness's end of a command's stdin: fed with bytes, then closed."""

    def __init__(self, contents: bytes) -> None:
        self._left = memoryview(contents)
        self._loop = asyncio.get_running_loop()
        self.inside, self._end = os.pipe2(os.O_CLOEXEC)
        self._open = True
        os.set_blocking(self._end, False)
        self._loop.add_writer(self._end, self._write)

    def _write(self) -> None:
        try:
            self._left = self._left[os.write(self._end, self._left) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.close()
            return
        if not self._left:
            self.close()

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_writer(self._end)
            os.close(self._end)


class Command:
    """A command that was passed to the executor."""

    def __init__(
        self,
        control: socket.socket,
        *,
        stdin: bytes,
        max_output: int,
        on_output: Callable[[bytes], None] | None,
        on_too_much: Callable[["Command"], None],
    ) -> None:
        self.limit: LimitHit | None = None
        self.output = bytearray()
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._left = max_output
        self._on_output = on_output
        self._on_too_much = on_too_much
        self._pipes = [
            OutputPipe(lambda data: self._take(data, self.stdout)),
            OutputPipe(lambda data: self._take(data, self.stderr)),
        ]
        self._input = InputPipe(stdin) if stdin else None
        inside = [self._input.inside] if self._input else []
        inside += [pipe.inside for pipe in self._pipes]
        try:
            self._request = Request(control, inside)
        except BaseException:
            self._close_pipes()
            raise
        finally:
            for descriptor in inside:
                os.close(descriptor)

    def _take(self, data: bytes, stream: bytearray) -> None:
        if self._left <= 0:
            return
        data = data[: self._left]
        self._left -= len(data)
        stream += data
        self.output += data
        if self._on_output is not None:
            self._on_output(data)
        if self._left <= 0:
            self._on_too_much(self)

    async def run(self, **fields: Json) -> Answer:
        await self._request.send(kind="run", **fields)
        return await self._request.answer()

    async def last_output(self) -> None:
        """Wait for the rest of the output; every writer is dead, so the pipes close at once."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_OUTPUT_TIMEOUT):
                for pipe in self._pipes:
                    await pipe.closed.wait()

    def leave_running(self) -> list[OutputPipe]:
        """Take the output so far, and return the pipes that background processes still hold."""
        for pipe in self._pipes:
            pipe.drain()
            pipe.discard()
        left, self._pipes = self._pipes, []
        return [pipe for pipe in left if not pipe.closed.is_set()]

    def end(self, limit: LimitHit | None) -> None:
        """Have the command and everything it started killed; the first limit is kept."""
        self.limit = self.limit or limit
        self._request.end()

    async def gone(self) -> None:
        await self._request.gone()

    def close(self) -> None:
        """Close the request: what it started is killed, unless it was left in the background."""
        self._request.close()
        self._close_pipes()

    def _close_pipes(self) -> None:
        for pipe in (*self._pipes, self._input):
            if pipe is not None:
                pipe.close()
