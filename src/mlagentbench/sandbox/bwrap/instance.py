"""One running bubblewrap, from its start until its last process has ended."""

import asyncio
import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys

import anyio

from mlagentbench.errors import RunFailed
from mlagentbench.guest import GUEST
from mlagentbench.sandbox.base import WORKSPACE, Identity, SandboxSpec
from mlagentbench.sandbox.bwrap.guardian_client import Started, guardian, identify
from mlagentbench.sandbox.bwrap.layout import EXECUTOR, LAUNCHER, Layout
from mlagentbench.sandbox.bwrap.limits import SandboxView, hard_limits
from mlagentbench.sandbox.bwrap.prerequisites import explain_failure
from mlagentbench.sandbox.bwrap.seccomp import sandbox_filter

START_TIMEOUT = 60.0
DEATH_TIMEOUT = 20.0
_EXECUTOR_PROGRAM = GUEST / "executor.py"
_LAUNCHER_PROGRAM = GUEST / "program_launcher.py"
_NOEXEC_PROGRAM = GUEST / "noexec_mounts.py"
_CONTROL, _INFO = 3, 4


class Instance:
    """A bubblewrap whose executor is ready; `control` is the socket to it."""

    def __init__(self, started: Started, control: socket.socket) -> None:
        self.control = control
        self.pid = started.pid
        self._handle = started.handle
        self._inside: int | None = None
        self.identity: Identity
        self.view: SandboxView
        self.ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._handle, self._on_end)

    def _on_end(self) -> None:
        self._loop.remove_reader(self._handle)
        self.ended.set()

    @property
    def alive(self) -> bool:
        """Whether the executor still has its end of the control socket open."""
        if self.control.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(self.control, select.POLLHUP)
        return not poll.poll(0)

    @classmethod
    async def start(cls, layout: Layout) -> "Instance":
        """Start a sandbox and wait until its executor is ready."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        errors, errors_inside = os.pipe2(os.O_CLOEXEC)
        info, info_inside = os.pipe2(os.O_CLOEXEC)
        quiet = os.open(os.devnull, os.O_RDWR)
        inside = [quiet, quiet, errors_inside, theirs.detach(), info_inside]
        command = _command(layout, inside)
        try:
            instance = cls(guardian().start(command, inside, layout.spec.cores), ours)
        except BaseException:
            ours.close()
            raise
        finally:
            for descriptor in set(inside):
                os.close(descriptor)
        try:
            async with asyncio.timeout(START_TIMEOUT):
                await instance._wait_until_ready(errors, info)
                if layout.spec.machine_code == "installed":
                    await _forbid_new_machine_code(instance.view.pid, layout.spec)
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await instance.kill()
            if isinstance(error, TimeoutError):
                raise RunFailed("sandbox", "the executor did not answer in time") from error
            raise
        finally:
            os.close(errors)
            os.close(info)
        return instance

    async def _wait_until_ready(self, errors: int, info: int) -> None:
        ready = asyncio.ensure_future(anyio.wait_readable(self.control))
        ended = asyncio.ensure_future(self.ended.wait())
        try:
            await asyncio.wait((ready, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
            ended.cancel()
        executor = None if self.ended.is_set() else _receive_ready(self.control)
        if executor is None:
            said = os.read(errors, 1 << 16).decode("utf-8", "replace").strip()
            raise explain_failure(said)
        self._inside = json.loads(os.read(info, 1 << 16))["child-pid"]
        identity = identify(self._inside)
        try:
            self.view = SandboxView(executor)
        except OSError as error:
            raise RunFailed("sandbox", f"cannot look into the sandbox: {error}") from error
        if identity is None:
            raise RunFailed("sandbox", "it ended while starting")
        self.identity = identity

    async def kill(self) -> None:
        """Kill all of it; when this returns, none of its processes is left."""
        self.send_kill()
        try:
            async with asyncio.timeout(DEATH_TIMEOUT):
                await self.ended.wait()
        except TimeoutError:
            raise RunFailed("sandbox", f"process {self.pid} does not die") from None
        self.release()

    def send_kill(self) -> None:
        """Send the signal that kills all of it, without waiting."""
        with contextlib.suppress(ProcessLookupError):
            if self.ended.is_set():
                return
            if self._inside is not None:
                os.kill(self._inside, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def release(self) -> None:
        """Close the descriptors of a sandbox that has ended."""
        if self.control.fileno() < 0:
            return
        self.control.close()
        os.close(self._handle)
        if hasattr(self, "view"):
            self.view.close()


def _command(layout: Layout, descriptors: list[int]) -> list[str]:
    """The call of bubblewrap; the files that it reads are added to its descriptors.

    Its options are in such a file, since processes in the sandbox can see the command line. No
    descriptor below 3 leads to the harness: those stay open in processes that commands could take
    over.
    """
    files = {EXECUTOR: _EXECUTOR_PROGRAM.read_bytes()}
    if layout.spec.machine_code == "installed":
        files[LAUNCHER] = _LAUNCHER_PROGRAM.read_bytes()
    files |= layout.files()
    places = {}
    for name, contents in files.items():
        places[name] = len(descriptors)
        descriptors.append(_memory_file(contents))
    options = layout.options(places)
    refused = sandbox_filter(layout.spec.machine_code)
    if refused is not None:
        options += ["--seccomp", str(len(descriptors))]
        descriptors.append(_memory_file(refused))
    arguments = len(descriptors)
    descriptors.append(_memory_file(b"".join(word.encode() + b"\0" for word in options)))
    limits = hard_limits(layout.spec.limits, own_uid=layout.uid is not None)
    call = [layout.bwrap, "--args", str(arguments), "--info-fd", str(_INFO), "--"]
    return [*call, *layout.command(_CONTROL, json.dumps(limits))]


async def _forbid_new_machine_code(executor: int, spec: SandboxSpec) -> None:
    """Make all mounts noexec that have files of a submission, or where it can create some."""
    places = [WORKSPACE, *(bind.target for bind in spec.binds)]
    command = [sys.executable, "-I", "-S", str(_NOEXEC_PROGRAM), str(executor), *places]
    done = await anyio.run_process(command, stdin=subprocess.DEVNULL, check=False, env={})
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise RunFailed("sandbox", f"cannot forbid new machine code in the sandbox: {said}")


def _memory_file(contents: bytes) -> int:
    descriptor = os.memfd_create("sandbox")
    os.write(descriptor, contents)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _receive_ready(control: socket.socket) -> int | None:
    """The executor's pid on the host, from the credentials of its first message."""
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
