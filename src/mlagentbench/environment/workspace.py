"""The directory that an agent works in: what is put there, and which paths an action may touch.

This is the only place that decides whether a path is the agent's. The sandbox's mounts protect the
machine and the task's data whatever is decided here; what is decided here gives the agent a clear
observation instead of a strange error.
"""

import os
import posixpath
import shutil
from pathlib import Path, PurePosixPath

from mlagentbench.environment.feedback import Feedback
from mlagentbench.environment.run_directory import RunDirectory
from mlagentbench.environment.sandbox.sandbox import WORKSPACE, Bind, Limits, Sandbox, SandboxSpec
from mlagentbench.errors import ActionError, UsageError
from mlagentbench.tasks.data import PreparedData
from mlagentbench.tasks.python_env import PythonEnv
from mlagentbench.tasks.task import Task


class Refused(ActionError):
    """The agent tried what is protected; its observation has the status `refused`."""


class Workspace:
    """A task's starter files, to be changed by the agent, beside its public data, which may not.

    Entries of public/ and the starter's read-only files are bound into the sandbox at the top of
    the workspace: a bind further down could be swapped by renaming its parent.
    """

    def __init__(self, task: Task, public: Path, directory: Path) -> None:
        self.task = task
        self.public = public
        self.directory = directory
        self.protected = {path.name: path for path in sorted(public.iterdir())}
        """Top-level names that are read-only for the agent, and what they really are."""
        for name in task.spec.read_only.paths:
            if len(PurePosixPath(name).parts) != 1:
                raise UsageError(
                    f"{task.folder / 'task.toml'}: read_only.paths: {name!r} is inside a folder; "
                    "only files and folders at the top of starter/ can be read-only"
                )
            self.protected.setdefault(PurePosixPath(name).name, task.starter / name)

    def binds(self) -> tuple[Bind, ...]:
        """What the sandbox must show read-only."""
        return tuple(
            Bind(source=source, target=posixpath.join(WORKSPACE, name))
            for name, source in self.protected.items()
        )

    def lay_out(self, owner: int | None = None) -> None:
        """Make the directory anew, with those of the starter's files that are not protected."""
        if self.directory.exists():
            shutil.rmtree(self.directory)
        self.directory.mkdir(parents=True)
        for source in sorted(self.task.starter.iterdir()):
            if source.name not in self.protected and source.name != "__pycache__":
                _copy(source, self.directory / source.name)
        if owner is not None:
            for path in [self.directory, *self.directory.rglob("*")]:
                os.chown(path, owner, owner, follow_symlinks=False)

    def copy_protected(self) -> None:
        """Copy the protected entries in, for a sandbox that cannot bind them."""
        for name, source in self.protected.items():
            _copy(source, self.directory / name)

    async def resolve(self, sandbox: Sandbox, path: str) -> str:
        """The path relative to the workspace, links and `..` followed as the sandbox sees them.

        Raises Refused when it leads out of the workspace.
        """
        if not path.strip() or "\0" in path:
            raise ActionError(f"{path!r} is not a path")
        inside = _below_workspace(path)
        result = await sandbox.run(["realpath", "-zm", "--", ".", inside])
        top, _, found = result.stdout.removesuffix(b"\0").decode(errors="replace").partition("\0")
        if result.exit_code != 0 or not found:
            raise ActionError(f"{path}: {result.output.strip() or 'not a path'}")
        if not PurePosixPath(found).is_relative_to(top):
            raise Refused(f"{path} is outside of the workspace; only paths inside it can be used")
        return PurePosixPath(found).relative_to(top).as_posix()

    async def resolve_for_writing(self, sandbox: Sandbox, path: str) -> str:
        """The same for a file that is to be changed; Refused when it is read-only."""
        found = await self.resolve(sandbox, path)
        if found == ".":
            raise ActionError(f"{path} is the workspace itself, not a file")
        if self.is_protected(found):
            raise Refused(f"{path} is read-only: it is part of the task and cannot be changed")
        return found

    def is_protected(self, relative: str) -> bool:
        return PurePosixPath(relative).parts[:1] in [(name,) for name in self.protected]


def workspace_of(
    task: Task, run: RunDirectory, data: PreparedData, feedback: Feedback | None = None
) -> Workspace:
    """The workspace of a run; with feedback, the agent gets the smaller public data."""
    return Workspace(task, data.public if feedback is None else feedback.public, run.work)


def sandbox_spec(
    task: Task,
    run: RunDirectory,
    data: PreparedData,
    python_env: PythonEnv,
    seed: int,
    feedback: Feedback | None = None,
) -> SandboxSpec:
    """The sandbox that a run of this task needs."""
    resources = task.spec.resources
    return SandboxSpec(
        workspace=run.work,
        python_env=python_env.directory,
        binds=workspace_of(task, run, data, feedback).binds(),
        env={"MLAGENTBENCH_SEED": str(seed)},
        limits=Limits(
            wall_time=task.spec.limits.command_time,
            memory=int(resources.memory),
            cpus=resources.cpus,
        ),
        gpus=resources.gpus > 0,
    )


def _below_workspace(path: str) -> str:
    """The path as seen from the workspace; an absolute one elsewhere is refused at once."""
    if not path.startswith("/"):
        return path
    pure = PurePosixPath(path)
    if not pure.is_relative_to(WORKSPACE):
        raise Refused(f"{path} is outside of the workspace; only paths inside it can be used")
    return pure.relative_to(WORKSPACE).as_posix()


def _copy(source: Path, target: Path) -> None:
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True, ignore=_ignored)
    else:
        shutil.copy2(source, target, follow_symlinks=False)


def _ignored(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name == "__pycache__"]
