"""Runs a Python program that can start no other program; in a sandbox, in its virtual environment.

`python program_launcher.py FILTER SCRIPT ARGUMENTS` (standard library only). FILTER is a seccomp
program in hexadecimal digits, or the path of a file with one. It must be installed in the process
that runs the script: a new process would have to be started by the call that it refuses.

The process is not dumpable, and the filter refuses to change that: it cannot write to its own code
through /proc/self/mem, also where /proc is not read-only.
"""

import ctypes
import os
import runpy
import sys
from pathlib import Path

PR_SET_DUMPABLE, PR_SET_SECCOMP = 4, 22
SECCOMP_MODE_FILTER = 2
STEP_BYTES = 8


class SeccompProgram(ctypes.Structure):
    """The kernel's `struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def main() -> None:
    _launcher, steps, *sys.argv = sys.argv
    if steps.startswith("/"):
        steps = Path(steps).read_text(encoding="ascii")
    install_filter(bytes.fromhex(steps))
    script = Path(sys.argv[0]).resolve()
    sys.path[0] = str(script.parent)
    runpy.run_path(str(script), run_name="__main__")


def install_filter(steps: bytes) -> None:
    program = SeccompProgram(len(steps) // STEP_BYTES, steps)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    if prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "seccomp")


if __name__ == "__main__":
    main()
