"""What the harness asks of a sandbox, and the records it speaks in."""

import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal, Protocol

from mlagentbench.records import Record

WORKSPACE = "/workspace"

LimitName = Literal[
    "wall time", "memory", "processes", "file size", "workspace size", "tmp size", "output size"
]


class Limits(Record):
    """What one command may use; each ends the command, never the harness."""

    wall_time: float = 3600.0
    memory: int = 8_000_000_000
    processes: int = 512
    file_size: int = 4_000_000_000
    workspace_size: int = 20_000_000_000
    tmp_size: int = 1_000_000_000
    output_size: int = 10_000_000
    cpus: int | None = None


class LimitHit(Record):
    """Which limit ended a command, and its value in words."""

    name: LimitName
    value: str

    def __str__(self) -> str:
        return f"ended by the limit on {self.name} ({self.value})"


class Bind(Record):
    """A file or directory of the host that is visible at `target` inside."""

    source: Path
    target: str
    writable: bool = False


class SandboxSpec(Record):
    """Everything that decides what is visible and allowed inside."""

    workspace: Path
    python_env: Path
    binds: tuple[Bind, ...] = ()
    env: dict[str, str] = {}
    limits: Limits = Limits()
    gpus: bool = False

    @property
    def placeholders(self) -> frozenset[str]:
        """Names at the top of the workspace where the host sees only empty stand-ins for binds."""
        places = (PurePosixPath(bind.target) for bind in self.binds)
        return frozenset(place.name for place in places if str(place.parent) == WORKSPACE)


class Identity(Record):
    """Which processes a sandbox is, for good: a pid alone is given out again."""

    pid: int
    started: int
    boot: str


class CommandResult(Record):
    """How a command ended. `output` is stdout and stderr as they came, interleaved."""

    exit_code: int | None
    output: str
    stdout: bytes
    stderr: bytes
    seconds: float
    cpu_seconds: float | None = None
    limit: LimitHit | None = None
    start_error: int = 0
    """The errno why the command could not be started at all; 0 when it was."""
    restarted: bool = False


class LoopbackServer(Protocol):
    """A server of the harness's that is reached inside, on a port of the sandbox's loopback."""

    @property
    def port(self) -> int: ...

    async def serve(self, listening: socket.socket) -> None:
        """Answer on this socket from now on; again for each sandbox started anew."""
        ...


class Sandbox(Protocol):
    """A place where the agent's commands run and its files live.

    Relative paths start at the workspace. Read and write raise FileNotFoundError,
    IsADirectoryError and PermissionError as the sandbox itself sees the file; a broken sandbox
    raises RunFailed("sandbox", ...).
    """

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
        """Run a command to its end; everything it started is gone when this returns.

        So is, unless `tidy` is false, every file that appeared outside of the workspace meanwhile.
        """
        ...

    async def read(self, path: str) -> bytes:
        """The bytes of a file."""
        ...

    async def write(self, path: str, contents: bytes) -> None:
        """Write a file whole, creating its parents."""
        ...
