"""The Environment: a task's workspace in a sandbox, with actions, a budget and a journal.

    observation = await environment.execute(Action(name="List Files"))

One `execute` is one step: the action is written to the journal and executed in the sandbox, a
snapshot of the workspace is taken, and the observation is on disk before it is returned. The
agent's mistakes are observations with a status. RunEnded says that the run is over (submitted, or a
part of the budget is used up), RunFailed that the sandbox or the harness failed.

A run directory with a journal is resumed: the workspace is restored to the end of the last finished
step. A step that began and did not end is not repeated: it ends as `interrupted` and is in `steps`,
so that the agent can see what happened. Usage continues to count.

`open_run` opens it, and `current_environment()` returns it to the agent. Without a built-in
agent, `Environment.open` does the same, like a Gym environment:

    async with Environment.open("house-price", out=Path("out")) as environment:
        run_it = Action(name="Execute Script", arguments={"script_name": "train.py"})
        observation = await environment.execute(run_it)
"""

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import anyio
import anyio.to_thread

from mlagentbench.environment.actions.action import (
    ActionContext,
    Actions,
    ActionSpec,
    StepNotes,
    storable,
)
from mlagentbench.environment.actions.action_sets import STANDARD_ACTIONS, without_execution
from mlagentbench.environment.actions.execute import python_repl
from mlagentbench.environment.actions.repl import Repl
from mlagentbench.environment.actions.submission import SubmissionCheck
from mlagentbench.environment.ask_models import Models
from mlagentbench.environment.feedback import explanation
from mlagentbench.environment.rehearsal import rebuild_explanation
from mlagentbench.environment.run_setup import RunSetup
from mlagentbench.environment.workspace import PathRefused, workspace_of
from mlagentbench.errors import ActionError, RunEnded, RunFailed
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.records import Action, Json, Observation, Outcome, Step, Tier, Usage
from mlagentbench.runs.journal import (
    LONG_TEXT,
    BeginLine,
    EndLine,
    EventLine,
    EventName,
    History,
    Journal,
    L,
    LimitsFrom,
    OutcomeLine,
    RunLine,
    note_edit,
)
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshots import Snapshots
from mlagentbench.runs.resumption import (
    CUT_OFF,
    INTERRUPTED,
    changed_limits,
    goes_on,
    last_limits,
    require_same,
    submitted_by,
)
from mlagentbench.sandbox.base import Sandbox
from mlagentbench.sandbox.files_only import FilesOnlySandbox
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.task import Task

if TYPE_CHECKING:
    from inspect_ai.model import Model


