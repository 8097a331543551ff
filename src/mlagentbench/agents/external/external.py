"""The `external` agent: any command-line agent, run unchanged in the sandbox.

docs/agents/external.md describes its surroundings; docs/examples/tiny_agent is an example.
"""

import hashlib
import io
import tarfile
from pathlib import Path

from inspect_ai.solver import Solver, solver

from mlagentbench.agents.external.bridge import run_in_sandbox
from mlagentbench.agents.runner import as_solver
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import UsageError

EXCLUDED = {"__pycache__", ".git", ".venv"}


@solver
def external(
    command: str,
    files: str | None = None,
    requirements: list[str] | None = None,
) -> Solver:
    """Any command-line agent, with the model on the sandbox's loopback.

    Args:
        command: The bash command to run in the workspace, e.g. "python $MLAGENTBENCH_AGENT/a.py".
        files: A local folder that the command finds as $MLAGENTBENCH_AGENT.
        requirements: Python packages it needs besides the task's, as for pip.
    """
    folder = None if files is None else Path(files).expanduser().absolute()
    if folder is not None and not folder.is_dir():
        raise UsageError(f"agent external: files={files}: no such folder")
    if not isinstance(requirements or [], list):
        raise UsageError(
            f'agent external: requirements={requirements} should be a list: ["a", "b"]'
        )

    async def loop(environment: Environment) -> None:
        archive = None if folder is None else pack(folder)
        if archive is not None:
            environment.note(f"the agent's files have sha256 {hashlib.sha256(archive).hexdigest()}")
        await run_in_sandbox(environment, ["bash", "-c", command], archive=archive)

    return as_solver(loop)


def pack(folder: Path) -> bytes:
    """A folder as a tar archive, identical for identical contents."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if entry.name.rpartition("/")[2] in EXCLUDED:
            return None
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name, filter=plain)
    return packed.getvalue()
