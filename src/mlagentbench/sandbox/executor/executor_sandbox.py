"""A sandbox with an executor in it, which starts the commands.

One sandbox serves the whole run. When the executor dies, a new sandbox is started on the same
workspace, and the next result says so. How it is started is the part of each subclass.
"""

import asyncio
import contextlib
import math
import os
import posixpath
import shlex
import signal
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import anyio
import psutil

from mlagentbench.errors import RunFailed
from mlagentbench.fs import chown_tree, make_accessible
from mlagentbench.records import Json, Record
from mlagentbench.sandbox.base import (
    WORKSPACE,
    CommandResult,
    Identity,
    LimitHit,
    LoopbackServer,
    SandboxSpec,
)
from mlagentbench.sandbox.executor.channel import (
    Answer,
    ExecutorGone,
    listening_socket,
    read_file,
    write_file,
)
from mlagentbench.sandbox.executor.command import Command, OutputPipe
from mlagentbench.sandbox.executor.executor_instance import ExecutorInstance
from mlagentbench.sandbox.executor.limits import (
    PERIOD,
    LimitWatch,
    Thread,
    limit_hit,
    stayed_at_rest,
)
from mlagentbench.sandbox.executor.places import HOME, LAUNCHER
from mlagentbench.sandbox.executor.seccomp import program_filter
from mlagentbench.sandbox.executor.session import SandboxProcess
from mlagentbench.sandbox.linux_only import require_linux
from mlagentbench.tasks.spec import is_python_program

MAX_READ = 1_000_000_000
KILL_GRACE = 5.0
STOP_TIMEOUT = 5.0
ANSWER_TIMEOUT = 60.0
"""Seconds within which any file is read or written."""
ACCOUNTING_DELAY = 0.001
_LONGEST = 1e7
_KERNEL_LISTS_CHILDREN = Path("/proc/thread-self/children").exists()
T = TypeVar("T")


