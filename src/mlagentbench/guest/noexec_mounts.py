"""Forbids executing files on mounts of a sandbox, from outside, before a command runs in it.

`python -I -S noexec_mounts.py PID PLACE...` (standard library only). PID is a process in the
sandbox. Every writable mount becomes noexec, and every mount at or below one of the places.
bubblewrap has no option for this. Who started the sandbox has the capabilities for it that no
process in the sandbox has: it is root, or it owns the sandbox's user namespace.
"""

import ctypes
import fcntl
import os
import re
import sys
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
NS_GET_USERNS = 0xB701
MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_RELATIME = 8, 32, 4096, 1 << 21
ST_RELATIME = 4096
KEPT = os.ST_RDONLY | os.ST_NOSUID | os.ST_NODEV | os.ST_NOATIME | os.ST_NODIRATIME
"""Flags that have the same values in statvfs() and mount(), which resets those it is not given."""

LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    pid, places = sys.argv[1], sys.argv[2:]
    lines = Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    mounts = changed_mounts(lines.splitlines(), places)
    enter_mounts_of(pid)
    for mount in mounts:
        forbid_exec(mount)


def changed_mounts(lines: list[str], places: list[str]) -> list[str]:
    """Places of mounts that have to become noexec; of several at one place, the last is seen."""
    changed = {}
    for line in lines:
        escaped, options = line.split()[4:6]
        mount = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), escaped)
        within = any(f"{mount}/".startswith(f"{place}/") for place in places)
        changed[mount] = within or "rw" in options.split(",")
    return [mount for mount, is_changed in changed.items() if is_changed]


def enter_mounts_of(pid: str) -> None:
    """Enter the sandbox's mount namespace, as a user that may change its mounts."""
    namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    if os.geteuid() != 0:
        owner = fcntl.ioctl(namespace, NS_GET_USERNS)
        require(LIBC.setns(owner, CLONE_NEWUSER) == 0, "user namespace")
    require(LIBC.setns(namespace, CLONE_NEWNS) == 0, "mount namespace")


def forbid_exec(mount: str) -> None:
    """Make the mount at this place noexec; another mount may cover it."""
    try:
        flags = os.statvfs(mount).f_flag
    except FileNotFoundError:
        return
    relative = MS_RELATIME if flags & ST_RELATIME else 0
    changed = flags & KEPT | relative | MS_NOEXEC | MS_REMOUNT | MS_BIND
    done = LIBC.mount(None, os.fsencode(mount), None, changed, None) == 0
    require(done or bool(os.statvfs(mount).f_flag & os.ST_NOEXEC), mount)


def require(done: bool, what: str) -> None:
    if not done:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


if __name__ == "__main__":
    main()
