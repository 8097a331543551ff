"""Grade what a run submitted, outside of the agent's sandbox.

    snapshot --submission only, regular files--> outputs/step-N/
    [collect]    submitted code runs in a fresh sandbox that has the inputs but not the answers
    grade.py     runs in its own sandbox; reads outputs/step-N/ and private/ (for a timed task also
                 public/); never imports submitted code
    GradeRecord  the score compared with floor, bar and reference; appended to grades.jsonl

An invalid submission is a GradeRecord with a reason. So is a submission on which the grader fails
or exceeds a limit, if it grades a known-good one under the same limits. A grader that fails on both
is a RunFailed, never a score.

Runs imported from the original's logs are graded only if their predictions fit our full test set:
the original split its data differently, and often left the test labels in the workspace.
"""

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

import anyio.to_thread

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.grading.forbidden_contents import require_no_canary
from mlagentbench.grading.known_good_outputs import known_good_outputs
from mlagentbench.grading.rungs import compare_with_rungs, reported_error
from mlagentbench.grading.submitted_program import collect_program, fresh_directory
from mlagentbench.grading.timed_grading import MachineBusy, collect_timed
from mlagentbench.machine.slots import slot_for
from mlagentbench.program_services.services import (
    ProgramServices,
    ServiceUsage,
    grading_services,
    tool_model_name,
)
from mlagentbench.records import GradeRecord, Json, Record, RunRecord, ToolUsage
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.failure_causes import NO_SUBMISSION
from mlagentbench.runs.hash_chain import append_line
from mlagentbench.runs.journal import History, read_journal
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import NotCollected, entry_at, materialise
from mlagentbench.runs.results import read_record
from mlagentbench.sandbox.sandbox_registry import tasks_sandbox
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.call_contract import InvalidSubmissionReported
from mlagentbench.tasks.data.known_good import hold_accountable
from mlagentbench.tasks.data.preparation import PreparedData, find_prepared, prepared_with_hash
from mlagentbench.tasks.python_env.env import PythonEnv, require_python_env
from mlagentbench.tasks.stored_measurements import (
    how_to_measure,
    shipped_measurements,
    stored_measurements,
)
from mlagentbench.tasks.task import Task, load_task

GRADING_TIMEOUT = 1800.0
IMPORTED_NOT_GRADED = (
    "imported from the original's logs: not graded, because its test data differ from ours"
)
IMPORTED_WARNING = (
    "imported from the original's logs and graded on our test set; "
    "its labels may have been in the run's workspace"
)


class Scored(Record):
    """The result of the task's grader: a score, or the reason why there is none."""

    score: float | None = None
    reason: str | None = None
    broken_rule: bool = False
    extra: dict[str, Json] = {}
    tool: ToolUsage | None = None


Announce = Callable[[str], None]
"""Tells a person what takes long, such as waiting for a slot."""


def _in_silence(_text: str) -> None:
    pass


async def grade_run(
    run: RunDirectory, step: int | None = None, announce: Announce = _in_silence
) -> GradeRecord:
    """Grade a run as it was after `step` (default: its last); the grade is appended to its grades.

    The caller holds the run.
    """
    grade = await score_run(run, step, announce)
    append_grade(run, grade)
    return grade


async def score_run(
    run: RunDirectory, step: int | None = None, announce: Announce = _in_silence
) -> GradeRecord:
    """The grade of a run as it was after `step` (default: its last), which is not written."""
    record = read_record(run)
    facts = record.disclosure
    task = load_task(record.task_path, facts.tier, facts.profile)
    data = data_of(run, record, task)
    envs = tasks_sandbox(facts.sandbox).python_envs(facts.image)
    python_env = require_python_env(task, envs)
    history = read_journal(run.journal)
    number, snapshot = snapshot_after(run, history, step)
    started = time.monotonic()
    outputs = run.outputs / f"step-{number}"
    tool = tool_model_name(task, facts.roles, facts.model)
    is_replay = record.origin == "replay"
    services = grading_services(
        task, tool, data.private, run.replies, run.lease, is_replay=is_replay
    )
    store = ObjectStore(run.objects)
    try:
        scored = await score_snapshot(
            task, data, python_env, store, snapshot, outputs, services, announce
        )
    except MachineBusy as busy:
        again = f"mlagentbench runs regrade {run.path}"
        raise RunFailed(busy.cause, f"{busy.detail}; run: {again}") from busy
    if record.origin == "legacy":
        has_submission = entry_at(store, snapshot, task.spec.submission.path) is not None
        scored = _imported_score(run, scored, has_submission)
    measured = stored_measurements(task, facts.tier, data.hash, tool)
    comparison = compare_with_rungs(
        task.spec.metric,
        measured,
        scored.score,
        public=shipped_measurements(task, facts.tier, tool),
        score_error=reported_error(scored.extra),
        tier=facts.tier,
    )
    if measured is None:
        again = how_to_measure(task.address, facts.tier, task.profile)
        reason = f"{comparison.success_reason}; run: {again}"
        comparison = comparison.model_copy(update={"success_reason": reason})
    return GradeRecord(
        step=number,
        valid=scored.score is not None,
        seconds=round(time.monotonic() - started, 3),
        **scored.model_dump(),
        **comparison.model_dump(),
    )


def repeat_grade(run: RunDirectory, grade: GradeRecord, step: int) -> GradeRecord:
    """Append the same grade for another step, whose submission has the same contents."""
    repeated = grade.model_copy(update={"step": step, "seconds": 0.0})
    append_grade(run, repeated)
    return repeated


