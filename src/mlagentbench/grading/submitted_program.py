"""Run a submitted program on hidden inputs, in a fresh sandbox without the answers.

If the task has an alterations.py, it derives altered versions of the submission (e.g. with shuffled
weights), each with inputs of its own, and each of them runs in its own sandbox. The program must
not know which version it runs in, so alterations are made outside of those sandboxes, from a fresh
seed, and run in random order. What a run gets is copied for it, because a program can see paths,
inodes and times of what its sandbox shows it.

OUTPUTS/            what the program wrote; or, with alterations,
OUTPUTS/NAME/       what the program wrote when it was run on that alteration
"""

import os
import random
import secrets
import shlex
import shutil
import stat
from pathlib import Path

from mlagentbench.errors import RunFailed
from mlagentbench.fs import reset_times, scratch_directory
from mlagentbench.grading.forbidden_contents import require_no_machine_code
from mlagentbench.program_services.services import ProgramServices, service_variables, serving
from mlagentbench.records import Record
from mlagentbench.sandbox.base import WORKSPACE, Bind, CommandResult, Limits, SandboxSpec
from mlagentbench.sandbox.sandbox_registry import fresh_sandbox
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.call_contract import InvalidSubmissionReported
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.spec import Collect
from mlagentbench.tasks.task import Task

INPUTS = "/inputs"
OUTPUTS = "outputs"
MAX_DEPTH = 100
MAX_FILES = 10_000
"""Files and directories among a program's outputs; the tasks' programs write a handful."""
LAST_OUTPUT = 1000
"""Characters of a failed program's output that the reason quotes."""


class _Alteration(Record):
    """An altered submission, laid out like `submitted`, and the inputs that it is run on."""

    name: str
    submitted: Path
    inputs: Path


async def collect_program(
    task: Task,
    python_env: PythonEnv,
    submitted: Path,
    private: Path,
    outputs: Path,
    services: ProgramServices | None = None,
) -> None:
    """Run the task's collect command and copy the regular files that it writes to `outputs`.

    Raises InvalidSubmissionReported when the program fails or exceeds a limit, and
    RunFailed("model", ...) when the model that it uses does not answer.
    """
    collect = task.spec.collect
    if collect is None or collect.inputs is None:
        raise RunFailed("task", f"{task.id}: task.toml needs collect.command and collect.inputs")
    inputs = private / collect.inputs
    if not task.has_alterations:
        await _collect_one(task, collect, python_env, submitted, inputs, outputs, services)
        return
    with scratch_directory("altered") as directory:
        for one in await _make_alterations(task, python_env, submitted, inputs, directory):
            altered = outputs / one.name
            altered.mkdir()
            try:
                await _collect_one(
                    task, collect, python_env, one.submitted, one.inputs, altered, services
                )
            except InvalidSubmissionReported as invalid:
                reason = f"alteration {one.name}: {invalid}"
                raise InvalidSubmissionReported(
                    reason, broken_rule=invalid.broken_rule
                ) from invalid


async def _make_alterations(
    task: Task, python_env: PythonEnv, submitted: Path, inputs: Path, directory: Path
) -> list[_Alteration]:
    """The alterations of a submission in random order; their files are below `directory`.

    Raises InvalidSubmissionReported when the submission cannot be altered.
    """
    path, made = task.spec.submission.path, directory / "made"
    await call_task(
        task,
        python_env,
        "alterations.make",
        read={"submission": submitted / path, "inputs": inputs},
        write={"directory": made},
        seed=secrets.randbits(128),
    )
    alterations = []
    for one in sorted(made.iterdir()):
        home = directory / "submitted" / one.name
        (home / path).parent.mkdir(parents=True)
        (one / "submission").rename(home / path)
        alterations.append(_Alteration(name=one.name, submitted=home, inputs=one / "inputs"))
    random.SystemRandom().shuffle(alterations)
    return alterations


