"""Keeps programs in a running sandbox from executing machine code that is not installed."""

import subprocess
import sys

import anyio

from mlagentbench.errors import RunFailed
from mlagentbench.guest import GUEST
from mlagentbench.sandbox.base import WORKSPACE, SandboxSpec

NOEXEC_PROGRAM = GUEST / "noexec_mounts.py"


async def forbid_new_machine_code(
    executor: int, spec: SandboxSpec, helper: list[str] | None = None
) -> None:
    """Make all mounts noexec that have files of a submission, or where it can create some.

    `executor` is a process of the sandbox. `helper` begins a command that may change its mounts,
    where this process may not.
    """
    places = [WORKSPACE, *(bind.target for bind in spec.binds)]
    program = helper or [sys.executable, "-I", "-S", str(NOEXEC_PROGRAM)]
    command = [*program, str(executor), *places]
    variables: dict[str, str] | None = {} if helper is None else None
    done = await anyio.run_process(command, stdin=subprocess.DEVNULL, check=False, env=variables)
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").splitlines()
        said = [line for line in lines if line and not line.startswith("Run '")][-1:]
        raise RunFailed(
            "sandbox", f"cannot forbid new machine code in the sandbox: {''.join(said)}"
        )
