"""Trials of a task as an agent would run it: fresh workspace, fresh sandbox, the usual grading.

Measuring and checking a task consist of these trials.
"""

import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mlagentbench.environment.workspace import Workspace, sandbox_spec, workspace_of
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.grading.grade import Scored, score_snapshot, score_submission
from mlagentbench.grading.submitted_program import fresh_directory
from mlagentbench.machine.slots import slot_for
from mlagentbench.program_services.services import (
    constant_services,
    grading_services,
    run_services,
    serving,
)
from mlagentbench.records import Json, Profile, Record, Tier
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshots import Snapshots
from mlagentbench.sandbox.base import CommandResult
from mlagentbench.sandbox.sandbox_registry import fresh_sandbox
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.draws import PUBLIC
from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.spec import profile_of
from mlagentbench.tasks.task import Files, Task, load_task

OTHER_SEEDS = 1_000_000
"""More than any number of runs."""
OUTPUT_QUOTED = 2000
"""Characters of a failed command's output that the error quotes."""

Announce = Callable[[str], None]


def tasks_to_try(names: Sequence[str], tier: Tier, asked: Profile | None) -> list[Task]:
    """The tasks on the profile that was asked for; a UsageError if its GPUs are not here."""
    try:
        profile = profile_of(tier, asked)
    except ValueError as error:
        raise UsageError(f"--profile {asked}: {error}") from error
    tasks = [load_task(name, tier, profile) for name in names]
    for task in tasks:
        if (gpus := task.gpus_of_profile()) is not None:
            gpus.require_here()
    return tasks


