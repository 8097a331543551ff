"""One running bubblewrap, from its start until its last process has ended."""

import asyncio
import contextlib
import json
import os
import signal
import socket

import anyio

from mlagentbench.errors import RunFailed
from mlagentbench.guest import GUEST
from mlagentbench.sandbox.bwrap.layout import Layout
from mlagentbench.sandbox.bwrap.prerequisites import explain_failure
from mlagentbench.sandbox.executor.executor_instance import (
    START_TIMEOUT,
    ExecutorInstance,
    receive_ready,
)
from mlagentbench.sandbox.executor.guardian_client import Started, guardian, identify
from mlagentbench.sandbox.executor.limits import SandboxView, hard_limits
from mlagentbench.sandbox.executor.noexec import forbid_new_machine_code
from mlagentbench.sandbox.executor.places import EXECUTOR, LAUNCHER
from mlagentbench.sandbox.executor.seccomp import sandbox_filter

_EXECUTOR_PROGRAM = GUEST / "executor.py"
_LAUNCHER_PROGRAM = GUEST / "program_launcher.py"
_CONTROL, _INFO = 3, 4


class Instance(ExecutorInstance):
    """A bubblewrap whose executor is ready."""

    def __init__(self, started: Started, control: socket.socket) -> None:
        super().__init__(control)
        self.pid = started.pid
        self._process = started.handle
        self._inside: int | None = None
        self.executor: int
        self._end_with(started.handle)

    @property
    def name(self) -> str:
        return f"process {self.pid}"

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
                    await forbid_new_machine_code(instance.executor, layout.spec)
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
        executor = None if self.ended.is_set() else receive_ready(self.control)
        if executor is None:
            said = os.read(errors, 1 << 16).decode("utf-8", "replace").strip()
            raise explain_failure(said)
        self._inside = json.loads(os.read(info, 1 << 16))["child-pid"]
        identity = identify(self._inside)
        self.executor = executor
        try:
            self.view = SandboxView(executor)
        except OSError as error:
            raise RunFailed("sandbox", f"cannot look into the sandbox: {error}") from error
        if identity is None:
            raise RunFailed("sandbox", "it ended while starting")
        self.identity = identity

    def send_kill(self) -> None:
        """Send the signal that kills all of it, without waiting."""
        with contextlib.suppress(ProcessLookupError):
            if self.ended.is_set():
                return
            if self._inside is not None:
                os.kill(self._inside, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(self._process, signal.SIGKILL)


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


def _memory_file(contents: bytes) -> int:
    descriptor = os.memfd_create("sandbox")
    os.write(descriptor, contents)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