class Environment:
    """One run's workspace, sandbox, actions, budget and journal; see the module's docstring.

    The caller holds the run's lease, calls `start()`, then starts the sandbox (which changes the
    owner of the files), and calls `close()` before it stops the sandbox. `limits_held` are all
    limits the run has had. In a branch, the first `taken_over` steps are another agent's.
    """

    def __init__(self, setup: RunSetup, sandbox: Sandbox) -> None:
        self.task = task = setup.task
        self.run = run = setup.run
        self.data = data = setup.data
        self.python_env = setup.python_env
        self.can_execute = setup.execution
        """Whether the agent can execute anything; the actions that do are not offered if not."""
        self.sandbox = sandbox if setup.execution else FilesOnlySandbox(sandbox)
        self.budget = budget = setup.budget
        self.actions = Actions(_offered(setup))
        self.steps: list[Step] = []
        self.outcome: Outcome | None = None
        self.on_step: list[Callable[[Step], None]] = []
        self.on_output: list[Callable[[bytes], None]] = []
        self.limits_held = [LimitsFrom(step=0, limits=budget.limits.model_dump())]
        self.taken_over = 0
        self.external_agent_running = False
        """Whether an in-sandbox agent may change the workspace between steps."""
        self.store = ObjectStore(run.objects)
        self.models = Models(run, self.store, budget, self.steps, self._write, setup.models)
        self.workspace = workspace_of(task, run, data, setup.feedback)
        self.snapshots = Snapshots(self.store, run.work, skip=self.workspace.protected)
        self.problem = _problem(setup)
        """What the agent is told of the task and of its run."""
        self.rebuilt_by = None if setup.rehearsal is None else setup.rehearsal.command
        """The command that makes the submission again; None unless a program is asked for."""
        self._context = ActionContext(
            task=task,
            workspace=self.workspace,
            sandbox=sandbox,
            budget=budget,
            snapshots=self.snapshots,
            repl=self._repl(),
            submission=SubmissionCheck(
                task,
                setup.python_env,
                call_task,
                data,
                self.workspace.public,
                setup.feedback,
                setup.rehearsal,
                setup.seed,
            ),
            on_output=self.take_output,
            models=self.models,
            steps=self.steps,
            ask_person=setup.ask_person,
            can_execute=setup.execution,
        )
        self._journal: Journal | None = None
        self._output_log: BinaryIO | None = None
        self._output_size = 0
        self._output_lost: OSError | None = None
        self._snapshot = ""
        self._submitted_step: Step | None = None
        self._ended: RunEnded | None = None
        self._one_at_a_time = asyncio.Lock()

    # Life cycle

    def start(self) -> None:
        """Create the workspace, or resume the run in the directory."""
        self.run.create()
        self.store.remove_leftovers()
        self._journal = Journal(self.run.journal, self.run.appended_files, self.run.lease)
        history = History(self._journal.lines_before, self.store, self.run.journal)
        self._output_log = self.run.output_log.open("ab", buffering=0)
        self.budget.count_storage(partial(self._stored, self._journal))
        if history.run is None:
            self._begin_run()
        else:
            self._resume(history, history.run)
        self.budget.start()

    def _begin_run(self) -> None:
        self.workspace.lay_out()
        self._take_snapshot()
        self._write(
            RunLine,
            task=self.task.id,
            task_version=self.task.spec.version,
            tier=self.data.tier,
            data_hash=self.data.hash,
            actions=tuple(self.actions.specs),
            limits=self.budget.limits.model_dump(),
            snapshot=self._snapshot,
        )

    def _resume(self, history: History, first: RunLine) -> None:
        require_same(self.run.path, first, self.task, self.data)
        self.steps += history.steps
        self.models.replies += history.replies
        self.taken_over = history.taken_over
        self.limits_held = history.limits
        self._snapshot = history.last_steps_snapshot or first.snapshot
        self._context.undo = history.undo
        told = sum(line.event == "feedback" for line in history.events)
        self._context.submission.told = told
        used_repl = any(step.action.name == python_repl.name for step in self.steps)
        self._context.repl = self._repl(used_before=used_repl)
        self.budget.resume_from(history.usage)
        if history.outcome is not None and not goes_on(history, self.budget.limits):
            self.outcome = history.outcome
            self._ended = RunEnded(history.outcome.kind, history.outcome.detail)
            return
        self.snapshots.restore(self._snapshot)
        seconds = self._count_interrupted(history)
        self._event("resumed", f"after step {len(self.steps)}")
        if history.interrupted is not None:
            self._close_interrupted(history.interrupted, seconds)
        self._note_limits(last_limits(history) or self.budget.limits)
        self._ended = self._submitted_already()

    def _note_limits(self, before: BudgetLimits) -> None:
        if changed := changed_limits(before, self.budget.limits):
            now = self.budget.limits.model_dump()
            self._write(EventLine, event="limits", detail=changed, limits=now)
            self.limits_held.append(LimitsFrom(step=len(self.steps), limits=now))

    def _count_interrupted(self, history: History) -> float:
        """Count an action's time until the last sign of life of the harness that began it."""
        begun = history.interrupted
        if begun is None:
            return 0.0
        signs = [self.run.output_log.stat().st_mtime]
        if self.run.lease is not None and self.run.lease.last_renewal_before is not None:
            signs.append(self.run.lease.last_renewal_before)
        longest = self.budget.command_time(self.task.spec.limits.command_time)
        seconds = min(longest, max(0.0, max(signs) - begun.at))
        counted = max(history.usage.seconds, begun.clock + seconds)
        self.budget.resume_from(history.usage.model_copy(update={"seconds": counted}))
        return seconds

    def _close_interrupted(self, begun: BeginLine, seconds: float) -> None:
        self._event("interrupted", f"step {begun.step}: {begun.action.name}")
        self.budget.add_step()
        self._end(begun.step, begun.action, begun.at, seconds, INTERRUPTED)

    def _submitted_already(self) -> RunEnded | None:
        """The end of a run whose journal has its Final Answer but not its outcome."""
        if not self.steps or self.steps[-1].observation.status != "ok":
            return None
        spec = self.actions.specs.get(self.steps[-1].action.name)
        return submitted_by(self.steps[-1].action) if spec is not None and spec.ends_run else None

    async def close(self) -> None:
        """Stop the REPL and close all files; the run can be reopened."""
        with anyio.CancelScope(shield=True):
            await self._context.repl.stop()
        self.budget.stop()
        self.snapshots.close()
        self.store.close()
        if self._journal is not None and self._output_log is not None:
            self._journal.close()
            self._output_log.close()
            self._journal = self._output_log = None

    def submit_step(self, step: Step) -> None:
        """Let the run end with the workspace as it was after this step."""
        self._submitted_step = step

    def finish(self, outcome: Outcome) -> None:
        """Write how the run ended, with the current or the submitted workspace; only once."""
        if self.outcome is not None:
            return
        self.budget.stop()
        if self._submitted_step is None:
            self._take_snapshot()
        else:
            self._snapshot = self._submitted_step.snapshot
            self.note(f"submitted: the workspace as it was after step {self._submitted_step.n}")
        self._write(
            OutcomeLine,
            outcome=outcome,
            snapshot=self._snapshot,
            usage=self.usage,
        )
        self.outcome = outcome
        self._ended = RunEnded(outcome.kind, outcome.detail)

    # Steps

    @property
    def ended(self) -> RunEnded | None:
        """Why no further action will be executed, once the run is over."""
        if self._ended is None:
            try:
                self.budget.check()
            except RunEnded as end:
                return end
        return self._ended

    @property
    def usage(self) -> Usage:
        return self.budget.usage

    async def execute(self, action: Action, *, patience: float = math.inf) -> Observation:
        """Execute one step and return its observation; a command ends after `patience` seconds.

        Raises RunEnded when the run is over before or by this action, and RunFailed when the
        infrastructure failed.
        """
        async with self._one_at_a_time:
            if self._ended is not None:
                raise self._ended
            self.budget.check()
            self._context.patience = patience
            self._context.notes = StepNotes()
            number, started, clock = len(self.steps) + 1, time.time(), time.monotonic()
            action = storable(action)
            self._write(BeginLine, step=number, action=action)
            self.budget.add_step()
            try:
                observation = await self._observe(action)
            except anyio.get_cancelled_exc_class():
                self._end(number, action, started, time.monotonic() - clock, CUT_OFF)
                raise
            except RunFailed as failure:
                self._event("failed", str(failure))
                raise
            seconds = time.monotonic() - clock
            await anyio.to_thread.run_sync(
                partial(self._end, number, action, started, seconds, observation)
            )
            self._notify()
            if observation.status == "ok" and self.actions.find(action.name).ends_run:
                self._ended = submitted_by(action)
                raise self._ended
            return observation

    async def note_step(self, action: Action, observation: Observation) -> None:
        """Record a step that the Environment did not execute.

        Examples are an unreadable reply, and what an in-sandbox agent does by itself.
        """
        async with self._one_at_a_time:
            if self._ended is not None:
                raise self._ended
            self.budget.check()
            number = len(self.steps) + 1
            action = storable(action)
            self._write(BeginLine, step=number, action=action)
            self.budget.add_step()
            self._context.notes = StepNotes()
            await anyio.to_thread.run_sync(
                partial(self._end, number, action, time.time(), 0.0, observation)
            )
            self._notify()

    def _notify(self) -> None:
        for listener in self.on_step:
            listener(self.steps[-1])

    async def _observe(self, action: Action) -> Observation:
        try:
            observation = await self.actions.run(self._context, action)
            if self._output_lost is not None:
                reason = f"cannot write {self.run.output_log}: {self._output_lost.strerror}"
                raise RunFailed("harness", reason)
            return observation
        except PathRefused as refused:
            self._event("refused", str(refused))
            return Observation(text=str(refused), status="refused")
        except ActionError as fault:
            return Observation(text=str(fault), status="error", fault=fault.fault)

    def _end(
        self, number: int, action: Action, started: float, seconds: float, observation: Observation
    ) -> None:
        """Take the snapshot, then write the step's end, so that it refers to nothing unwritten."""
        notes = self._context.notes
        before = self._snapshot
        written, long_text = observation, None
        if len(observation.text) > LONG_TEXT:
            long_text = self.store.put(observation.text.encode("utf-8", "replace"))
            written = observation.model_copy(update={"text": ""})
        output = None if notes.output is None else self.store.put(notes.output)
        at_rest = not self._context.repl.is_running and not self.external_agent_running
        left_out = self._take_snapshot(quiet=at_rest)
        if notes.restarted:
            self._event("sandbox restarted", f"in step {number}")
        if notes.feedback:
            self._event("feedback", f"in step {number}")
        usage = self.usage
        self._write(
            EndLine,
            step=number,
            observation=written,
            text=long_text,
            output=output,
            snapshot=self._snapshot,
            notes=left_out,
            edited=notes.edited,
            undone=notes.undone,
            started=started,
            seconds=round(seconds, 6),
            usage=usage,
        )
        note_edit(self._context.undo, notes.edited, notes.undone, before)
        self.steps.append(
            Step(
                n=number,
                action=action,
                observation=observation,
                snapshot=self._snapshot,
                started=started,
                seconds=seconds,
                usage=usage,
            )
        )

    def _take_snapshot(self, quiet: bool = False) -> tuple[str, ...]:
        """Snapshot the workspace; returns what had to be omitted."""
        try:
            taken = self.snapshots.take(quiet)
            self.store.commit()
        except OSError as error:
            raise RunFailed("harness", f"cannot store a snapshot: {error}") from error
        self._snapshot = taken.id
        return taken.notes

    def _repl(self, used_before: bool = False) -> Repl:
        """A session whose process will still run when snapshots are taken."""
        return Repl(self.sandbox, self._expect_processes, used_before)

    def _expect_processes(self) -> None:
        try:
            self.snapshots.expect_processes()
        except OSError as error:
            raise RunFailed("harness", f"cannot store a snapshot: {error}") from error

    def _stored(self, journal: Journal) -> int:
        """Bytes that this process has stored for the run."""
        return self.store.written + journal.written + self._output_size

    # Other journal lines

    def note(self, detail: str) -> None:
        self._event("note", detail)

    def note_worker(self, worker: str) -> None:
        """Record where an engine carries the run out from here on."""
        self._event("worker", worker)

    def _event(self, event: EventName, detail: str = "") -> None:
        self._write(EventLine, event=event, detail=detail)

    def _write(self, line_type: type[L], **fields: Json) -> L:
        if self._journal is None:
            raise RunFailed("harness", "the Environment is not started, or already closed")
        return self._journal.append(line_type, self.budget.seconds, **fields)

    def take_output(self, output: bytes) -> None:
        """Append a command's output to the run's output log, and notify listeners."""
        if self._output_log is not None:
            try:
                self._output_log.write(output)
                self._output_size += len(output)
            except OSError as error:
                self._output_lost = error
        for listener in self.on_output:
            listener(output)

    # Outside of Inspect

    @classmethod
    def open(
        cls,
        task: Task | str | Path,
        out: Path,
        tier: Tier = "mini",
        *,
        epoch: int = 1,
        limits: BudgetLimits | None = None,
        actions: Sequence[ActionSpec] = STANDARD_ACTIONS,
        feedback_calls: int = 0,
        models: "Mapping[str, str | Model] | None" = None,
    ) -> "AbstractAsyncContextManager[Environment]":
        """A run of a prepared task, started or resumed below `out`, in the default sandbox.

        `models` names a model for each role: {"main": "openai/gpt-6-sol", "fast": ...}.
        """
        from mlagentbench.environment.run_by_hand import open_by_hand

        return open_by_hand(task, out, tier, epoch, limits, actions, feedback_calls, models)


def _offered(setup: RunSetup) -> Sequence[ActionSpec]:
    return setup.actions if setup.execution else without_execution(setup.actions)


def _problem(setup: RunSetup) -> str:
    """The task's problem, how to get feedback if there is any, and how it is rebuilt if so.

    Without executions, also that there are none.
    """
    parts = [setup.task.problem]
    if setup.feedback is not None:
        parts.append(explanation(setup.task, setup.feedback))
    if setup.rehearsal is not None:
        parts.append(rebuild_explanation(setup.task, setup.rehearsal, execution=setup.execution))
    return "\n".join(parts)
