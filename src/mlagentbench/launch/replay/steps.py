"""Execute recorded steps again, one by one."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from mlagentbench.agents.runner import UNUSABLE_REPLY
from mlagentbench.environment.actions.model_assisted import ANSWER, append_summary_to_research_log
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.research_log import LOG
from mlagentbench.errors import ActionError, RunEnded, RunFailed
from mlagentbench.launch.replay.compare import TIME, StepComparer, ended_by_time, worst
from mlagentbench.launch.replay.result import Compared, StepComparison
from mlagentbench.launch.replay.source import RecordedStep, ReplaySource, last_end
from mlagentbench.models.recording import record_replies, write_recording
from mlagentbench.program_services.services import ReplayedServices
from mlagentbench.records import Observation
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import EndLine
from mlagentbench.runs.objects.object_store import ObjectLost, ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, changes, entry_at
from mlagentbench.sandbox.base import Sandbox

if TYPE_CHECKING:
    from inspect_ai.model import Model

RECORDING = "replay-replies.jsonl"
NO_TIMEOUT = float("inf")


class NotExecuted(NamedTuple):
    """Why a step is not executed again; `nothing_done` if it never was."""

    reason: str
    nothing_done: bool = False


def recorded_model(source: ReplaySource, run: RunDirectory) -> "Mapping[str, Model]":
    """A model for all roles that repeats the recorded replies to the run's actions."""
    from inspect_ai.model import get_model

    replies = [line for step in source.steps for line in step.replies]
    file = run.path / RECORDING
    write_recording(file, [record_replies(source.run, replies)])
    model = get_model(
        "mlagentbench/recorded", file=str(file), on_mismatch="continue", memoize=False
    )
    return {"main": model}


class Replayer:
    """Executes the steps of a run again and compares each with the journal."""

    def __init__(
        self, source: ReplaySource, comparing: StepComparer, services: ReplayedServices | None
    ) -> None:
        self._source = source
        self._services = services
        self._comparing = comparing
        self._step: RecordedStep | None = None

    async def replay(self, environment: Environment, step: RecordedStep) -> StepComparison:
        """Execute one step, or record why not, and compare."""
        self._step = step
        if self._services is not None:
            self._services.select_step(step.begin.at, step.end.at)
        noted = _why_not(environment, step)
        if noted is None:
            await self._copy_research_log(environment, step)
            try:
                return self._compared(step, await self._execute(environment, step), environment)
            except RunFailed as failure:
                if failure.cause != "model":
                    raise
                noted = NotExecuted(f"a model is asked more than was recorded: {failure.detail}")
        return await self._take_over(environment, step, noted)

    async def recorded_answer(self, _request: str) -> str:
        """What a person answered in the replayed step."""
        if self._step is None:
            return ""
        text = self._step.observation(self._source.objects).text
        return text.removeprefix(ANSWER) if text.startswith(ANSWER) else ""

    async def _execute(self, environment: Environment, step: RecordedStep) -> Observation:
        """Execute the step; a command that timed out gets as much time again."""
        timed_out = step.end.observation.limit == TIME
        patience = step.end.seconds if timed_out else NO_TIMEOUT
        try:
            return await environment.execute(step.begin.action, patience=patience)
        except RunEnded:
            return environment.steps[-1].observation

    def _compared(
        self, step: RecordedStep, now: Observation, environment: Environment
    ) -> StepComparison:
        found = []
        try:
            for one in self._differences(step, now, environment):
                found.append(one)
        except ObjectLost as lost:
            found.append(Compared(what="record", agreement="not replayable", reason=lost.detail))
        edited = ["its observation was edited for a branch"] if step.edited else []
        return StepComparison(
            step=step.n,
            action=step.begin.action,
            agreement=worst(found),
            reason="; ".join([*edited, *(f"{one.what}: {one.reason}" for one in found)]),
            compared=tuple(found),
        )

    def _differences(
        self, step: RecordedStep, now: Observation, environment: Environment
    ) -> Iterator[Compared]:
        """All differences; ObjectLost when a recorded object is missing."""
        yield from self._comparing.files(step.end.snapshot, environment.steps[-1].snapshot)
        if not step.edited:
            then = step.observation(self._source.objects)
            yield from self._comparing.observations(then, now)
            yield from self._outputs(step, then, now, environment)

    def _outputs(
        self, step: RecordedStep, then: Observation, now: Observation, environment: Environment
    ) -> Iterator[Compared]:
        """Differences in the full output of a command whose observation shows only a part."""
        timed_out = ended_by_time(then, now)
        if step.end.output is None and not timed_out:
            return
        printed = _full_output(self._source.objects, step.end)
        printed_now = _full_output(environment.store, last_end(environment.run))
        if timed_out:
            yield from self._comparing.printed_in_time(
                then.text if printed is None else printed,
                now.text if printed_now is None else printed_now,
            )
        elif printed is not None and printed_now is not None:
            yield from self._comparing.texts("output", printed, printed_now)

    async def _take_over(
        self, environment: Environment, step: RecordedStep, noted: NotExecuted
    ) -> StepComparison:
        """Record the step without executing it, and copy its changes to the workspace."""
        copied = 0
        objects = self._source.objects
        if environment.ended is not None:
            return _not_done(step, noted)
        try:
            for change in changes(objects, step.before, step.end.snapshot):
                await _copy_entry(environment.sandbox, objects, change.path, change.after)
                copied += 1
        except ObjectLost as lost:
            noted = NotExecuted(f"{noted.reason}; its changes are missing: {lost.detail}")
        await environment.note_step(step.begin.action, step.end.observation)
        taken_over = copied > 0 and not noted.nothing_done
        return _not_done(step, noted).model_copy(update={"taken_over": taken_over})

    async def _copy_research_log(self, environment: Environment, step: RecordedStep) -> None:
        """Copy a research log that the agent wrote between its steps."""
        if step.begin.action.name == append_summary_to_research_log.name:
            return
        objects = self._source.objects
        with suppress(ObjectLost):  # comparing the files reports it
            entry = entry_at(objects, step.end.snapshot, LOG)
            if entry is not None and entry != entry_at(objects, step.before, LOG):
                await _copy_entry(environment.sandbox, objects, LOG, entry)


