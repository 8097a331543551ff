"""What a command finds around it, as JSON: run as the last part of a script inside a sandbox.

Two commands of which the first left nothing behind print the same.
"""
# ruff: noqa: PTH109, PTH116, PTH118, PTH208

import json
import os
import resource
import socket
import stat
from pathlib import Path

PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/home/agent")
STATUS = ("SigBlk:", "SigIgn:", "SigCgt:", "NoNewPrivs:", "Seccomp:", "CapEff:")


def lines(path: str) -> list[list[str]]:
    return [line.split() for line in Path(path).read_text().splitlines()]


def names_of_processes() -> list[str]:
    """All but the executor's, of which there is one more or less at times."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if b"\0/run/executor.py\0" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(Path(f"/proc/{pid}/stat").read_text().split()[1])
        except OSError:
            continue
    return sorted(found)


def files() -> list[str]:
    found = []
    for place in PLACES:
        found.append(f"{place} {stat.filemode(os.stat(place).st_mode)} {os.listxattr(place)}")
        for folder, directories, names in os.walk(os.fsencode(place)):
            found += [str(os.path.join(folder, name)) for name in (*directories, *names)]
    return found


def sockets() -> list[str]:
    listening = [fields[1] for fields in lines("/proc/net/tcp") if fields[3] == "0A"]
    named = [" ".join(fields[7:]) for fields in lines("/proc/net/unix")[1:] if len(fields) > 7]
    return sorted(listening + named)


def census() -> dict[str, object]:
    resources = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
    umask = os.umask(0)
    os.umask(umask)
    status = {fields[0]: fields[1:] for fields in lines("/proc/self/status") if fields}
    return {
        "processes": names_of_processes(),
        "files": files(),
        "sockets": sockets(),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "semaphores": lines("/proc/sysvipc/sem"),
        "shared memory": lines("/proc/sysvipc/shm"),
        "queues": lines("/proc/sysvipc/msg"),
        "locks": [fields[1:4] for fields in lines("/proc/locks")],
        "mounts": [(fields[4], fields[5]) for fields in lines("/proc/self/mountinfo")],
        "limits": [resource.getrlimit(getattr(resource, name)) for name in resources],
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
        "scheduler": os.sched_getscheduler(0),
        "processors": sorted(os.sched_getaffinity(0)),
        "umask": umask,
        "directory": os.getcwd(),
        "variables": dict(os.environ),
        "status": [status[name] for name in STATUS],
        "host": socket.gethostname(),
    }


print(json.dumps(census()))
