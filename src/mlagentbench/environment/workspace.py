"""The directory that an agent works in: its initial files, and the paths that actions may touch.

Only this module decides which paths an action may touch. The sandbox's mounts protect the machine
and the task's data in any case; the checks here give the agent a clear observation instead of an
obscure error.
"""

import os
import posixpath
import shutil
from pathlib import Path, PurePosixPath

from mlagentbench.environment.feedback import Feedback
from mlagentbench.errors import ActionError, UsageError
from mlagentbench.fs import remove_tree
from mlagentbench.program_services.services import service_variables
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.sandbox.base import WORKSPACE, Bind, Limits, SandboxSpec
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task
from mlagentbench.untrusted_text import is_unicode

MAX_LINKS = 40
MAX_PATH = 4096
"""Characters of a path; the system takes no longer one."""
MAX_PARTS = 500
"""Parts of a path and of the links on its way, so that resolving it takes no time."""
_TOP = (WORKSPACE.strip("/"),)


class PathRefused(ActionError):
    """The agent tried to access something protected; its observation is `refused`."""


class Workspace:
    """A task's starter files, which the agent may change, and its public data, which it may not.

    Entries of public/ and the starter's read-only files are bound at the top level of the
    workspace: a deeper bind could be swapped by renaming its parent.
    """

    def __init__(self, task: Task, public: Path, directory: Path) -> None:
        self.task = task
        self.public = public
        self.directory = directory
        self.protected = {path.name: path for path in sorted(public.iterdir())}
        """The read-only top-level names, with their paths on the host."""
        for name in task.spec.read_only.paths:
            if len(PurePosixPath(name).parts) != 1:
                raise UsageError(
                    f"{task.folder / 'task.toml'}: read_only.paths: {name!r} is inside a folder; "
                    "only files and folders at the top of starter/ can be read-only"
                )
            self.protected.setdefault(PurePosixPath(name).name, task.starter / name)

    def binds(self) -> tuple[Bind, ...]:
        """The read-only binds of the sandbox."""
        return tuple(
            Bind(source=source, target=posixpath.join(WORKSPACE, name))
            for name, source in self.protected.items()
        )

    def lay_out(self, owner: int | None = None) -> None:
        """Recreate the directory with the starter's files that are not protected."""
        if self.directory.exists():
            remove_tree(self.directory)
        self.directory.mkdir(parents=True)
        for source in sorted(self.task.starter.iterdir()):
            if source.name not in self.protected and source.name != "__pycache__":
                _copy(source, self.directory / source.name)
        if owner is not None:
            for path in [self.directory, *self.directory.rglob("*")]:
                os.chown(path, owner, owner, follow_symlinks=False)

    def resolve(self, path: str) -> str:
        """The path relative to the workspace, with links and `..` resolved.

        Raises PathRefused when it leads out of the workspace. Links are resolved on the host, but
        files are read and written in the sandbox, so swapping a link meanwhile gains nothing.
        """
        if len(path) > MAX_PATH:
            raise ActionError(f"{path[:100]!r}... is not a path: it has {len(path):,} characters")
        if not path.strip() or not is_valid_argument(path):
            raise ActionError(f"{path!r} is not a path")
        here = () if path.startswith("/") else _TOP
        ahead = _parts(path)
        links = parts = 0
        while ahead:
            part = ahead.pop()
            parts += 1
            if parts > MAX_PARTS:
                raise ActionError(f"{path}: the path has more than {MAX_PARTS} parts")
            here = here[:-1] if part == ".." else (*here, part)
            target = self._link_at(here)
            if target is not None:
                links += 1
                if links > MAX_LINKS:
                    raise ActionError(f"{path}: too many links")
                here = () if target.startswith("/") else here[:-1]
                ahead += _parts(target)
        if here[:1] != _TOP:
            raise PathRefused(
                f"{path} is outside of the workspace; only paths inside it can be used"
            )
        return "/".join(here[1:]) or "."

    def _link_at(self, place: tuple[str, ...]) -> str | None:
        """The target of a link in the workspace; None if there is no link."""
        if len(place) < 2 or place[:1] != _TOP or (len(place) == 2 and place[1] in self.protected):
            return None
        try:
            return os.readlink(self._on_host(*place[1:]))  # noqa: PTH115, a long Path is slow
        except OSError:
            return None

    def _on_host(self, top: str, *below: str) -> str:
        return "/".join((str(self.protected.get(top, self.directory / top)), *below))

    def size(self, relative: str) -> int:
        """The size of a file in bytes; 0 if there is none."""
        try:
            return os.lstat(self._on_host(*relative.split("/"))).st_size
        except OSError:
            return 0

    def resolve_for_writing(self, path: str) -> str:
        """The same for a file to be changed; raises PathRefused when it is read-only."""
        found = self.resolve(path)
        if found == ".":
            raise ActionError(f"{path} is the workspace itself, not a file")
        if self.is_protected(found):
            raise PathRefused(f"{path} is read-only: it is part of the task and cannot be changed")
        return found

    def is_protected(self, relative: str) -> bool:
        return relative.split("/", 1)[0] in self.protected


def workspace_of(
    task: Task, run: RunDirectory, data: PreparedData, feedback: Feedback | None = None
) -> Workspace:
    """The workspace of a run; with feedback, it has the smaller public data."""
    return Workspace(task, data.public if feedback is None else feedback.public, run.work)


def sandbox_spec(
    task: Task,
    run: RunDirectory,
    data: PreparedData,
    python_env: PythonEnv,
    seed: int,
    feedback: Feedback | None = None,
) -> SandboxSpec:
    """The specification of the sandbox of a run."""
    return workspace_spec(workspace_of(task, run, data, feedback), python_env, seed)


def workspace_spec(workspace: Workspace, python_env: PythonEnv, seed: int) -> SandboxSpec:
    """The specification of a sandbox for any workspace of a task."""
    task = workspace.task
    resources = task.spec.resources
    return SandboxSpec(
        workspace=workspace.directory,
        python_env=python_env.directory,
        binds=workspace.binds(),
        env={
            "MLAGENTBENCH_SEED": str(seed),
            **({} if task.profile is None else {"MLAGENTBENCH_PROFILE": task.profile}),
            **service_variables(task),
        },
        limits=Limits(
            wall_time=task.spec.limits.command_time,
            memory=int(resources.memory),
            cpus=resources.cpus,
        ),
        tools=resources.tools,
    ).in_slot()


def is_valid_argument(text: str) -> bool:
    """Whether the system accepts it as a path or argument; models can write anything as JSON."""
    return "\0" not in text and is_unicode(text)


def _parts(path: str) -> list[str]:
    """The parts of a path in reverse order."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _copy(source: Path, target: Path) -> None:
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True, ignore=_ignored)
    else:
        shutil.copy2(source, target, follow_symlinks=False)


def _ignored(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name == "__pycache__"]
