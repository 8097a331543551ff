"""Our command on a system that is not Linux, as far as a test can tell.

`python other_system.py ARGUMENT...` does what `mlagentbench ARGUMENT...` does, without /proc, /sys,
prctl, inotify, and the functions that Python has on Linux only. Packages of others are imported
before: they have their own ways on other systems.
"""

import concurrent.futures.process  # noqa: F401
import ctypes
import fcntl
import os
import signal
import socket
import sys
import sysconfig
import zoneinfo  # noqa: F401
from importlib import import_module
from typing import Any

FOREIGN = "anyio asyncio httpx inspect_ai inspect_ai.log inspect_ai.model inspect_ai.scorer jinja2"
FOREIGN += (
    " inspect_ai.solver inspect_ai.util numpy pandas platformdirs.unix psutil rich scipy.stats"
)
LINUX_ONLY = {
    os: "memfd_create pidfd_open pipe2 sched_getaffinity sched_setaffinity ST_NOEXEC ST_NODEV",
    socket: "AF_NETLINK SCM_CREDENTIALS SO_PASSCRED SO_PEERCRED",
    signal: "pidfd_send_signal",
    fcntl: "F_SETPIPE_SZ",
}
FILES = ("/proc", "/sys")


class LibraryOfAnotherSystem(ctypes.CDLL):
    def __getattr__(self, name: str) -> Any:
        if name == "prctl" or name.startswith("inotify"):
            raise AttributeError(name)
        return super().__getattr__(name)


def hide_files(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str | bytes):
        path = os.fsdecode(arguments[0])
        if any(f"{path}/".startswith(f"{place}/") for place in FILES):
            raise FileNotFoundError(2, "No such file or directory", path)


def main() -> None:
    sysconfig.get_config_vars()
    for name in FOREIGN.split():
        import_module(name)
    sys.platform = "darwin"
    vars(ctypes)["CDLL"] = LibraryOfAnotherSystem
    for module, names in LINUX_ONLY.items():
        for name in names.split():
            vars(module).pop(name, None)
    sys.addaudithook(hide_files)
    import_module("mlagentbench")
    import_module("mlagentbench.cli").main()


if __name__ == "__main__":
    main()
