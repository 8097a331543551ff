"""Small seccomp filters: one for every sandbox, which refuses system calls that evade the limits.

System V shared memory, semaphores, message queues and memory files belong to no process and no
tmpfs, so they would outlive the command. The kernel keyrings are shared with the user's session on
the host. I/O priorities can be set for other users' processes without a trace. Programs that choose
their cores could take those of other runs, and a filter cannot see which cores they choose.
A network namespace does not confine every kind of socket: AF_VSOCK reaches the hypervisor. The rest
is kernel surface that no experiment needs. Programs for another architecture do not run at all.

Where only installed machine code may run, no process can make memory executable that it could have
written. Files are executable where they are mapped from a mount that allows it; all mounts that a
submission can write or has filled do not. A second filter, which a program gets when it has
started, refuses to start others.
"""

import errno
import mmap
import platform
import socket
import struct

from mlagentbench.errors import RunFailed
from mlagentbench.records import MachineCode

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_IF_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16
_X32_BIT = 0x40000000

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_REFUSED = {
    "shmget": {"x86_64": 29, "aarch64": 194},
    "semget": {"x86_64": 64, "aarch64": 190},
    "msgget": {"x86_64": 68, "aarch64": 186},
    "sched_setaffinity": {"x86_64": 203, "aarch64": 122},
    "mq_open": {"x86_64": 240, "aarch64": 180},
    "add_key": {"x86_64": 248, "aarch64": 217},
    "request_key": {"x86_64": 249, "aarch64": 218},
    "keyctl": {"x86_64": 250, "aarch64": 219},
    "ioprio_set": {"x86_64": 251, "aarch64": 30},
    "perf_event_open": {"x86_64": 298, "aarch64": 241},
    "sched_setattr": {"x86_64": 314, "aarch64": 274},
    "memfd_create": {"x86_64": 319, "aarch64": 279},
    "bpf": {"x86_64": 321, "aarch64": 280},
    "userfaultfd": {"x86_64": 323, "aarch64": 282},
    "io_uring_setup": {"x86_64": 425, "aarch64": 425},
}
_REFUSED_WITH_NEW_CODE = {
    "shmat": {"x86_64": 30, "aarch64": 196},
    "ptrace": {"x86_64": 101, "aarch64": 117},
    "uselib": {"x86_64": 134},
    "personality": {"x86_64": 135, "aarch64": 92},
    "modify_ldt": {"x86_64": 154},
    "remap_file_pages": {"x86_64": 216, "aarch64": 234},
    "process_vm_readv": {"x86_64": 310, "aarch64": 270},
    "process_vm_writev": {"x86_64": 311, "aarch64": 271},
    "pidfd_getfd": {"x86_64": 438, "aarch64": 438},
    "memfd_secret": {"x86_64": 447, "aarch64": 447},
}
_MMAP = {"x86_64": 9, "aarch64": 222}
_PROTECT = {
    "mprotect": {"x86_64": 10, "aarch64": 226},
    "pkey_mprotect": {"x86_64": 329, "aarch64": 288},
}
_PRCTL = {"x86_64": 157, "aarch64": 167}
_PR_SET_DUMPABLE = 4
_EXEC = {
    "execve": {"x86_64": 59, "aarch64": 221},
    "execveat": {"x86_64": 322, "aarch64": 281},
}
_SOCKETS = {
    "socket": {"x86_64": 41, "aarch64": 198},
    "socketpair": {"x86_64": 53, "aarch64": 199},
}
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
_NETLINK_ROUTE = 0
"""The one netlink protocol that programs need: getifaddrs() lists network interfaces with it."""


