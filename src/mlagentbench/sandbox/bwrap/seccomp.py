"""A small seccomp filter for bubblewrap, which refuses system calls that evade the limits.

System V shared memory, semaphores, message queues and memory files belong to no process and no
tmpfs, so they would outlive the command. The kernel keyrings are shared with the user's session on
the host. I/O priorities can be set for other users' processes without a trace. A network namespace
does not confine every kind of socket: AF_VSOCK reaches the hypervisor. The rest is kernel surface
that no experiment needs. Programs for another architecture do not run at all.
"""

import errno
import platform
import socket
import struct

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16
_X32_BIT = 0x40000000

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_REFUSED = {
    "shmget": {"x86_64": 29, "aarch64": 194},
    "semget": {"x86_64": 64, "aarch64": 190},
    "msgget": {"x86_64": 68, "aarch64": 186},
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
_SOCKETS = {
    "socket": {"x86_64": 41, "aarch64": 198},
    "socketpair": {"x86_64": 53, "aarch64": 199},
}
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
_NETLINK_ROUTE = 0
"""The one netlink protocol that programs need: getifaddrs() lists network interfaces with it."""


def seccomp_filter() -> bytes | None:
    """The filter for this machine; None if its system calls are not known here."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        return None
    program = _only_this_architecture(machine)
    for numbers in _REFUSED.values():
        program += _on(numbers[machine], [_refuse(errno.EPERM)])
    for numbers in _SOCKETS.values():
        program += _on(numbers[machine], _known_families_only())
    return b"".join([*program, _step(_RETURN, _ALLOW)])


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
    """Load the lower half of an argument: the kernel takes it as an int."""
    return _step(_LOAD, _ARGUMENTS_OFFSET + 8 * index)


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERRNO | number)


def _step(code: int, value: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