class Trial(Record):
    """A submission made by a command of the task, or by doing nothing."""

    submission: Path
    """The directory that holds the submitted files."""
    scored: Scored
    output: str = ""
    """What the command printed."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    whole_seconds: float = 0.0
    """With grading, and without the wait for a slot."""


class Trials:
    """Trials of one prepared task; their files stay in the caller's `scratch` directory."""

    def __init__(
        self,
        task: Task,
        data: PreparedData,
        python_env: PythonEnv,
        scratch: Path,
        announce: Announce,
        tool: str | None = None,
    ) -> None:
        self.tool = tool or task.spec.tool_model
        """The model in the role `tool`, for tasks whose programs use one."""
        self.task = task
        self.data = data
        self.python_env = python_env
        self.scratch = scratch
        self._announce = announce

    async def starter(self, epoch: int) -> Trial:
        """Run the unchanged starter."""
        return await self._run("starter", epoch, self.task.spec.commands.starter)

    async def solution(self, epoch: int) -> Trial:
        """Copy the solution over the starter and run it."""
        return await self.program("solution", self.task.solution_files(), epoch)

    async def member(self, kind: str, name: str) -> Trial:
        """Run a program of the hard tier's panel, as the solution is run."""
        return await self.program(f"{kind}-{name}", self.task.panel(kind)[name])

    async def program(self, name: str, files: Files, epoch: int = 1) -> Trial:
        """Copy files over the starter and run them by the solution's command."""
        command = self.task.spec.commands.solution
        return await self._run(name, epoch, command, overlay=files)

    async def nothing(self) -> Trial:
        """Submit the initial workspace."""
        return await self._run("nothing", epoch=1)

    async def trivial(self) -> dict[str, Path]:
        """The submissions of the trivial predictors, each in its own directory."""
        out = self.scratch / "trivial"
        fresh_directory(out)
        names = await self.call("trivial.predictors", public=self.data.public, write=out)
        return {name: out / name for name in names}

    async def ceiling(self) -> float | None:
        """The best possible score, if the task knows it."""
        if not self.task.defines("grade.ceiling"):
            return None
        found = await self.call("grade.ceiling", private=self.data.private)
        return None if found is None else float(found)

    async def score(self, submission: Path) -> Scored:
        """Score a submission; replies of the tool model are stored for the next time."""
        replies = submission.with_name("replies.jsonl")
        services = grading_services(self.task, self.tool, self.data.private, replies)
        return await score_submission(
            self.task, self.data, self.python_env, submission, services, self._announcer()
        )

    async def score_without_model(self, submission: Path) -> Scored:
        """Score a program whose tool model always gives the same reply."""
        services = constant_services(self.task, self.data.private)
        return await score_submission(
            self.task, self.data, self.python_env, submission, services, self._announcer()
        )

    async def call(self, function: str, write: Path | None = None, **read: Path) -> Json:
        """Call a function of the task's folder, in a sandbox."""
        out = {"out": write} if write is not None else None
        return await call_task(self.task, self.python_env, function, read=read, write=out)

    async def _run(
        self,
        name: str,
        epoch: int,
        command: str | None = None,
        overlay: Mapping[str, bytes] | None = None,
    ) -> Trial:
        need, who = self.task.spec.resources.need(), f"{name} of {self.task.id}"
        async with slot_for(need, who, self._announcer()):
            began = time.monotonic()
            trial = await self._run_in_slot(name, epoch, command, overlay)
            return trial.model_copy(update={"whole_seconds": time.monotonic() - began})

    async def _run_in_slot(
        self, name: str, epoch: int, command: str | None, overlay: Mapping[str, bytes] | None
    ) -> Trial:
        run = RunDirectory(self.scratch, Path(name, str(epoch)))
        workspace = workspace_of(self.task, run, self.data)
        workspace.lay_out()
        if overlay is not None:
            _lay_over(workspace, overlay)
        result = await self._execute(run, epoch, name, command) if command is not None else None
        store = ObjectStore(run.objects)
        snapshot = Snapshots(store, run.work, skip=workspace.protected).take()
        services = grading_services(self.task, self.tool, self.data.private, run.replies)
        scored = await score_snapshot(
            self.task,
            self.data,
            self.python_env,
            store,
            snapshot.id,
            run.outputs,
            services,
            self._announcer(),
        )
        shutil.rmtree(run.work)
        return Trial(
            submission=run.outputs,
            scored=scored,
            output=result.output if result else "",
            seconds=result.seconds if result else 0.0,
            cpu_seconds=(result.cpu_seconds or 0.0) if result else 0.0,
        )

    async def _execute(
        self, run: RunDirectory, epoch: int, name: str, command: str
    ) -> CommandResult:
        seed = self._seed(epoch)
        spec = sandbox_spec(self.task, run, self.data, self.python_env, seed)
        services = run_services(self.task, self.tool, self.data.private, run.asked)
        async with serving(services), fresh_sandbox(self.python_env, spec, services) as sandbox:
            result = await sandbox.run(shlex.split(command))
        if services is not None:
            services.usage()  # raises if a program's request could not be answered
        if result.exit_code != 0 or result.limit is not None:
            how = str(result.limit) if result.limit else f"ended with status {result.exit_code}"
            raise RunFailed(
                "task",
                f"{self.task.id}: the {name}'s `{command}` {how} (seed {seed}):\n"
                f"{result.output[-OUTPUT_QUOTED:]}",
            )
        return result

    def _announcer(self) -> Announce:
        """Says what a trial waits for."""
        return once_per_reason(lambda text: self._announce(f"{self.task.id}: {text}"))

    def _seed(self, epoch: int) -> int:
        """The seed of a trial; not that of a run, except on the public draw.

        There, many trials are averaged. Elsewhere the reference runs once: with the seed of a run
        it would be the run of the agent `oracle`, whose score would then be 1 by construction.
        """
        return self.task.run_seed(epoch if self.data.draw == PUBLIC else OTHER_SEEDS + epoch)


def once_per_reason(announce: Announce) -> Announce:
    """Says once that something waits: in "REASON: 3 before it", only what follows changes."""
    told: set[str] = set()

    def tell(text: str) -> None:
        reason = text.partition(":")[0]
        if reason not in told:
            told.add(reason)
            announce(text)

    return tell


def _lay_over(workspace: Workspace, files: Mapping[str, bytes]) -> None:
    for name, contents in files.items():
        if workspace.is_protected(name):
            raise RunFailed(
                "task", f"{workspace.task.id}: solution/{name} would replace a read-only file"
            )
        target = workspace.directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(contents)
