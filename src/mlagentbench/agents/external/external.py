"""The `external` agent: any command-line agent, run inside the sandbox as it is.

docs/agents/external.md says what such an agent finds inside; docs/examples/tiny_agent is one.
"""

import hashlib
import io
import tarfile
from pathlib import Path

from inspect_ai.solver import Solver, solver

from mlagentbench.agents.external.bridge import run_inside
from mlagentbench.agents.runner import as_solver
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import UsageError

LEFT_OUT = {"__pycache__", ".git", ".venv"}


@solver
def external(
    command: str,
    files: str | None = None,
    requirements: list[str] | None = None,
) -> Solver:
    """Any command-line agent, with the model on the sandbox's loopback.

    Args:
        command: What bash runs in the workspace, e.g. "python $MLAGENTBENCH_AGENT/my_agent.py".
        files: A folder of this machine that the command finds as $MLAGENTBENCH_AGENT.
        requirements: Python packages that it needs beside the task's own, as for pip.
    """
    folder = None if files is None else Path(files).expanduser().absolute()
    if folder is not None and not folder.is_dir():
        raise UsageError(f"agent external: files={files}: there is no such folder")
    if not isinstance(requirements or [], list):
        raise UsageError(
            f'agent external: requirements={requirements} should be a list: ["a", "b"]'
        )

    async def loop(environment: Environment) -> None:
        archive = None if folder is None else pack(folder)
        if archive is not None:
            environment.note(f"the agent's files have sha256 {hashlib.sha256(archive).hexdigest()}")
        await run_inside(environment, ["bash", "-c", command], archive=archive)

    return as_solver(loop)


def pack(folder: Path) -> bytes:
    """A folder as a tar archive, the same one for the same contents."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if entry.name.rpartition("/")[2] in LEFT_OUT:
            return None
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name, filter=plain)
    return packed.getvalue()
