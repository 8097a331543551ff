"""One running sandbox whose executor is ready, from its start until its last process has ended."""

import asyncio
import os
import select
import socket
import struct
from abc import ABC, abstractmethod

from mlagentbench.errors import RunFailed
from mlagentbench.records import Record
from mlagentbench.sandbox.base import Identity
from mlagentbench.sandbox.executor.limits import SandboxView

START_TIMEOUT = 60.0
DEATH_TIMEOUT = 20.0


class ExecutorInstance(ABC):
    """A running sandbox; `control` is the socket to its executor."""

    identity: Identity
    view: SandboxView

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._handle: int | None = None

    def _end_with(self, handle: int) -> None:
        """Count as ended when the process of this pidfd has ended."""
        self._handle = handle
        self._loop.add_reader(handle, self._on_end, handle)

    def _on_end(self, handle: int) -> None:
        self._loop.remove_reader(handle)
        self.ended.set()

    @property
    def alive(self) -> bool:
        """Whether the executor still has its end of the control socket open."""
        if self.control.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(self.control, select.POLLHUP)
        return not poll.poll(0)

    async def kill(self) -> None:
        """Kill all of it; when this returns, none of its processes is left."""
        self.send_kill()
        try:
            async with asyncio.timeout(DEATH_TIMEOUT):
                await self.ended.wait()
        except TimeoutError:
            raise RunFailed("sandbox", f"{self.name} does not die") from None
        self.release()

    @property
    @abstractmethod
    def name(self) -> str:
        """What does not die, in an error."""

    @property
    def leftover(self) -> Record:
        """What a later harness needs to end this, if this one is killed: `sandbox.json`."""
        return self.identity

    @abstractmethod
    def send_kill(self) -> None:
        """Send the signal that kills all of it, without waiting."""

    def release(self) -> None:
        """Close the descriptors of a sandbox that has ended."""
        if self.control.fileno() < 0:
            return
        self.control.close()
        if self._handle is not None:
            os.close(self._handle)
        if hasattr(self, "view"):
            self.view.close()


def receive_ready(control: socket.socket) -> int | None:
    """The executor's pid on the host, from the credentials of its first message.

    The socket has SO_PASSCRED, which is switched off again.
    """
    credentials = struct.Struct("3i")
    message, ancillary, _flags, _address = control.recvmsg(5, socket.CMSG_SPACE(credentials.size))
    if message != b"ready":
        return None
    control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
    for _level, kind, data in ancillary:
        if kind == socket.SCM_CREDENTIALS:
            pid: int = credentials.unpack(data)[0]
            return pid
    return None