class ExecutorSandbox(ABC):
    """A sandbox for one spec; `async with` starts and stops it."""

    def __init__(
        self, spec: SandboxSpec, server: LoopbackServer | None, python: str, uid: int | None
    ) -> None:
        """`python` is the directory of its interpreter; `uid` gets the workspace, unless None."""
        require_linux()
        self.spec = spec
        self._server = server
        self._uid = uid
        self._env = _environment(spec, python)
        self._instance: ExecutorInstance | None = None
        self._watch: LimitWatch
        self._active: set[Command | SandboxProcess] = set()
        self._watching: asyncio.Task[None] | None = None
        self._has_background = False
        self._first_hit = self._last_hit = -math.inf
        self._left_running: list[OutputPipe] = []
        self._starting = asyncio.Lock()
        self._at_rest: dict[str, Thread] = {}

    @abstractmethod
    async def _start_instance(self) -> ExecutorInstance:
        """Start a sandbox whose executor is ready."""

    @property
    def identity(self) -> Identity:
        """Identifies the processes of this sandbox, so that a later harness can end them."""
        return self._running().identity

    @property
    def leftover(self) -> Record:
        """What a later harness needs to end this sandbox, if this one is killed."""
        return self._running().leftover

    # Life

    @property
    def contract(self) -> "ExecutorSandbox":
        """Itself: it keeps the contract of a Sandbox."""
        return self

    async def start(self) -> None:
        if self._instance is not None:
            return
        self._prepare_workspace()
        await self._launch()

    async def stop(self) -> None:
        """Kill everything in the sandbox; the workspace is kept."""
        self._stop_watching()
        instance, self._instance = self._instance, None
        if instance is not None:
            with anyio.CancelScope(shield=True):
                await instance.kill()
        for pipe in self._left_running:
            pipe.close()
        self._left_running.clear()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def _prepare_workspace(self) -> None:
        """Remove links where binds go, and give root's files to the sandbox's uid."""
        for name in self.spec.placeholders:
            place = self.spec.workspace / name
            if place.is_symlink():
                place.unlink()
        if self._uid is not None:
            chown_tree(self._uid, self.spec.workspace)
            for bind in self.spec.binds:
                if bind.writable:
                    chown_tree(self._uid, bind.source)

    async def _launch(self) -> None:
        make_accessible(self.spec.workspace)
        instance = await self._start_instance()
        self._instance = instance
        self._watch = LimitWatch(
            instance.view, self.spec.limits, self.spec.workspace, self.spec.placeholders
        )
        if self._server is not None:
            await self._open_port(instance, self._server)

    async def _open_port(self, instance: ExecutorInstance, server: LoopbackServer) -> None:
        try:
            await server.serve(await listening_socket(instance.control, server.port))
        except (OSError, ExecutorGone) as error:
            raise RunFailed("sandbox", f"cannot open port {server.port}: {error}") from error

    def _running(self) -> ExecutorInstance:
        if self._instance is None:
            raise RunFailed("sandbox", "not started, or stopped already")
        return self._instance

    async def _restart(self, broken: ExecutorInstance) -> None:
        """Replace a broken sandbox, once for all callers that noticed."""
        async with self._starting:
            if self._running() is not broken:
                return
            self._stop_watching()
            await broken.kill()
            await self._launch()

    async def _revive(self) -> bool:
        """Replace the sandbox if it was killed since the last command; returns whether it was."""
        instance = self._running()
        if instance.alive:
            return False
        await self._restart(instance)
        return True

    # Commands

    async def run(
        self,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        cwd: str = WORKSPACE,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_output: Callable[[bytes], None] | None = None,
        tidy: bool = True,
    ) -> CommandResult:
        """Run a command; see `Sandbox.run`."""
        request = self._command_request(command, cwd, env, tidy=tidy and not self._has_background)
        return await self._execute(request, stdin, timeout, on_output)

    async def run_and_leave(
        self,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        cwd: str = WORKSPACE,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        max_output: int | None = None,
    ) -> CommandResult:
        """Run a command, but let the background processes it started run on.

        For servers that run as long as the sandbox. When a limit ends the command, everything it
        started is killed all the same.
        """
        request = self._command_request(command, cwd, env, keep=True, tidy=False)
        return await self._execute(request, stdin, timeout, None, max_output)

    async def open_process(
        self,
        command: Sequence[str],
        *,
        cwd: str = WORKSPACE,
        env: Mapping[str, str] | None = None,
    ) -> SandboxProcess:
        """Start a program to talk to over stdin and stdout; the caller closes it."""
        await self._revive()
        try:
            process = SandboxProcess(self._running().control, self._finish)
            self._begin(process)
            await process.begin(**self._command_request(command, cwd, env, tidy=False))
        except ExecutorGone as error:
            raise RunFailed("sandbox", f"cannot start {command[0]}: {error}") from error
        return process

    def _command_request(
        self,
        command: Sequence[str],
        cwd: str,
        env: Mapping[str, str] | None,
        *,
        keep: bool = False,
        tidy: bool,
    ) -> dict[str, Json]:
        if self.spec.machine_code == "installed":
            command = _launched(command)
        return {
            "command": list(command),
            "cwd": posixpath.join(WORKSPACE, cwd),
            "env": {**self._env, **(env or {})},
            "keep": keep,
            "tidy": tidy,
        }

    async def _execute(
        self,
        request: dict[str, Json],
        stdin: bytes,
        timeout: float | None,
        on_output: Callable[[bytes], None] | None,
        max_output: int | None = None,
    ) -> CommandResult:
        started = time.monotonic()
        max_output = self.spec.limits.output_size if max_output is None else max_output
        restarted = await self._revive()
        instance = self._running()
        try:
            too_much = limit_hit(self.spec.limits, "output size")
            command = Command(
                instance.control,
                stdin=stdin,
                max_output=max_output,
                on_output=on_output,
                on_too_much=lambda of: self._end(of, too_much),
            )
        except ExecutorGone:
            return await self._execute(request, stdin, timeout, on_output, max_output)
        async with self._timed(command, timeout):
            try:
                answer = await command.run(**request)
                if request["keep"]:
                    self._has_background = True
                    self._left_running = [p for p in self._left_running if not p.closed.is_set()]
                    self._left_running += command.leave_running()
                else:
                    await command.last_output()
                if not answer.clean:
                    await self._restart(instance)
            except ExecutorGone:
                await self._restart(instance)
                return _result(command, None, started, restarted=True)
            except asyncio.CancelledError:
                await self._abandon(command, instance)
                raise
            result = _result(command, answer, started, restarted=restarted or not answer.clean)
            if result.limit is None:
                exceeded = await self._watch.at_end(result, answer.filled)
                result = result.model_copy(update={"limit": exceeded})
            return result

    @contextlib.asynccontextmanager
    async def _timed(self, command: Command, timeout: float | None) -> AsyncIterator[None]:
        """Enforce the limits of a command while it runs."""
        wall_time = self.spec.limits.wall_time if timeout is None else timeout
        limit = limit_hit(self.spec.limits, "wall time", wall_time)
        delay = min(wall_time, _LONGEST)
        timer = asyncio.get_running_loop().call_later(delay, self._end, command, limit)
        self._begin(command)
        try:
            yield
        finally:
            timer.cancel()
            command.close()
            self._finish(command)

    async def _abandon(self, command: Command, instance: ExecutorInstance) -> None:
        """Kill the command of a caller that was cancelled, and wait until it is gone."""
        with anyio.CancelScope(shield=True):
            command.end(None)
            try:
                async with asyncio.timeout(KILL_GRACE):
                    await command.gone()
            except TimeoutError:
                await self._restart(instance)

    def _begin(self, command: Command | SandboxProcess) -> None:
        self._active.add(command)
        if self._watching is None:
            self._watching = asyncio.create_task(
                self._watch.report(lambda: len(self._active), self._end_all)
            )

    def _finish(self, command: Command | SandboxProcess) -> None:
        self._active.discard(command)
        if not self._active and not self._has_background:
            self._stop_watching()

    def _stop_watching(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def _end_all(self, limit: LimitHit) -> None:
        """End the commands; if that does not help, a background process is to blame: end all."""
        now = time.monotonic()
        if now - self._last_hit > 10 * PERIOD:
            self._first_hit = now
        self._last_hit = now
        for command in tuple(self._active):
            self._end(command, limit)
        if self._instance is not None and (not self._active or now - self._first_hit > KILL_GRACE):
            self._instance.send_kill()

    def _end(self, command: Command | SandboxProcess, limit: LimitHit) -> None:
        """End a command because of a limit; if it resists, end the whole sandbox."""
        if command.limit is None and command in self._active:
            command.end(limit)
            asyncio.get_running_loop().call_later(KILL_GRACE, self._end_hard, command)

    def _end_hard(self, command: Command | SandboxProcess) -> None:
        if command in self._active and self._instance is not None:
            self._instance.send_kill()

    # Files

    async def read(self, path: str, max_bytes: int = MAX_READ) -> bytes:
        """The bytes of a file; raises OSError with EFBIG if there are more than `max_bytes`."""
        return await self._request(lambda control: read_file(control, path, max_bytes))

    async def write(self, path: str, contents: bytes) -> None:
        await self._request(lambda control: write_file(control, path, contents))

    async def _request(self, ask: Callable[[socket.socket], Awaitable[T]]) -> T:
        """Ask the executor; if the sandbox is broken, once more in a new one."""
        await self._revive()
        instance = self._running()
        try:
            return await self._request_once(ask, instance)
        except ExecutorGone:
            await self._restart(instance)
        try:
            return await self._request_once(ask, self._running())
        except ExecutorGone as error:
            raise RunFailed("sandbox", f"the executor does not answer: {error}") from error

    async def _request_once(
        self, ask: Callable[[socket.socket], Awaitable[T]], of: ExecutorInstance
    ) -> T:
        """Ask with a timeout: programs in the sandbox can stop the executor."""
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT):
                return await ask(of.control)
        except TimeoutError as error:
            raise ExecutorGone("it does not respond") from error

    # Time

    def freeze(self) -> None:
        """Stop every process in the sandbox, so that none takes time from another sandbox's.

        Programs can resist for a while: fork faster than they are found, be deep in a system call,
        or have a timer send them SIGCONT. `stayed_frozen` tells afterwards. The kernel accounts a
        thread's time when it has left the processor, which is later than it reports the thread as
        stopped. So all threads are at rest when they are stopped and their times do not change.
        """
        instance = self._running()
        deadline = time.monotonic() + STOP_TIMEOUT
        while True:
            signal_tree(instance.identity.pid, signal.SIGSTOP)
            before, self._at_rest = self._at_rest, instance.view.threads()
            stopped = all(one.stopped or one.ended for one in self._at_rest.values())
            if (stopped and self._at_rest == before) or time.monotonic() > deadline:
                return
            time.sleep(ACCOUNTING_DELAY)

    def stayed_frozen(self) -> bool:
        """Whether nothing has run since `freeze`; also true if every process has ended."""
        now = self._running().view.threads()
        return not now or stayed_at_rest(self._at_rest, now)

    def processor_time(self) -> float:
        """Seconds of processor time that the threads had used when they were last frozen."""
        return sum(one.ran for one in self._at_rest.values()) / 1e9

    def thaw(self) -> None:
        signal_tree(self.identity.pid, signal.SIGCONT)


