"""Call a function of a task folder in a fresh sandbox without network."""

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import mlagentbench.guest.mlagentbench_intervals as intervals_library
import mlagentbench.guest.mlagentbench_papers as papers_library
import mlagentbench.guest.mlagentbench_task as task_library
from mlagentbench.errors import FailureCause
from mlagentbench.fs import chown_tree, scratch_directory
from mlagentbench.guest import GUEST
from mlagentbench.records import Json
from mlagentbench.sandbox.base import (
    WORKSPACE,
    Bind,
    CommandResult,
    Limits,
    SandboxSpec,
)
from mlagentbench.sandbox.sandbox_registry import fresh_sandbox
from mlagentbench.tasks.call_contract import InvalidSubmissionReported, TaskCodeFailed
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import Task

_DRIVER = GUEST / "task_driver.py"
_LIBRARIES = tuple(
    Path(str(module.__file__)) for module in (task_library, papers_library, intervals_library)
)
_LIBRARY_FOLDER, _TASK, _DATA = "/mlagentbench", "/task", "/data"
_SUBMISSIONS = ("trivial.predictors", "trivial.known_good")
"""Functions that return submissions, which are written to files."""
_WORLD_READABLE = 0o005
_LAST_LINES = 3000


async def call_task(
    task: Task,
    python_env: PythonEnv,
    function: str,
    *,
    read: Mapping[str, Path] | None = None,
    write: Mapping[str, Path] | None = None,
    seed: int | None = None,
    pool: str | None = None,
    timeout: float = 600.0,
) -> Json:
    """Run `module.function` of a task's folder; tasks/call_contract.py has the contract."""
    read, write = read or {}, write or {}
    with scratch_directory("call") as base:
        workspace, empty = base / "workspace", base / "empty"
        for place in (workspace, empty):
            place.mkdir()
        call = {
            "code": [
                f"{_TASK}/{folder.relative_to(task.folder).as_posix()}"
                for folder in task.code_folders
            ],
            "function": function,
            "paths": {name: f"{_DATA}/{name}" for name in (*read, *write)},
            "seed": seed,
            "pool": pool,
            "submission": task.spec.submission.path if function in _SUBMISSIONS else None,
            "result": f"{WORKSPACE}/result.json",
        }
        (workspace / "call.json").write_text(json.dumps(call), encoding="utf-8")
        resources = task.spec.resources
        spec = SandboxSpec(
            workspace=workspace,
            python_env=python_env.directory,
            binds=tuple(_binds(task, read, write, empty)),
            limits=Limits(wall_time=timeout, memory=int(resources.memory), cpus=resources.cpus),
            tools=resources.tools,
        ).in_slot()
        result = await _run(python_env, spec, write)
        return _value(task, function, result, workspace / "result.json")


def _binds(
    task: Task, read: Mapping[str, Path], write: Mapping[str, Path], empty: Path
) -> Iterator[Bind]:
    yield Bind(source=_DRIVER, target=f"{_LIBRARY_FOLDER}/{_DRIVER.name}")
    for library in _LIBRARIES:
        yield Bind(source=library, target=f"{_LIBRARY_FOLDER}/{library.name}")
    yield Bind(source=task.folder, target=_TASK)
    for name, path in read.items():
        yield from _readable(path, f"{_DATA}/{name}", empty)
    for name, path in write.items():
        path.mkdir(parents=True, exist_ok=True)
        yield Bind(source=path, target=f"{_DATA}/{name}", writable=True)


def _readable(path: Path, target: str, empty: Path) -> Iterator[Bind]:
    """Binds for reading a path.

    A directory that only its owner can read, such as private/, is closed to the sandbox's uid, too,
    so its entries are bound one by one.
    """
    closed = path.stat().st_mode & _WORLD_READABLE != _WORLD_READABLE
    if not (path.is_dir() and closed and os.geteuid() == 0):
        yield Bind(source=path, target=target)
        return
    entries = sorted(path.iterdir())
    yield from (Bind(source=entry, target=f"{target}/{entry.name}") for entry in entries)
    if not entries:
        yield Bind(source=empty, target=target)


async def _run(
    python_env: PythonEnv, spec: SandboxSpec, write: Mapping[str, Path]
) -> CommandResult:
    sandbox = fresh_sandbox(python_env, spec)
    try:
        async with sandbox:
            command = ["python3", f"{_LIBRARY_FOLDER}/{_DRIVER.name}", f"{WORKSPACE}/call.json"]
            return await sandbox.run(command)
    finally:
        if os.geteuid() == 0:
            for path in write.values():
                chown_tree(0, path)


def _value(task: Task, function: str, result: CommandResult, file: Path) -> Json:
    cause: FailureCause = "grader" if function.startswith("grade.") else "task"

    def failed(how: str, detail: str = "") -> TaskCodeFailed:
        return TaskCodeFailed(cause, function, how, f"{task.id}: {function}() {how}{detail}")

    if result.exit_code != 0 or result.limit is not None or not file.is_file():
        how = f"was {result.limit}" if result.limit else f"failed ({_ending(result)})"
        raise failed(how, f"\n{result.output.strip()[-_LAST_LINES:]}")
    outcome = json.loads(file.read_text(encoding="utf-8"))
    if "invalid" in outcome:
        raise InvalidSubmissionReported(outcome["invalid"], broken_rule=outcome["broken_rule"])
    value = outcome["value"]
    if function == "grade.grade":
        if not isinstance(value, dict) or not isinstance(value.get("score"), float):
            raise failed("returned what is not a Grade", f": {value!r}")
        if not math.isfinite(value["score"]):
            raise failed(f"gave the score {value['score']}")
    return value


def _ending(result: CommandResult) -> str:
    """How a call ended: the exception's name, without its text, which may quote answers."""
    last = result.output.strip().rpartition("\n")[2]
    exception = re.match(r"[A-Za-z_][\w.]{0,99}(?=: |$)", last)
    return exception[0] if exception else f"exit code {result.exit_code}"