async def _collect_one(
    task: Task,
    collect: Collect,
    python_env: PythonEnv,
    submitted: Path,
    inputs: Path,
    outputs: Path,
    services: ProgramServices | None,
) -> None:
    with scratch_directory("collect") as directory:
        workspace, given = directory / "workspace", directory / "inputs"
        lay_out_submission(task, submitted, workspace)
        (workspace / OUTPUTS).mkdir()
        shutil.copytree(inputs, given)
        reset_times(directory)
        spec = SandboxSpec(
            workspace=workspace,
            python_env=python_env.directory,
            binds=(
                Bind(source=given, target=INPUTS),
                *_writable_outputs(collect, workspace),
            ),
            limits=collect_limits(task, collect.timeout),
            env=service_variables(task),
            machine_code=collect.machine_code,
            tools=task.spec.resources.tools,
        ).in_slot()
        command = collect.command.format(inputs=INPUTS, outputs=OUTPUTS)
        async with serving(services), fresh_sandbox(python_env, spec, services) as sandbox:
            result = await sandbox.run(shlex.split(command))
        refused = None if services is None else services.usage().refused
        if result.exit_code != 0 or result.limit is not None:
            raise InvalidSubmissionReported(_reason(command, result, refused))
        _copy_regular_files(workspace / OUTPUTS, outputs, task.spec.submission.max_bytes)


def _writable_outputs(collect: Collect, workspace: Path) -> tuple[Bind, ...]:
    """The one place in a workspace that is otherwise read-only where the program can write."""
    if collect.machine_code == "any":
        return ()
    target = f"{WORKSPACE}/{OUTPUTS}"
    return (Bind(source=workspace / OUTPUTS, target=target, writable=True),)


def lay_out_submission(task: Task, submitted: Path, workspace: Path) -> None:
    """Lay out a fresh workspace: the submitted files and the task's read-only files."""
    if task.spec.collect is not None and task.spec.collect.machine_code == "installed":
        require_no_machine_code(submitted)
    shutil.copytree(submitted, workspace)
    for name in task.spec.read_only.paths:
        source, target = task.starter / name, workspace / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)


def collect_limits(task: Task, timeout: float) -> Limits:
    resources = task.spec.resources
    return Limits(wall_time=timeout, memory=int(resources.memory), cpus=resources.cpus)


def _reason(command: str, result: CommandResult, refused: str | None) -> str:
    how = str(result.limit) if result.limit else f"exit status {result.exit_code}"
    how += f"; {refused}" if refused else ""
    return f"`{command}` failed on the hidden inputs: {how}\n{result.output[-LAST_OUTPUT:]}"


def _copy_regular_files(source: Path, target: Path, max_bytes: float) -> None:
    """Copy a program's outputs, in which it may have left links, devices or anything else."""
    if source.is_symlink() or not source.is_dir():
        raise InvalidSubmissionReported(f"{source.name} is not a directory any more")
    total = count = 0
    for folder, directories, names in os.walk(source, followlinks=False):
        here = Path(folder)
        if len(here.relative_to(source).parts) > MAX_DEPTH:
            raise InvalidSubmissionReported(f"nested deeper than {MAX_DEPTH} directories")
        count += len(directories) + len(names)
        if count > MAX_FILES:
            raise InvalidSubmissionReported(f"the outputs are more than {MAX_FILES:,} files")
        for name in directories + names:
            status = (here / name).lstat()
            relative = (here / name).relative_to(source)
            if stat.S_ISDIR(status.st_mode):
                (target / relative).mkdir(exist_ok=True)
                continue
            if not stat.S_ISREG(status.st_mode):
                raise InvalidSubmissionReported(f"{relative} is not a regular file")
            total += status.st_size
            if total > max_bytes:
                raise InvalidSubmissionReported(
                    f"the outputs are larger than {max_bytes:,.0f} bytes"
                )
            _copy_file(here / name, target / relative, relative)


def _copy_file(source: Path, target: Path, name: Path) -> None:
    try:
        shutil.copyfile(source, target, follow_symlinks=False)
    except PermissionError as error:
        raise InvalidSubmissionReported(f"{name} cannot be read") from error


def fresh_directory(directory: Path) -> None:
    """Create an empty directory, replacing an existing one."""
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
