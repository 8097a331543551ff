"""Attempts to execute machine code that is not installed, or another program, in a sandbox.

`python machine_code.py` prints, as JSON, the names of the attempts that succeeded. Each is made in
a process of its own, which ends with the status WON if it did.
"""
# ruff: noqa: PTH123

import base64
import contextlib
import ctypes
import json
import mmap
import os
import subprocess
import typing
from collections.abc import Callable
from functools import partial
from pathlib import Path

MACHINE = os.uname().machine
WON = 42
RETURN_WON = {"x86_64": "b82a000000c3", "aarch64": "40058052c0035fd6"}[MACHINE]
CODE = bytes.fromhex(RETURN_WON)
"""A function that returns WON."""
LIBC = ctypes.CDLL(None, use_errno=True)
PAGE = mmap.PAGESIZE
PRIVATE, ANONYMOUS = mmap.MAP_PRIVATE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
READ, WRITE, EXECUTE = mmap.PROT_READ, mmap.PROT_WRITE, mmap.PROT_EXEC
READ_IMPLIES_EXEC = 0x0400000
SHM_EXEC, PTRACE_TRACEME = 0o100000, 0
SYSCALLS = {
    "execveat": {"x86_64": 322, "aarch64": 281},
    "pkey_mprotect": {"x86_64": 329, "aarch64": 288},
    "process_vm_writev": {"x86_64": 311, "aarch64": 271},
    "io_uring_setup": {"x86_64": 425, "aarch64": 425},
}
AT_EMPTY_PATH = 0x1000
WRITABLE = ("/tmp", "/var/tmp", "/dev/shm", str(Path.home()), "/workspace", "outputs")

ATTACKS: dict[str, Callable[[], object]] = {}

for name in ("mmap", "shmat"):
    getattr(LIBC, name).restype = ctypes.c_void_p
LIBC.mmap.argtypes = (
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
)  # fmt: skip


def attack(function: Callable[[], object]) -> Callable[[], object]:
    ATTACKS[function.__name__] = function
    return function


def for_each_place(function: Callable[[str], object]) -> Callable[[str], object]:
    for place in WRITABLE:
        ATTACKS[f"{function.__name__} {place}"] = partial(function, place)
    return function


def refused() -> OSError:
    return OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def succeeded(result: int) -> None:
    if result != 0:
        raise refused()


def call(name: str, *arguments: object) -> int:
    whole = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    found: int = LIBC.syscall(SYSCALLS[name][MACHINE], *whole)
    if found < 0:
        raise refused()
    return found


def memory(protection: int, flags: int = ANONYMOUS, file: int = -1) -> int:
    address: int = LIBC.mmap(None, PAGE, protection, flags, file, 0)
    if address == ctypes.c_void_p(-1).value:
        raise refused()
    return address


def run(address: int) -> None:
    """Leave with what the function at this address returns."""
    os._exit(ctypes.PYFUNCTYPE(ctypes.c_int)(address)())


def write_and_run(address: int) -> None:
    ctypes.memmove(address, CODE, len(CODE))
    run(address)


