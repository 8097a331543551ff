"""Make a submission again: its sources, in a new directory and a fresh sandbox, on given data.

    snapshot --source files only--> a new directory, with public data and read-only starter files
    `bash reproduce.sh`             in a fresh sandbox, with seed, threads and limits of a run
    the submission                  copied out, regular files only

Nothing else of the snapshot is there: no arrays, no weights, no tables, not the submission. What
fails, exceeds a limit or leaves no submission is "not reproduced"; the old file never counts.
"""

import asyncio
import shlex
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from mlagentbench.environment.clock_loops import clock_warnings
from mlagentbench.environment.workspace import Workspace, workspace_spec
from mlagentbench.fs import make_accessible
from mlagentbench.program_services.services import ProgramServices, serving
from mlagentbench.records import Record
from mlagentbench.runs.objects.large_literals import large_literals
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import NotCollected, materialise
from mlagentbench.runs.objects.snapshots import Snapshots
from mlagentbench.runs.objects.source_files import (
    ChosenSources,
    choose_sources,
    is_within,
    write_sources,
)
from mlagentbench.sandbox.base import CommandResult
from mlagentbench.sandbox.sandbox_registry import fresh_sandbox
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

SHELLS = frozenset({"bash", "sh"})
INTERPRETERS = SHELLS | {"python", "python3"}
LAST_OUTPUT = 2000
"""Characters of a program's output that are kept."""


class Reproduction(Record):
    """What a program made of given data: a submission, or the reason why there is none."""

    submission: Path | None = None
    """The directory with the submission in it, laid out as in a workspace."""
    reason: str | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    output: str = ""
    """The end of what the program printed."""
    left_out: tuple[str, ...] = ()
    """The files of the snapshot that are not sources, each with the reason."""
    warnings: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()
    """The sources with much data in them."""


async def reproduce(
    task: Task,
    store: ObjectStore,
    snapshot: str,
    public: Path,
    python_env: PythonEnv,
    seed: int,
    scratch: Path,
    *,
    command: str | None = None,
    services: ProgramServices | None = None,
) -> Reproduction:
    """Make the submission of a snapshot again, on the public data in `public`.

    `scratch` is an empty directory for it; the submission is in it afterwards. `command` replaces
    the task's. Where the submission itself is the program, it is only copied out.
    """
    command = command or task.spec.rebuild.command
    if command is None:
        return _as_it_is(task, store, snapshot, scratch / "submission")
    workspace = Workspace(task, public, scratch / "workspace")
    sources, known = await asyncio.to_thread(
        _read_sources, task, store, snapshot, command, workspace.protected
    )
    missing = _missing_program(command, sources, workspace)
    if missing is not None:
        return known.model_copy(update={"reason": missing})
    workspace.directory.mkdir()
    write_sources(sources, workspace.directory)
    spec = workspace_spec(workspace, python_env, seed)
    async with serving(services), fresh_sandbox(python_env, spec, services) as sandbox:
        result = await sandbox.run(shlex.split(command))
    if services is not None:
        services.usage()  # raises if a program's request could not be answered
    known = known.model_copy(
        update={
            "seconds": round(result.seconds, 3),
            "cpu_seconds": round(result.cpu_seconds or 0.0, 3),
            "output": result.output[-LAST_OUTPUT:],
        }
    )
    if result.exit_code != 0 or result.limit is not None:
        return known.model_copy(update={"reason": _failure(command, result)})
    made = _collect(task, workspace, scratch)
    if made is not None:
        return known.model_copy(update={"reason": f"`{command}` made no submission: {made}"})
    return known.model_copy(update={"submission": scratch / "submission"})


def _read_sources(
    task: Task, store: ObjectStore, snapshot: str, command: str, elsewhere: Collection[str]
) -> tuple[ChosenSources, Reproduction]:
    """The sources of a snapshot, and what is to be said about them."""
    submission = task.spec.submission.path
    sources = choose_sources(
        store,
        snapshot,
        submission,
        written_by_hand=[f"{submission}/{path}" for path in task.spec.rebuild.sources],
        elsewhere=elsewhere,
        first=[PurePosixPath(word).as_posix() for word in shlex.split(command)],
    )
    return sources, _examined(sources)


def _examined(sources: ChosenSources) -> Reproduction:
    """What is to be said about the sources."""
    known = Reproduction(left_out=sources.left_out)
    try:
        remarks = {
            "warnings": clock_warnings(sources.files),
            "literals": large_literals(sources.files),
        }
    except Exception as error:  # noqa: BLE001 an odd file must not take its run out of the count
        remarks = {"warnings": (f"the sources could not be examined: {error!r}",)}
    return known.model_copy(update=remarks)


def _as_it_is(task: Task, store: ObjectStore, snapshot: str, target: Path) -> Reproduction:
    """The submission of a task whose submission is the program."""
    target.mkdir(parents=True)
    submission = task.spec.submission
    try:
        materialise(store, snapshot, target, [submission.path], submission.max_bytes)
    except NotCollected as missing:
        return Reproduction(reason=str(missing))
    return Reproduction(submission=target)


def _missing_program(command: str, sources: ChosenSources, workspace: Workspace) -> str | None:
    """Says that the script that the command runs is not there; None if it is, or is not known."""
    match shlex.split(command):
        case [name, script, *_] if name in INTERPRETERS and not script.startswith("-"):
            path = PurePosixPath(script).as_posix()
        case _:
            return None
    if path in sources.files or workspace.is_protected(path):
        return None
    if path in sources.reasons:
        return f"{path} is not taken as a source: {sources.reasons[path]}"
    if not any(is_within(file, [path]) for file in sources.files):
        return f"{path} not found in the workspace"
    return f"{path} is a directory, not a script" if name in SHELLS else None


def _failure(command: str, result: CommandResult) -> str:
    how = str(result.limit) if result.limit else f"exit status {result.exit_code}"
    if result.limit is None and result.exit_code is None:
        how = "all processes in the sandbox were killed"
    last = result.output.strip().splitlines()[-1:]
    return f"`{command}` failed: {how}" + (f" ({last[0][:300]})" if last else "")


def _collect(task: Task, workspace: Workspace, scratch: Path) -> str | None:
    """Copy the submission out of the workspace; returns the reason if that is not possible."""
    submission = task.spec.submission
    top = PurePosixPath(submission.path).parts[0]
    make_accessible(workspace.directory)
    others = {path.name for path in workspace.directory.iterdir()} - {top}
    store = ObjectStore(scratch / "objects")
    taken = Snapshots(store, workspace.directory, skip={*others, *workspace.protected}).take()
    target = scratch / "submission"
    target.mkdir()
    try:
        materialise(store, taken.id, target, [submission.path], submission.max_bytes)
    except NotCollected as missing:
        return str(missing)
    return None
