"""A running container seen from the host: its control group and the host's /proc."""

import contextlib
import os
from pathlib import Path

from mlagentbench.sandbox.executor.limits import SandboxView
from mlagentbench.sandbox.executor.places import TMPFS_PLACES

_GROUPS = Path("/sys/fs/cgroup")


class ContainerView(SandboxView):
    """All processes of a container, by their pids on the host.

    An ordinary user cannot look into the file systems of a container. The executor tells at the
    end of a command whether a tmpfs is full.
    """

    def __init__(self, executor: int) -> None:
        self._executor = str(executor)
        self._members = _group_of(executor, "pids") / "cgroup.procs"
        self._memory = _group_of(executor, "memory")
        self._killed = self._kills()
        self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        self._tmpfs = []
        try:
            for place in TMPFS_PLACES:
                path = f"/proc/{executor}/root{place}"
                self._tmpfs.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
        except PermissionError:
            pass
        except OSError:
            self.close()
            raise

    def pids(self) -> list[str]:
        try:
            return self._members.read_text(encoding="ascii").split()
        except OSError:  # it has ended
            return []

    def killed_for_memory(self) -> bool:
        before, self._killed = self._killed, self._kills()
        return self._killed > before

    def _kills(self) -> int:
        """How many processes the kernel has killed because the container's memory was used up."""
        for name in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError):
                for line in (self._memory / name).read_text(encoding="ascii").splitlines():
                    key, _, value = line.partition(" ")
                    if key == "oom_kill":
                        return int(value)
        return 0


def _group_of(pid: int, controller: str) -> Path:
    """The control group of a process, in the hierarchy of this controller or the only one."""
    lines = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines()
    paths = {name: path for _, names, path in map(_fields, lines) for name in names.split(",")}
    if controller in paths:
        return _GROUPS / controller / paths[controller].lstrip("/")
    return _GROUPS / paths[""].lstrip("/")


def _fields(line: str) -> list[str]:
    return line.split(":", 2)
