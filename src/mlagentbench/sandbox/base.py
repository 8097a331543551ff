"""The contract of a sandbox, and its records."""

import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal, Protocol

from mlagentbench.machine.gpus import Gpu
from mlagentbench.machine.slots import slot_in_use
from mlagentbench.records import MachineCode, Record
from mlagentbench.tasks.spec import ToolName

WORKSPACE = "/workspace"

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

LimitName = Literal[
    "wall time", "memory", "processes", "file size", "workspace size", "tmp size", "output size"
]


class Limits(Record):
    """What one command may use; exceeding a limit ends the command, never the harness."""

    wall_time: float = 3600.0
    memory: int = 8_000_000_000
    processes: int = 512
    file_size: int = 4_000_000_000
    workspace_size: int = 20_000_000_000
    tmp_size: int = 1_000_000_000
    output_size: int = 10_000_000
    cpus: int | None = None


class LimitHit(Record):
    """The limit that ended a command, and a description of its value."""

    name: LimitName
    value: str

    def __str__(self) -> str:
        return f"ended by the limit on {self.name} ({self.value})"


class Bind(Record):
    """A file or directory of the host, visible at `target` in the sandbox."""

    source: Path
    target: str
    writable: bool = False


class SandboxSpec(Record):
    """Everything that is visible and allowed in a sandbox."""

    workspace: Path
    python_env: Path
    binds: tuple[Bind, ...] = ()
    env: dict[str, str] = {}
    limits: Limits = Limits()
    cores: tuple[int, ...] = ()
    """The ids of the cores that commands run on and see; empty for all."""
    gpus: tuple[Gpu, ...] = ()
    machine_code: MachineCode = "any"
    """With "installed" the workspace is read-only, and commands are Python programs that can start
    no other."""
    tools: tuple[ToolName, ...] = ()
    """Compilers and language runtimes that are visible besides Python."""
    foreign_commands: bool = True
    """Whether Inspect's tools and agents can run commands in it; actions of a run always can."""

    @property
    def slot_variables(self) -> dict[str, str]:
        """The environment variables that say how many threads to start, and which GPUs to use."""
        counts = [count for count in (self.limits.cpus, len(self.cores)) if count]
        threads = dict.fromkeys(_THREADS, str(min(counts))) if counts else {}
        uuids = ",".join(gpu.uuid for gpu in self.gpus)
        return threads | ({"CUDA_VISIBLE_DEVICES": uuids} if uuids else {})

    def in_slot(self) -> "SandboxSpec":
        """The same within the slot that is in use here, if there is one."""
        slot = slot_in_use()
        if slot is None:
            return self
        memory = min(self.limits.memory, slot.memory)
        limits = self.limits.model_copy(update={"memory": memory})
        return self.model_copy(
            update={"cores": slot.cpus, "gpus": slot.gpus, "limits": limits},
        )

    @property
    def placeholders(self) -> frozenset[str]:
        """Top-level names of the workspace where the host sees empty placeholders of binds.

        The host sees the files of a writable bind, if they are in the workspace there, too.
        """
        places = (PurePosixPath(bind.target) for bind in self.binds if not bind.writable)
        return frozenset(place.name for place in places if str(place.parent) == WORKSPACE)


class Identity(Record):
    """Identifies the processes of a sandbox; a pid alone can be reused."""

    pid: int
    started: int
    boot: str


class CommandResult(Record):
    """How a command ended. `output` is stdout and stderr interleaved, in order of arrival."""

    exit_code: int | None
    output: str
    stdout: bytes
    stderr: bytes
    seconds: float
    cpu_seconds: float | None = None
    limit: LimitHit | None = None
    start_error: int = 0
    """The errno if the command could not be started, else 0."""
    restarted: bool = False


class LoopbackServer(Protocol):
    """A server of the harness that programs reach on a port of the sandbox's loopback."""

    @property
    def port(self) -> int: ...

    async def serve(self, listening: socket.socket) -> None:
        """Serve this socket from now on; called again when the sandbox is restarted."""
        ...


class Sandbox(Protocol):
    """Where the agent's commands run and its files are.

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
        """Run a command; when this returns, every process it started has ended.

        Unless `tidy` is false, files created outside of the workspace meanwhile are removed.
        """
        ...

    async def read(self, path: str) -> bytes:
        """The bytes of a file."""
        ...

    async def write(self, path: str, contents: bytes) -> None:
        """Write a complete file, creating its parents."""
        ...
