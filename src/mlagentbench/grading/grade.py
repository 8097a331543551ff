"""Grading: what a run submitted, scored away from the agent.

    snapshot --submission only, regular files--> outputs/step-N/
    [collect]   agent code that must run, does so in a fresh sandbox that has inputs, no answers
    grade.py    in a sandbox of its own, sees outputs/step-N/ and private/ (of a timed task also
                public/), imports nothing of the agent's
    GradeRecord       the score seen against floor, bar and reference; appended to grades.jsonl

An invalid submission is a GradeRecord with a reason. A grader that fails is a RunFailed, never a
score.
"""

import shutil
import time
from pathlib import Path

from mlagentbench.environment.services.tool_model import (
    READER,
    CachedReplies,
    InspectTool,
    RecordedTool,
    ToolModel,
    tool_model_name,
)
from mlagentbench.environment.services.tool_services import ToolServices, grading_services
from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.grading.imported_runs import WARNING, data_for_imported, require_fit
from mlagentbench.grading.program import collect_program
from mlagentbench.grading.score import compare_with_bar
from mlagentbench.grading.timed import collect_timed
from mlagentbench.records import GradeRecord, Json, Record, RunRecord, ToolUsage
from mlagentbench.runs.chain import append_line
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import History, read_journal
from mlagentbench.runs.objects import ObjectStore
from mlagentbench.runs.results import read_record
from mlagentbench.runs.trees import Entry, NotCollected, entry_at, materialise
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.contract import InvalidSubmissionReported
from mlagentbench.tasks.data.preparation import PreparedData, prepared_with_hash
from mlagentbench.tasks.measured import stored_measurements
from mlagentbench.tasks.python_env.env import PythonEnv, require_python_env
from mlagentbench.tasks.task import Task, load_task

GRADING_TIMEOUT = 1800.0


class Scored(Record):
    """What the task's grader said: a score, or the reason why there is none."""

    score: float | None = None
    reason: str | None = None
    extra: dict[str, Json] = {}
    tool: ToolUsage | None = None


async def grade_run(run: RunDirectory, step: int | None = None) -> GradeRecord:
    """Grade a run as it was after a step, by default its last, and add the grade to its grades."""
    record = read_record(run)
    task = load_task(record.task_path)
    facts = record.disclosure
    data = data_of(run, record, task)
    python_env = require_python_env(task)
    history = read_journal(run.journal)
    number, snapshot = _snapshot_after(run, history, step)
    started = time.monotonic()
    outputs = run.outputs / f"step-{number}"
    tool_name = tool_model_name(task, facts.roles, facts.model)
    tool = None if tool_name is None else CachedReplies(_asked(tool_name, record), run.replies)
    store = ObjectStore(run.objects)
    scored = await score_snapshot(task, data, python_env, store, snapshot, outputs, tool)
    if record.origin == "legacy":
        scored = _as_imported(run, scored, entry_at(store, snapshot, task.spec.submission.path))
    measured = stored_measurements(task, facts.tier, data.hash, tool_name)
    comparison = compare_with_bar(task.spec.metric, measured, scored.score)
    grade = GradeRecord(
        step=number,
        valid=scored.score is not None,
        seconds=round(time.monotonic() - started, 3),
        **scored.model_dump(),
        **comparison.model_dump(),
    )
    append_line(run.grades, grade.model_dump_json().encode(), run.journal)
    run.failure.unlink(missing_ok=True)
    return grade


def _asked(name: str, record: RunRecord) -> ToolModel:
    """Who answers what is not kept; nobody, where that would ask a model for a replay."""
    is_replay = record.origin == "replay" and name != READER
    return RecordedTool(name) if is_replay else InspectTool(name)


def data_of(run: RunDirectory, record: RunRecord, task: Task) -> PreparedData:
    """The data that a run worked on; those of an imported run are not here, ours may fit."""
    if record.origin == "legacy":
        return data_for_imported(run, task)
    facts = record.disclosure
    if task.spec.version != facts.task_version:
        raise UsageError(
            f"{run.path}: was run on {task.id} version {facts.task_version}, this is version "
            f"{task.spec.version}; grade it with the MLAgentBench that ran it"
        )
    return prepared_with_hash(task, facts.tier, facts.data_hash)