def append_grade(run: RunDirectory, grade: GradeRecord) -> None:
    """Write a grade of a run that the caller holds."""
    append_line(run.grades, grade.model_dump_json().encode(), run.journal, run.lease)
    run.failure.unlink(missing_ok=True)


def data_of(run: RunDirectory, record: RunRecord, task: Task) -> PreparedData:
    """The data that a run worked on; for an imported run, our full data."""
    if record.origin == "legacy":
        return _data_for_imported(run, task)
    facts = record.disclosure
    if task.spec.version != facts.task_version:
        raise UsageError(
            f"{run.path}: was run on version {facts.task_version} of {task.id}, but version "
            f"{task.spec.version} is installed; grade it with the MLAgentBench that ran it"
        )
    return prepared_with_hash(task, facts.tier, facts.data_hash, facts.draw)


def _data_for_imported(run: RunDirectory, task: Task) -> PreparedData:
    if task.spec.kind != "predictions":
        raise UsageError(
            f"{run.relative}: {IMPORTED_NOT_GRADED}; {task.id} is graded by running what was "
            "submitted, and the original's submissions have another form"
        )
    data = find_prepared(task, "full")
    if data is None:
        raise UsageError(
            f"{run.relative}: {IMPORTED_NOT_GRADED}; to see whether its submission fits ours, run: "
            f"mlagentbench tasks prepare {task.address} --tier full"
        )
    return data


def _imported_score(run: RunDirectory, scored: Scored, has_submission: bool) -> Scored:
    """The score with a warning. A submission that does not fit our test set cannot be graded; a
    missing one is a failure of the agent."""
    if scored.reason is not None and has_submission:
        raise UsageError(
            f"{run.relative}: {IMPORTED_NOT_GRADED}; its submission does not fit: {scored.reason}"
        )
    return scored.model_copy(update={"extra": {**scored.extra, "warning": IMPORTED_WARNING}})


def snapshot_after(run: RunDirectory, history: History, step: int | None) -> tuple[int, str]:
    """The number of a step, by default the last, and the snapshot that is graded for it."""
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
    services: ProgramServices | None = None,
    announce: Announce = _in_silence,
) -> Scored:
    """Copy the submission out of a snapshot and score it."""
    submission = task.spec.submission
    fresh_directory(outputs)
    try:
        materialise(store, snapshot, outputs, [submission.path], submission.max_bytes)
    except NotCollected as missing:
        return Scored(reason=str(InvalidSubmissionReported(f"{NO_SUBMISSION}: {missing}")))
    return await score_submission(task, data, python_env, outputs, services, announce)


async def score_submission(
    task: Task,
    data: PreparedData,
    python_env: PythonEnv,
    submitted: Path,
    services: ProgramServices | None = None,
    announce: Announce = _in_silence,
) -> Scored:
    """Score the submitted files in a directory; they are read as data and never imported."""
    outputs = outputs_of(task, submitted)

    async def collect() -> None:
        await collect_program(task, python_env, submitted, data.private, outputs, services)

    async def grade() -> Json:
        return await call_grader(task, data, python_env, outputs)

    async def collect_known_good() -> None:
        async with known_good_outputs(task, data, python_env, outputs):
            pass

    async def grade_known_good() -> None:
        async with known_good_outputs(task, data, python_env, outputs) as known_good:
            await call_grader(task, data, python_env, known_good)

    try:
        await anyio.to_thread.run_sync(require_no_canary, submitted)
        async with _place_to_grade(task, announce):
            if task.spec.kind == "timed":
                fresh_directory(outputs)
                await collect_timed(task, data, python_env, submitted, outputs, announce)
            elif task.spec.kind == "program":
                fresh_directory(outputs)
                await hold_accountable(collect, collect_known_good)
            result = await hold_accountable(grade, grade_known_good)
    except InvalidSubmissionReported as invalid:
        return Scored(
            reason=str(invalid),
            broken_rule=invalid.broken_rule,
            tool=services.usage().used if services else None,
        )
    if not isinstance(result, dict) or not isinstance(result.get("score"), float | int):
        raise RunFailed("grader", f"{task.id}: grade() returned {result!r} instead of a Grade")
    scored = Scored(score=float(result["score"]), extra=result.get("extra", {}))
    return scored if services is None else _with_usage(scored, services.usage())


def _place_to_grade(task: Task, announce: Announce) -> AbstractAsyncContextManager[object]:
    """The slot of the run that is graded; outside of a run, one for a submitted program."""
    if task.spec.collect is None:
        return nullcontext()
    return slot_for(task.spec.resources.need(), f"grading of {task.id}", announce)


def _with_usage(scored: Scored, usage: ServiceUsage) -> Scored:
    warning = {} if usage.refused is None else {"warning": usage.refused}
    return scored.model_copy(update={"tool": usage.used, "extra": {**scored.extra, **warning}})


def outputs_of(task: Task, submitted: Path) -> Path:
    """What the grader is given: the submitted files, or what their program wrote when it ran."""
    if task.spec.kind in ("timed", "program"):
        return submitted.with_name(f"{submitted.name}-collected")
    return submitted


async def call_grader(task: Task, data: PreparedData, python_env: PythonEnv, outputs: Path) -> Json:
    """Call the task's grade() on outputs, in its own sandbox."""
    read = {"outputs": outputs, "private": data.private}
    if task.spec.kind == "timed":
        read["public"] = data.public
    return await call_task(task, python_env, "grade.grade", read=read, timeout=GRADING_TIMEOUT)