def library() -> str:
    """The file of an installed library."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return next(line.split()[-1] for line in lines if "libc.so" in line or "libc-" in line)


@attack
def evaluate_a_type_hint() -> None:
    """Through no name or import that a filter of the source could find."""

    def hinted() -> "type('T', (), {'run': __import__('subprocess').run})":  # type: ignore
        ...

    found = typing.get_type_hints(hinted)["return"]
    found.run(["/bin/true"], check=True)
    os._exit(WON)


@attack
def map_executable_memory() -> None:
    write_and_run(memory(READ | WRITE | EXECUTE))


@attack
def make_memory_executable() -> None:
    address = memory(READ | WRITE)
    ctypes.memmove(address, CODE, len(CODE))
    succeeded(LIBC.mprotect(ctypes.c_void_p(address), PAGE, READ | EXECUTE))
    run(address)


@attack
def make_memory_executable_with_a_key() -> None:
    address = memory(READ | WRITE)
    ctypes.memmove(address, CODE, len(CODE))
    call("pkey_mprotect", ctypes.c_void_p(address), PAGE, READ | EXECUTE, -1)
    run(address)


@attack
def make_the_stack_executable() -> None:
    buffer = (ctypes.c_char * (3 * PAGE))()
    address = (ctypes.addressof(buffer) + PAGE) // PAGE * PAGE
    ctypes.memmove(address, CODE, len(CODE))
    succeeded(LIBC.mprotect(ctypes.c_void_p(address), PAGE, READ | WRITE | EXECUTE))
    run(address)


@attack
def change_a_private_copy_of_a_library() -> None:
    with open(library(), "rb") as file:
        write_and_run(memory(READ | WRITE | EXECUTE, PRIVATE, file.fileno()))


@attack
def change_a_library_in_two_steps() -> None:
    with open(library(), "rb") as file:
        address = memory(READ | EXECUTE, PRIVATE, file.fileno())
    succeeded(LIBC.mprotect(ctypes.c_void_p(address), PAGE, READ | WRITE))
    ctypes.memmove(address, CODE, len(CODE))
    succeeded(LIBC.mprotect(ctypes.c_void_p(address), PAGE, READ | EXECUTE))
    run(address)


@attack
def map_dev_zero() -> None:
    with open("/dev/zero", "r+b", buffering=0) as file:
        write_and_run(memory(READ | WRITE | EXECUTE, PRIVATE, file.fileno()))


@attack
def have_readable_memory_executable() -> None:
    if LIBC.personality(READ_IMPLIES_EXEC) < 0:
        raise refused()
    write_and_run(memory(READ | WRITE))


@attack
def attach_shared_memory() -> None:
    segment = LIBC.shmget(0, PAGE, 0o1700)
    address = LIBC.shmat(segment, None, SHM_EXEC) if segment >= 0 else None
    if address in (None, ctypes.c_void_p(-1).value):
        raise refused()
    write_and_run(address)


@attack
def load_a_library_from_a_memory_file() -> None:
    file = os.memfd_create("library")
    os.write(file, Path(library()).read_bytes())
    ctypes.CDLL(f"/proc/self/fd/{file}")
    os._exit(WON)


@attack
def rewrite_code_through_proc() -> None:
    address = ctypes.cast(LIBC.labs, ctypes.c_void_p).value
    with open("/proc/self/mem", "r+b", buffering=0) as file:
        file.seek(address or 0)
        file.write(CODE)
    os._exit(LIBC.labs(1))


@attack
def trace_a_process() -> None:
    succeeded(LIBC.ptrace(PTRACE_TRACEME, 0, 0, 0))
    os._exit(WON)


@attack
def write_into_a_process() -> None:
    source, target = (ctypes.create_string_buffer(b"x") for _ in range(2))
    vectors = [(ctypes.c_void_p * 2)(ctypes.addressof(one), 1) for one in (source, target)]
    call("process_vm_writev", os.getpid(), vectors[0], 1, vectors[1], 1, 0)
    os._exit(WON)


@attack
def submit_to_a_ring() -> None:
    call("io_uring_setup", 4, ctypes.create_string_buffer(256))
    os._exit(WON)


@attack
def load_a_submitted_library() -> None:
    ctypes.CDLL("/workspace/submitted.so")
    os._exit(WON)


@attack
def map_a_submitted_file() -> None:
    with open("/workspace/submitted.bin", "rb") as file:
        run(memory(READ | EXECUTE, PRIVATE, file.fileno()))


@for_each_place
def load_a_library_from(place: str) -> None:
    encoded = base64.b64encode(Path(library()).read_bytes())
    file = Path(place, "copy.so").absolute()
    file.write_bytes(base64.b64decode(encoded))
    ctypes.CDLL(str(file))
    os._exit(WON)


@for_each_place
def map_code_from(place: str) -> None:
    Path(place, "code.bin").write_bytes(CODE.ljust(PAGE, b"\0"))
    with open(Path(place, "code.bin"), "rb") as file:
        run(memory(READ | EXECUTE, PRIVATE, file.fileno()))


@attack
def map_a_nameless_file() -> None:
    file = os.open("/tmp", os.O_RDWR | os.O_TMPFILE)
    os.write(file, CODE.ljust(PAGE, b"\0"))
    run(memory(READ | EXECUTE, PRIVATE, file))


@attack
def start_a_program() -> None:
    subprocess.run(["/bin/true"], check=True)
    os._exit(WON)


@attack
def spawn_a_program() -> None:
    child = os.posix_spawn("/bin/true", ["true"], {})
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        os._exit(WON)


@attack
def become_a_program() -> None:
    os.execv("/bin/sh", ["sh", "-c", f"exit {WON}"])


@attack
def become_an_open_program() -> None:
    with open("/bin/sh", "rb") as file:
        arguments = (ctypes.c_char_p * 4)(b"sh", b"-c", b"exit %d" % WON, None)
        call("execveat", file.fileno(), b"", arguments, None, AT_EMPTY_PATH)


@attack
def run_a_shell() -> None:
    if os.system("exit 7") == 7 << 8:
        os._exit(WON)


@attack
def start_a_program_from_a_thread_of_a_child() -> None:
    import threading

    ended: list[int] = []
    thread = threading.Thread(target=lambda: ended.append(subprocess.call(["/bin/true"])))
    thread.start()
    thread.join()
    if ended == [0]:
        os._exit(WON)


def attempt(function: Callable[[], object]) -> bool:
    """Whether an attack succeeds; a refusal is an error, or a signal."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with contextlib.suppress(OSError):
            function()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == WON


if __name__ == "__main__":
    print(json.dumps({name: attempt(function) for name, function in ATTACKS.items()}))