def _as_imported(run: RunDirectory, scored: Scored, submission: Entry | None) -> Scored:
    require_fit(run, scored.reason, submission is not None)
    return scored.model_copy(update={"extra": {**scored.extra, "warning": WARNING}})


def _snapshot_after(run: RunDirectory, history: History, step: int | None) -> tuple[int, str]:
    if history.run is None:
        raise UsageError(f"{run.path}: the run has not started; there is nothing to grade")
    snapshots = {0: history.run.snapshot} | {past.n: past.snapshot for past in history.steps}
    last = max(snapshots)
    # An agent may have changed files by other means after its last step.
    snapshots[last] = history.snapshot or snapshots[last]
    number = last if step is None else step
    if number not in snapshots:
        raise UsageError(f"{run.path}: no step {number}; its steps are 0 to {last}")
    return number, snapshots[number]


async def score_snapshot(
    task: Task,
    data: PreparedData,
    python_env: PythonEnv,
    store: ObjectStore,
    snapshot: str,
    outputs: Path,
    tool: ToolModel | None = None,
) -> Scored:
    """Copy the submission out of a snapshot and score it."""
    submission = task.spec.submission
    fresh_directory(outputs)
    try:
        materialise(store, snapshot, outputs, [submission.path], submission.max_bytes)
    except NotCollected as missing:
        return Scored(reason=str(InvalidSubmissionReported(f"no submission: {missing}")))
    return await score_submission(task, data, python_env, outputs, tool)


async def score_submission(
    task: Task,
    data: PreparedData,
    python_env: PythonEnv,
    submitted: Path,
    tool: ToolModel | None = None,
) -> Scored:
    """Score the submitted files in a directory; they are data here and are never imported."""
    outputs = outputs_of(task, submitted)
    services = None if tool is None else grading_services(task, data.private, tool)
    if outputs != submitted:
        fresh_directory(outputs)
        try:
            if task.spec.kind == "timed":
                await collect_timed(task, data, python_env, submitted, outputs)
            else:
                await collect_program(task, python_env, submitted, data.private, outputs, services)
        except InvalidSubmissionReported as invalid:
            return Scored(reason=str(invalid), tool=_used(services))
    try:
        result = await call_grader(task, data, python_env, outputs)
    except InvalidSubmissionReported as invalid:
        return Scored(reason=str(invalid), tool=_used(services))
    if not isinstance(result, dict) or not isinstance(result.get("score"), float | int):
        raise RunFailed("grader", f"{task.id}: grade() returned {result!r} instead of a Grade")
    return Scored(
        score=float(result["score"]),
        extra=_with_refusals(result.get("extra", {}), services),
        tool=_used(services),
    )


def outputs_of(task: Task, submitted: Path) -> Path:
    """What the grader is given: the submitted files, or what their program wrote when it ran."""
    if task.spec.kind in ("timed", "program"):
        return submitted.with_name(f"{submitted.name}-collected")
    return submitted


async def call_grader(task: Task, data: PreparedData, python_env: PythonEnv, outputs: Path) -> Json:
    """Let the task's grade() score outputs, in a sandbox of its own."""
    read = {"outputs": outputs, "private": data.private}
    if task.spec.kind == "timed":
        read["public"] = data.public
    return await call_task(task, python_env, "grade.grade", read=read, timeout=GRADING_TIMEOUT)


def _used(services: ToolServices | None) -> ToolUsage | None:
    return None if services is None else services.used


def _with_refusals(extra: dict[str, Json], services: ToolServices | None) -> dict[str, Json]:
    refused = services.refusals() if services is not None else None
    return extra if refused is None else {**extra, "warning": refused}


def fresh_directory(directory: Path) -> None:
    """Make a directory that is empty."""
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
