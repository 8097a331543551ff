"""What is visible and allowed in a container, as options of `docker run`."""

import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path

from mlagentbench.sandbox.base import WORKSPACE, Bind, SandboxSpec
from mlagentbench.sandbox.docker.container_engine import LABEL
from mlagentbench.sandbox.executor.limits import max_tasks
from mlagentbench.sandbox.executor.places import HOME, TMPFS_PLACES, tmpfs_size

HOSTNAME = "sandbox"
_SMALL = 64_000_000
"""Bytes for the executor itself."""


def etc_files(uid: int, gid: int) -> dict[str, str]:
    """The small files in which programs find the user's name, by their places."""
    return {
        "/etc/passwd": (
            "root:x:0:0:root:/root:/usr/sbin/nologin\n"
            f"agent:x:{uid}:{gid}:agent:{HOME}:/bin/sh\n"
            "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
        ),
        "/etc/group": f"root:x:0:\nagent:x:{gid}:\nnogroup:x:65534:\n",
    }


class ContainerOptions:
    """The options of `docker run` for one spec."""

    def __init__(self, spec: SandboxSpec, name: str, uid: int, gid: int) -> None:
        self.spec = spec
        self.name = name
        self._user = f"{uid}:{gid}"

    def words(self, files: dict[str, Path]) -> list[str]:
        """All options; `files` are those that the harness provides, by their places."""
        return [
            *("--detach", "--rm", "--name", self.name, "--label", f"{LABEL}={os.getpid()}"),
            *("--pull", "never", "--log-driver", "none", "--no-healthcheck"),
            *("--network", "none", "--ipc", "private", "--hostname", HOSTNAME),
            *("--user", self._user, "--workdir", WORKSPACE, "--read-only"),
            *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
            *self._limits(),
            *self._gpus(),
            *self._writable_memory(),
            *self._mounts(files),
        ]

    def _limits(self) -> Iterator[str]:
        """What the kernel enforces; a LimitWatch reports a command that exceeds less."""
        limits = self.spec.limits
        in_memory = sum(tmpfs_size(place, limits.tmp_size) for place in TMPFS_PLACES)
        memory = str(limits.memory + in_memory + _SMALL)
        yield from ("--memory", memory, "--memory-swap", memory)
        yield from ("--pids-limit", str(max_tasks(limits)))
        yield from ("--ulimit", "core=0")
        if self.spec.cores:
            yield from ("--cpuset-cpus", ",".join(map(str, self.spec.cores)))
        elif limits.cpus is not None:
            yield from ("--cpus", str(min(limits.cpus, os.cpu_count() or 1)))

    def _gpus(self) -> Iterator[str]:
        if self.spec.gpus:
            devices = ",".join(gpu.uuid for gpu in self.spec.gpus)
            yield from ("--gpus", f'"device={devices}"')

    def _writable_memory(self) -> Iterator[str]:
        execution = "noexec" if self.spec.machine_code == "installed" else "exec"
        for place in TMPFS_PLACES:
            size = tmpfs_size(place, self.spec.limits.tmp_size)
            options = f"rw,nosuid,nodev,{execution},mode=1777,size={size}"
            yield from ("--tmpfs", f"{place}:{options}")

    def _mounts(self, files: dict[str, Path]) -> Iterator[str]:
        for target, source in files.items():
            yield from bind_option(Bind(source=source, target=target))
        may_write = self.spec.machine_code == "any"
        workspace = Bind(source=self.spec.workspace, target=WORKSPACE, writable=may_write)
        for bind in (workspace, *self.spec.binds):
            yield from bind_option(bind)


def bind_option(bind: Bind) -> tuple[str, str]:
    """The --mount for one path of the host."""
    writable = () if bind.writable else ("readonly",)
    return _mount("type=bind", f"src={bind.source}", f"dst={bind.target}", *writable)


def _mount(*fields: str) -> tuple[str, str]:
    """One --mount, whose fields are those of a line of a CSV file."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return "--mount", line.getvalue()
