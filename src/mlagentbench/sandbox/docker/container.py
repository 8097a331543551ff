"""One running container, from its start until its last process has ended.

The executor connects to a socket that is bound into the container. The socket is closed when the
executor has connected, so no command can. The executor ends when the harness closes its end or is
killed, the container ends with its executor, and the engine removes it.
"""

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import tempfile
from pathlib import Path
from shutil import rmtree
from typing import Self

import anyio
from anyio import to_thread
from pydantic import Field, ValidationError

from mlagentbench.errors import RunFailed
from mlagentbench.fs import chown_tree, disk_trouble
from mlagentbench.guest import GUEST
from mlagentbench.records import Record
from mlagentbench.sandbox.base import Bind, SandboxSpec
from mlagentbench.sandbox.docker.container_engine import CONTAINER_NAME, LABEL, ContainerEngine
from mlagentbench.sandbox.docker.container_options import ContainerOptions, bind_option, etc_files
from mlagentbench.sandbox.docker.container_view import ContainerView
from mlagentbench.sandbox.docker.images import TaskImage
from mlagentbench.sandbox.executor.executor_instance import (
    START_TIMEOUT,
    ExecutorInstance,
    receive_ready,
)
from mlagentbench.sandbox.executor.guardian_client import identify
from mlagentbench.sandbox.executor.limits import hard_limits
from mlagentbench.sandbox.executor.noexec import NOEXEC_PROGRAM, forbid_new_machine_code
from mlagentbench.sandbox.executor.places import ENVIRONMENT, EXECUTOR, LAUNCHER, TMPFS_PLACES
from mlagentbench.sandbox.executor.seccomp import sandbox_filter
from mlagentbench.tasks.subprocesses import run_command

_CONTROL = "/run/control"
_FILTER = "/run/filter"
_PROGRAMS = {EXECUTOR: GUEST / "executor.py", LAUNCHER: GUEST / "program_launcher.py"}
_EXTRA = 0.2
"""Seconds between looks at whether a container that is starting has ended."""


class LeftContainer(Record):
    """`sandbox.json`: the container that a killed harness may have left behind."""

    container: str = Field(pattern=f"^{CONTAINER_NAME}$")

    @classmethod
    def read(cls, written: bytes) -> Self:
        """A container that this package made; RunFailed if the file names anything else."""
        try:
            return cls.model_validate_json(written)
        except ValidationError:
            raise RunFailed(
                "sandbox",
                "sandbox.json of the run does not name a container of MLAgentBench, so nothing was "
                f"removed; if `docker ps --filter label={LABEL}` shows none of this run, remove "
                "the file",
            ) from None


class Container(ExecutorInstance):
    """A container whose executor is ready."""

    def __init__(self, control: socket.socket, container: str) -> None:
        super().__init__(control)
        self.container = container
        self._process: int | None = None

    @property
    def name(self) -> str:
        return f"container {self.container}"

    @property
    def leftover(self) -> Record:
        return LeftContainer(container=self.container)

    @classmethod
    async def start(
        cls, engine: ContainerEngine, image: TaskImage, spec: SandboxSpec, uid: int | None
    ) -> "Container":
        """Start a container and wait until its executor is ready; `uid` is None for our own."""
        user = (os.getuid(), os.getgid()) if uid is None else (uid, uid)
        name = f"{LABEL}-{os.getpid()}-{secrets.token_hex(4)}"
        options = ContainerOptions(spec, name, *user)
        container: Container | None = None
        with socket.socket(socket.AF_UNIX) as listener:
            directory, files = _make_files(listener, user, spec)
            command = _executor_command(spec, own_uid=uid is not None, filtered=_FILTER in files)
            call = ["--entrypoint", command[0], image.tag, *command[1:]]
            try:
                with anyio.fail_after(START_TIMEOUT, shield=True):
                    await _launch(engine, directory, [*options.words(files), *call])
                async with asyncio.timeout(START_TIMEOUT):
                    container = cls(await _accepted(listener, engine, name), name)
                    await container._wait_until_ready()
                    if spec.machine_code == "installed":
                        helper = _helper(engine, image.base)
                        await forbid_new_machine_code(container.identity.pid, spec, helper)
            except BaseException as error:
                with anyio.CancelScope(shield=True):
                    try:
                        await to_thread.run_sync(engine.remove_container, name)
                    finally:
                        rmtree(directory, ignore_errors=True)
                        if container is not None:
                            container._forget()
                if isinstance(error, TimeoutError):
                    raise RunFailed("sandbox", f"container {name} did not start in time") from error
                raise
        return container

    async def _wait_until_ready(self) -> None:
        await anyio.wait_readable(self.control)
        executor = receive_ready(self.control)
        if not executor:
            raise RunFailed(
                "sandbox",
                f"{self.name} is not on this machine, or ended while starting; the engine must run "
                "on the same Linux as MLAgentBench",
            )
        try:
            self._process = os.pidfd_open(executor)
            self._end_with(self._process)
            self.view = ContainerView(executor)
        except (OSError, KeyError) as error:
            raise RunFailed("sandbox", f"cannot look into {self.name}: {error}") from error
        identity = identify(executor)
        if identity is None:
            raise RunFailed("sandbox", f"{self.name} ended while starting")
        self.identity = identity

    def _forget(self) -> None:
        """Close the descriptors of a container that did not start."""
        if self._process is not None:
            self._loop.remove_reader(self._process)
        self.release()

    def send_kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._process is not None and not self.ended.is_set():
                signal.pidfd_send_signal(self._process, signal.SIGKILL)


