"""A small seccomp filter for bubblewrap, which refuses system calls that evade the limits.

System V shared memory, semaphores, message queues and memory files belong to no process and no
tmpfs, so they would outlive the command. The kernel keyrings are shared with the user's session on
the host. I/O priorities can be set for other users' processes without a trace. The rest is kernel
surface that no experiment needs. Programs for another architecture do not run at all.
"""

import errno
import platform
import struct

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET = 0, 4
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


def seccomp_filter() -> bytes | None:
    """The filter for this machine; None if its system calls are not known here."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        return None
    program = [
        _step(_LOAD, _ARCHITECTURE_OFFSET),
        _step(_JUMP_EQUAL, _ARCHITECTURES[machine], if_true=1),
        _step(_RETURN, _ERRNO | errno.ENOSYS),
        _step(_LOAD, _NUMBER_OFFSET),
    ]
    if machine == "x86_64":
        program += [
            _step(_JUMP_AT_LEAST, _X32_BIT, if_false=1),
            _step(_RETURN, _ERRNO | errno.ENOSYS),
        ]
    for numbers in _REFUSED.values():
        program += [
            _step(_JUMP_EQUAL, numbers[machine], if_false=1),
            _step(_RETURN, _ERRNO | errno.EPERM),
        ]
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _step(code: int, value: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