def _environment(spec: SandboxSpec, python: str) -> dict[str, str]:
    """The environment variables of every command: a fixed set, then those of the spec."""
    return {
        "PATH": f"{python}:/usr/bin:/bin",
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        # Spinning idle OpenMP threads make busy machines many times slower.
        "OMP_WAIT_POLICY": "PASSIVE",
        **spec.slot_variables,
        **spec.env,
    }


def _launched(command: Sequence[str]) -> list[str]:
    """A command that runs a Python program so that it can start no other one."""
    if not is_python_program(command):
        reason = f"`{shlex.join(command)}` is not of the form `python SCRIPT ARGUMENTS`"
        raise RunFailed("sandbox", reason)
    return [command[0], LAUNCHER, program_filter().hex(), *command[1:]]


def _result(
    command: Command, answer: Answer | None, started: float, *, restarted: bool
) -> CommandResult:
    return CommandResult(
        exit_code=answer.exit_code if answer is not None and command.limit is None else None,
        output=command.output.decode("utf-8", "replace"),
        stdout=bytes(command.stdout),
        stderr=bytes(command.stderr),
        seconds=time.monotonic() - started,
        cpu_seconds=answer.cpu_seconds if answer is not None else None,
        limit=command.limit,
        start_error=answer.start_error if answer is not None else 0,
        restarted=restarted,
    )


def signal_tree(root: int, number: signal.Signals) -> None:
    """Send a signal to every descendant of `root`, until no new one appears."""
    reached: set[int] = set()
    while new := descendants_of(root) - reached:
        for pid in new:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        reached |= new


def descendants_of(root: int) -> set[int]:
    if not _KERNEL_LISTS_CHILDREN:
        return {child.pid for child in psutil.Process(root).children(recursive=True)}
    found: set[int] = set()
    pending = [root]
    while pending:
        for task in _tasks(pending.pop()):
            with contextlib.suppress(OSError):
                children = {int(pid) for pid in (task / "children").read_text("ascii").split()}
                pending.extend(children - found)
                found |= children
    return found


def _tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []
