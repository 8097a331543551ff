"""The recorded run that a replay starts from, with its task, data and environment."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.environment.actions.action import ActionSpec
from mlagentbench.environment.actions.action_sets import ALL_ACTIONS, choose_actions
from mlagentbench.environment.feedback import Feedback, hold_out
from mlagentbench.environment.rehearsal import Rehearsal, prepare_rehearsal
from mlagentbench.errors import UsageError
from mlagentbench.grading.grade import data_of
from mlagentbench.launch.request import RunSettings
from mlagentbench.program_services.services import READER, tool_model_name
from mlagentbench.records import REBUILD, Observation, ObservationStatus, RunRecord
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.fresh_key import key_of_run
from mlagentbench.runs.journal import (
    AnyLine,
    BeginLine,
    EndLine,
    EventLine,
    OutcomeLine,
    ReplyLine,
    RunLine,
    read_lines,
)
from mlagentbench.runs.objects.object_store import ObjectLost, ObjectStore
from mlagentbench.runs.results import read_record
from mlagentbench.sandbox.sandbox_provider import SandboxProvider
from mlagentbench.sandbox.sandbox_registry import tasks_sandbox
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv, require_python_env
from mlagentbench.tasks.task import Task, load_task


@dataclass(frozen=True)
class RecordedStep:
    """A step as the journal has it; `replies` are what models answered to its action."""

    begin: BeginLine
    end: EndLine
    replies: tuple[ReplyLine, ...]
    resumed: bool
    """Whether the run was interrupted and resumed since the step before."""
    seed: int | None
    """None when the step belongs to an ancestor that is missing."""
    edited: bool
    """Whether its observation was edited for a branch."""
    before: str
    """The workspace after the step before, or at the start."""

    @property
    def n(self) -> int:
        return self.begin.step

    @property
    def status(self) -> ObservationStatus:
        return self.end.observation.status

    def observation(self, objects: ObjectStore) -> Observation:
        """The full observation; ObjectLost when its text is missing."""
        if self.end.text is None:
            return self.end.observation
        text = objects.read(self.end.text, f"what step {self.n} showed").decode()
        return self.end.observation.model_copy(update={"text": text})


@dataclass(frozen=True)
class ReplaySource:
    """A recorded run whose task, data and virtual environment exist here."""

    run: RunDirectory
    record: RunRecord
    task: Task
    data: PreparedData
    python_env: PythonEnv
    provider: SandboxProvider
    """The sandbox in which it is replayed."""
    tool: str | None
    """The model that programs asked while they ran."""
    asked: tuple[Path, ...]
    """The logs of its replies."""
    first: RunLine
    steps: tuple[RecordedStep, ...]
    outcome: OutcomeLine | None
    objects: ObjectStore

    def actions(self) -> tuple[ActionSpec, ...]:
        """The actions of the run, also of an agent that took it over."""
        known = {spec.name for spec in ALL_ACTIONS}
        done = (step.begin.action.name for step in self.steps if step.status == "ok")
        return choose_actions(
            list(dict.fromkeys([*self.first.actions, *(name for name in done if name in known)]))
        )

    async def feedback(self) -> Feedback | None:
        """The feedback on held-out data that the run's agent got."""
        settings = RunSettings(feedback=self.record.disclosure.feedback)
        calls = settings.feedback_calls()
        if not calls:
            return None
        return await hold_out(self.task, self.data, self.python_env, call_task, calls)

    async def rehearsal(self) -> Rehearsal | None:
        """What Validate Submission made the submission again on, under --protocol rebuild."""
        facts = self.record.disclosure
        if facts.protocol != REBUILD:
            return None
        feedback = facts.feedback != "none"
        key = key_of_run(self.run.out, self.task, facts)
        return await prepare_rehearsal(
            self.task,
            self.data,
            self.python_env,
            call_task,
            key,
            feedback=feedback,
            execution=facts.execution,
        )

    def submitted_step(self) -> int | None:
        """The earlier step whose workspace was submitted; None for the last one."""
        submitted = None if self.outcome is None else self.outcome.snapshot
        if not self.steps or submitted in (None, self.steps[-1].end.snapshot):
            return None
        same = (step.n for step in reversed(self.steps) if step.end.snapshot == submitted)
        return next(same, None)


class Lineage:
    """The ancestors of a branched run: its first steps are theirs, with their seeds."""

    def __init__(self, run: RunDirectory, record: RunRecord) -> None:
        self.runs = [run]
        """The run, and its ancestors that exist here."""
        self.edited: set[int] = set()
        """Steps whose observations were edited."""
        self._seeds: list[tuple[int, int | None]] = []
        """The step after which a seed applies, and the seed; the latest first."""
        seen = {run.relative.as_posix()}
        while (point := record.branched_from) is not None:
            self._seeds.append((point.step, record.seed))
            if point.edited is not None:
                self.edited.add(point.step)
            above = RunDirectory(run.out, Path(point.run))
            try:
                parent = read_record(above)
            except UsageError:
                break
            if point.run in seen:
                break
            seen.add(point.run)
            self.runs.append(above)
            record = parent
        self._seeds.append((0, record.seed if record.branched_from is None else None))

    def seed_of(self, step: int) -> int | None:
        return next((seed for after, seed in self._seeds if step > after), None)


def read_source(run: RunDirectory) -> ReplaySource:
    """Read a run to replay; a UsageError says what is missing."""
    record = read_record(run)
    if record.origin == "legacy":
        raise UsageError(
            f"{run.path} was imported from the original MLAgentBench, whose actions differ; "
            "only runs of this package can be replayed"
        )
    task = load_task(record.task_path, record.disclosure.tier, record.disclosure.profile)
    data = data_of(run, record, task)
    lines = read_lines(run.journal) if run.journal.exists() else []
    first = next((line for line in lines if isinstance(line, RunLine)), None)
    if first is None:
        raise UsageError(f"{run.path}: the run has not started; there is nothing to replay")
    objects = ObjectStore(run.objects)
    lineage = Lineage(run, record)
    steps = tuple(_steps(lines, first, lineage))
    try:
        objects.verify(first.snapshot, "the workspace at the start")
        for line in (line for step in steps for line in step.replies):
            objects.verify(line.prompt_hash, f"a prompt of step {line.step}")
    except ObjectLost as lost:
        raise UsageError(f"a run cannot be replayed without its objects/: {lost.detail}") from lost
    provider = tasks_sandbox(record.disclosure.sandbox)
    outcomes = [line for line in lines if isinstance(line, OutcomeLine)]
    return ReplaySource(
        run=run,
        record=record,
        task=task,
        data=data,
        python_env=require_python_env(task, provider.python_envs(record.disclosure.image)),
        provider=provider,
        tool=_tool(run, record, task),
        asked=tuple(of_run.asked for of_run in lineage.runs),
        first=first,
        steps=steps,
        outcome=outcomes[-1] if outcomes else None,
        objects=objects,
    )


def _tool(run: RunDirectory, record: RunRecord, task: Task) -> str | None:
    """The tool model, whose replies were logged or can be had again."""
    name = tool_model_name(task, record.disclosure.roles, record.disclosure.model)
    if name not in (None, READER) and not run.asked.exists():
        raise UsageError(
            f"{run.path}: its programs asked the model {name} while they ran, and its replies were "
            f"not stored: there is no {run.asked.name}"
        )
    return name


def _steps(lines: Sequence[AnyLine], first: RunLine, lineage: Lineage) -> Iterator[RecordedStep]:
    begun: BeginLine | None = None
    replies: list[ReplyLine] = []
    resumed = False
    before = first.snapshot
    for line in lines:
        match line:
            case BeginLine():
                begun, replies = line, []
            case ReplyLine():
                replies.append(line)
            case EventLine(event="resumed"):
                resumed = True
            case EndLine() if begun is not None:
                yield RecordedStep(
                    begin=begun,
                    end=line,
                    replies=tuple(replies),
                    resumed=resumed,
                    seed=lineage.seed_of(line.step),
                    edited=line.step in lineage.edited,
                    before=before,
                )
                begun, resumed, before = None, False, line.snapshot


def last_end(run: RunDirectory) -> EndLine:
    """The end of a run's last step."""
    ends = (line for line in reversed(read_lines(run.journal)) if isinstance(line, EndLine))
    return next(ends)