_LAUNCH = """
"$@" >"$0/said" 2>&1
status=$?
cat "$0/said"
rm -rf "$0"
exit $status
"""
"""Starts a container, whose files can be removed when it has them.

If this process is killed meanwhile, the container starts all the same: its executor cannot connect
to a harness, and ends. An engine would keep a container that it created and could not start.
"""


async def _launch(engine: ContainerEngine, directory: Path, words: list[str]) -> None:
    done = await run_command(["sh", "-c", _LAUNCH, str(directory), engine.program, "run", *words])
    engine.require_success("run", done)


def _make_files(
    listener: socket.socket, user: tuple[int, int], spec: SandboxSpec
) -> tuple[Path, dict[str, Path]]:
    """A new directory with the files that a container gets, and these by their places in it."""
    directory = Path(tempfile.mkdtemp(prefix=f"{LABEL}-container-"))
    try:
        return directory, _write_files(directory, listener, user, spec)
    except BaseException as error:
        rmtree(directory, ignore_errors=True)
        if isinstance(error, OSError):
            raise RunFailed(
                "sandbox",
                f"cannot write a container's files to {directory.parent} (TMPDIR names another "
                f"directory): {disk_trouble(error)}",
            ) from error
        raise


def _write_files(
    directory: Path, listener: socket.socket, user: tuple[int, int], spec: SandboxSpec
) -> dict[str, Path]:
    contents = {place: program.read_text() for place, program in _PROGRAMS.items()}
    contents |= etc_files(*user)
    refused = sandbox_filter(spec.machine_code)
    if refused is not None:
        contents[_FILTER] = refused.hex()
    files = {place: directory / Path(place).name for place in contents}
    for place, file in files.items():
        file.write_text(contents[place], encoding="utf-8")
        file.chmod(0o444)
    files[_CONTROL] = directory / "control"
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # connections inherit it
    _bind(listener, files[_CONTROL])
    listener.listen(1)
    listener.setblocking(False)
    if os.geteuid() == 0:
        chown_tree(user[0], files[_CONTROL])
    return files


def _bind(listener: socket.socket, path: Path) -> None:
    """Bind a socket to a path of any length; the kernel takes addresses of 107 bytes at most."""
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{directory}/{path.name}")
    finally:
        os.close(directory)


def _executor_command(spec: SandboxSpec, *, own_uid: bool, filtered: bool) -> list[str]:
    """The executor, behind a filter of system calls that is added to the engine's own."""
    limits = hard_limits(spec.limits, own_uid=own_uid)
    if not own_uid:
        limits.pop("NPROC", None)  # it would count our user's processes on the host, too
    return [
        *(f"{ENVIRONMENT}/bin/python3", "-I", "-S", "-B"),
        *((LAUNCHER, _FILTER) if filtered else ()),
        *(EXECUTOR, _CONTROL, json.dumps(limits), *TMPFS_PLACES),
    ]


def _helper(engine: ContainerEngine, base: str) -> list[str] | None:
    """A container that may change the mounts of another, where this process is not root.

    It has the base image, so that no package of a task is in a container with these privileges.
    """
    if os.geteuid() == 0:
        return None
    place = f"/run/{NOEXEC_PROGRAM.name}"
    return [
        *(engine.program, "run", "--rm", "--pid", "host", "--network", "none", "--read-only"),
        *("--no-healthcheck", "--pull", "never"),
        *(word for one in ("SYS_ADMIN", "SYS_CHROOT", "SYS_PTRACE") for word in ("--cap-add", one)),
        *("--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"),
        *bind_option(Bind(source=NOEXEC_PROGRAM, target=place)),
        *("--user", "0", "--entrypoint", "python3", base, "-I", "-S", place),
    ]


async def _accepted(listener: socket.socket, engine: ContainerEngine, name: str) -> socket.socket:
    """The executor's connection; RunFailed when the container has ended without one."""
    loop = asyncio.get_running_loop()
    accepting = asyncio.ensure_future(loop.sock_accept(listener))
    try:
        while not (await asyncio.wait([accepting], timeout=_EXTRA))[0]:
            if (await engine.run("container", "inspect", name)).exit_code:
                raise RunFailed(
                    "sandbox",
                    f"container {name} ended before its executor connected; the engine must run on "
                    "the same Linux as MLAgentBench and see its files",
                )
        control, _address = accepting.result()
    except BaseException:
        if not accepting.cancel() and not accepting.cancelled() and not accepting.exception():
            accepting.result()[0].close()
        raise
    control.setblocking(False)
    return control