def sandbox_filter(machine_code: MachineCode) -> bytes | None:
    """The filter of a sandbox; None if this machine's system calls are not known here.

    Raises RunFailed if they are not, and only installed machine code may run.
    """
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        if machine_code == "any":
            return None
        raise RunFailed("sandbox", _unknown_machine(machine))
    program = _only_this_architecture(machine) + _refuse_all(_REFUSED, machine)
    for numbers in _SOCKETS.values():
        program += _on(numbers[machine], _known_families_only())
    if machine_code == "installed":
        program += _refuse_all(_REFUSED_WITH_NEW_CODE, machine)
        program += _on(_MMAP[machine], _executable_only_from_files())
        for numbers in _PROTECT.values():
            program += _on(numbers[machine], _never_executable())
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def program_filter() -> bytes:
    """The additional filter of a program that must not start others."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise RunFailed("sandbox", _unknown_machine(machine))
    program = _only_this_architecture(machine) + _refuse_all(_EXEC, machine)
    program += _on(_PRCTL[machine], _not_dumpable_again())
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _unknown_machine(machine: str) -> str:
    known = " and ".join(_ARCHITECTURES)
    return (
        f"cannot restrict programs to installed machine code on {machine}, only on {known}; "
        "grade this task on another machine"
    )


def _only_this_architecture(machine: str) -> list[bytes]:
    """Refuse other architectures' system calls, then load the number of the call."""
    program = [
        _step(_LOAD, _ARCHITECTURE_OFFSET),
        _step(_JUMP_EQUAL, _ARCHITECTURES[machine], if_true=1),
        _refuse(errno.ENOSYS),
        _step(_LOAD, _NUMBER_OFFSET),
    ]
    if machine == "x86_64":
        program += [_step(_JUMP_AT_LEAST, _X32_BIT, if_false=1), _refuse(errno.ENOSYS)]
    return program


def _refuse_all(calls: dict[str, dict[str, int]], machine: str) -> list[bytes]:
    program = []
    for numbers in calls.values():
        if machine in numbers:
            program += _on(numbers[machine], [_refuse(errno.EPERM)])
    return program


def _executable_only_from_files() -> list[bytes]:
    """mmap: executable memory is a private copy of a file, and never writable.

    Shared memory of /dev/zero could be made writable in another process.
    """
    return [
        _load_argument(2),
        _step(_JUMP_IF_SET, mmap.PROT_EXEC, if_false=3),
        _step(_JUMP_IF_SET, mmap.PROT_WRITE, if_true=3),
        _load_argument(3),
        _step(_JUMP_IF_SET, mmap.MAP_ANONYMOUS | mmap.MAP_SHARED, if_true=1),
        _step(_RETURN, _ALLOW),
        _refuse(errno.EPERM),
    ]


def _never_executable() -> list[bytes]:
    """mprotect: memory that was not executable from the beginning never becomes so."""
    return [
        _load_argument(2),
        _step(_JUMP_IF_SET, mmap.PROT_EXEC, if_true=1),
        _step(_RETURN, _ALLOW),
        _refuse(errno.EPERM),
    ]


def _not_dumpable_again() -> list[bytes]:
    """prctl: a process that is not dumpable stays so."""
    return [
        _load_argument(0),
        _step(_JUMP_EQUAL, _PR_SET_DUMPABLE, if_true=1),
        _step(_RETURN, _ALLOW),
        _refuse(errno.EPERM),
    ]


def _known_families_only() -> list[bytes]:
    families = [
        step
        for family in _FAMILIES
        for step in (_step(_JUMP_EQUAL, family, if_false=1), _step(_RETURN, _ALLOW))
    ]
    return [
        _load_argument(0),
        *families,
        _step(_JUMP_EQUAL, socket.AF_NETLINK, if_false=3),
        _load_argument(2),
        _step(_JUMP_EQUAL, _NETLINK_ROUTE, if_false=1),
        _step(_RETURN, _ALLOW),
        _refuse(errno.EAFNOSUPPORT),
    ]


def _on(number: int, steps: list[bytes]) -> list[bytes]:
    """These steps, of which the last returns, for the system call with that number."""
    return [_step(_JUMP_EQUAL, number, if_false=len(steps)), *steps]


def _load_argument(index: int) -> bytes:
    """Load the lower half of an argument; what is checked here fits into it."""
    return _step(_LOAD, _ARGUMENTS_OFFSET + 8 * index)


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERRNO | number)


def _step(code: int, value: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