def _full_output(objects: ObjectStore, end: EndLine) -> str | None:
    return None if end.output is None else objects.read(end.output).decode("utf-8", "replace")


def _not_done(step: RecordedStep, noted: NotExecuted) -> StepComparison:
    return StepComparison(
        step=step.n,
        action=step.begin.action,
        agreement="same" if noted.nothing_done else "not replayable",
        reason=noted.reason,
    )


def _why_not(environment: Environment, step: RecordedStep) -> NotExecuted | None:
    """Why a step cannot be executed again; None when it can."""
    if environment.ended is not None:
        return NotExecuted("the replay ended before it")
    if step.seed is None:
        return NotExecuted("the run that it was branched from is missing, and so is its seed")
    if step.begin.action.name == UNUSABLE_REPLY.name:
        return NotExecuted("an unusable reply: nothing was executed", nothing_done=True)
    if step.status == "interrupted":
        return NotExecuted("it was interrupted", nothing_done=step.end.snapshot == step.before)
    try:
        environment.actions.find(step.begin.action.name)
    except ActionError:
        if step.status == "ok":
            return NotExecuted("an external agent did it outside of the environment")
    return None


async def _copy_entry(
    sandbox: Sandbox, objects: ObjectStore, path: str, entry: Entry | None
) -> None:
    """Copy a recorded entry to the workspace, as the sandbox's user."""
    if entry is None or entry.kind == "link":
        await sandbox.run(["rm", "-rf", "--", path])
    if entry is None:
        return
    if entry.kind == "directory":
        await sandbox.run(["mkdir", "-p", "--", path])
    elif entry.kind == "link":
        await sandbox.run(["ln", "-s", "--", entry.value, path])
    else:
        await sandbox.write(path, objects.read(entry.value))
    if entry.kind != "link":
        await sandbox.run(["chmod", f"{entry.mode & 0o777:o}", "--", path])
