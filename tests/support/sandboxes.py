"""What the sandbox tests share: an interpreter that any sandbox may use, and sandboxes on it."""

import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from mlagentbench.records import MachineCode
from mlagentbench.sandbox.base import Bind, Limits, SandboxSpec
from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox
from mlagentbench.tasks.spec import ToolName

PYTHON_ENV = Path(sys.base_prefix)
PYTHON = "python3"
"""Its name in a sandbox."""
HOST_PYTHON = str(PYTHON_ENV / "bin" / "python3")


def sandbox_on(
    workspace: Path,
    *,
    binds: tuple[Bind, ...] = (),
    env: dict[str, str] | None = None,
    limits: Limits | None = None,
    machine_code: MachineCode = "any",
    tools: tuple[ToolName, ...] = (),
) -> BubblewrapSandbox:
    workspace.mkdir(exist_ok=True)
    return BubblewrapSandbox(
        SandboxSpec(
            workspace=workspace,
            python_env=PYTHON_ENV,
            binds=binds,
            env=env or {},
            limits=limits or Limits(),
            machine_code=machine_code,
            tools=tools,
        )
    )


Opened = AbstractAsyncContextManager[BubblewrapSandbox]
