"""Rebuild a run: execute its program on the draw that it was written on, and on fresh ones.

    given draw      what the program makes, and how that differs from what was submitted
    fresh draws     data that did not exist when the program was written; in the full tier, other
                    splits of the same data
    rebuilds.jsonl  a line a draw, so that what was interrupted continues; then the summary

Under --protocol rebuild the summary is the run's grade. Of other runs it is only shown.
"""

import asyncio
import re
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from mlagentbench.errors import RunFailed, UnusableDraw, UsageError
from mlagentbench.grading.grade import (
    Announce,
    append_grade,
    data_of,
    grade_run,
    score_run,
    snapshot_after,
)
from mlagentbench.grading.rungs import compare_with_rungs
from mlagentbench.program_services.services import tool_model_name
from mlagentbench.rebuild.fresh_data import (
    FRESH_DRAWS,
    fresh_data,
    fresh_numbers,
    require_fresh_data,
)
from mlagentbench.rebuild.proposed_command import proposed_command
from mlagentbench.rebuild.rebuild_draw import Rebuilding, compared, elapsed
from mlagentbench.rebuild.score_of_record import grade_of_record, rebuilt_of
from mlagentbench.records import (
    REBUILD,
    BarComparison,
    GradeRecord,
    Rebuilt,
    RebuiltDraw,
    Record,
    RunRecord,
    SkippedDraw,
)
from mlagentbench.runs.directory import HeldRun, RunDirectory
from mlagentbench.runs.fresh_key import key_of_run
from mlagentbench.runs.hash_chain import append_line, require_chain
from mlagentbench.runs.journal import History, read_journal
from mlagentbench.runs.lease import RunHeld
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import entry_at
from mlagentbench.runs.rebuilds import (
    DrawLine,
    RebuildLine,
    SkippedLine,
    SummaryLine,
    newest_rebuilt,
    read_rebuilds,
)
from mlagentbench.runs.results import final_grade, find_run, read_record
from mlagentbench.sandbox.sandbox_registry import tasks_sandbox
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.data.unused_draws import note_user
from mlagentbench.tasks.python_env.env import (
    PythonEnv,
    PythonEnvs,
    require_python_env,
)
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.stored_measurements import shipped_measurements, stored_measurements
from mlagentbench.tasks.task import Task, load_task

_OPERATOR = re.compile(r"[|&;<>]|\d?>")
"""What begins an operator of the shell."""


async def grade_step(run: HeldRun, step: int | None, announce: Announce) -> GradeRecord:
    """Grade a held run by its protocol, and append the grade.

    Under --protocol rebuild, the last step is rebuilt; earlier steps are graded as they are. Of
    runs without executions, these have only a program, which is run on the given draw.
    """
    facts = read_record(run).disclosure
    last = len(read_journal(run.journal).steps)
    if facts.protocol != REBUILD or step not in (None, last):
        return await grade_alone(run, step, announce)
    started = time.monotonic()
    rebuilding = _rebuilding(run, None, announce)
    # The submitted file is compared with the measurements, so they come first.
    await rebuilding.measure(data_of(run, rebuilding.record, rebuilding.task))
    if rebuilding.program_only:
        submitted = GradeRecord(step=rebuilding.step, valid=False)
    else:
        submitted = await score_run(run, step, announce)
    rebuilt = await _rebuild(rebuilding, facts.rebuild_draws or FRESH_DRAWS, submitted)
    measured = stored_measurements(
        rebuilding.task, facts.tier, rebuilt.given.data_hash, rebuilding.tool
    )
    given = _on_the_rungs(rebuilding, measured, rebuilt.given)
    made = _known(rebuilding, rebuilt.given.draw, rebuilt.given.data_hash)
    if made is not None:  # what the grader said of it, and not of the submitted file
        submitted = submitted.model_copy(update={"extra": made.extra, "tool": made.tool})
    grade = grade_of_record(submitted, rebuilt, given, elapsed(started))
    append_grade(run, grade)
    return grade


async def grade_alone(
    run: HeldRun, step: int | None = None, announce: Announce = lambda _text: None
) -> GradeRecord:
    """Grade a held run on its own data alone, as it was after a step, and append the grade.

    Where only a program was submitted, what it makes of them is graded.
    """
    record = read_record(run)
    facts = record.disclosure
    task = load_task(record.task_path, facts.tier, facts.profile)
    if record.disclosure.execution or task.spec.rebuild.command is None:
        return await grade_run(run, step, announce)
    started = time.monotonic()
    rebuilding = _rebuilding(run, None, announce, step=step)
    line = await _known_or_new(rebuilding, data_of(run, record, task), is_given=True)
    one = line.result
    measured = stored_measurements(task, facts.tier, one.data_hash, rebuilding.tool)
    grade = GradeRecord(
        step=line.step,
        valid=one.score is not None,
        score=one.score,
        reason=one.reason,
        broken_rule=one.broken_rule,
        extra=line.extra,
        tool=line.tool,
        seconds=elapsed(started),
        **_on_the_rungs(rebuilding, measured, one).model_dump(),
    )
    append_grade(run, grade)
    return grade


def _on_the_rungs(
    rebuilding: Rebuilding, measured: Measured | None, one: RebuiltDraw
) -> BarComparison:
    """The score on a draw, compared with its measurements."""
    task, tier = rebuilding.task, rebuilding.record.disclosure.tier
    return compare_with_rungs(
        task.spec.metric,
        measured,
        one.score,
        public=shipped_measurements(task, tier, rebuilding.tool),
        score_error=one.score_error,
        tier=tier,
    )


class RebuiltRun(Record):
    """A run that was rebuilt, or why it was not."""

    run: str
    metric: str
    rebuilt: Rebuilt | None = None
    failure: str | None = None


def rebuild_runs(
    paths: Sequence[Path],
    draws: int,
    command: str | None,
    announce: Announce,
    *,
    again: bool = False,
) -> list[RebuiltRun]:
    """Rebuild each run; one that cannot be rebuilt is reported and does not stop the others.

    Draws that are known are not repeated, unless `again`.
    """
    _require_words(command)
    runs = list(map(find_run, paths))
    return [_rebuild_one(run, draws, command, announce, again) for run in runs]


def _require_words(command: str | None) -> None:
    """A UsageError unless a command can be run."""
    try:
        words = None if command is None else shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--command {command}: {error}; quote it as in a shell") from error
    if words == []:
        raise UsageError(
            '--command: is empty; name a command such as "python train.py", or leave out the option'
        )
    operators = [word for word in words or () if _OPERATOR.match(word)]
    if operators:
        raise UsageError(
            f"--command {command}: is run without a shell, which {operators[0]} needs; write: "
            f"--command {shlex.quote(shlex.join(['bash', '-c', command or '']))}"
        )


def _rebuild_one(
    run: RunDirectory, draws: int, command: str | None, announce: Announce, again: bool
) -> RebuiltRun:
    known = RebuiltRun(run=str(run.path), metric=read_record(run).disclosure.metric)

    def tell(text: str) -> None:
        announce(f"{run.shown_name}: {text}")

    try:
        with run.hold(announce) as held:
            require_chain(held.journal, held.appended_files)
            rebuilt = asyncio.run(rebuild_run(held, draws, tell, command, again=again))
    except RunHeld as held_by:
        return known.model_copy(update={"failure": str(held_by)})
    except (RunFailed, UsageError) as error:
        return known.model_copy(update={"failure": str(error)})
    return known.model_copy(update={"rebuilt": rebuilt})


async def rebuild_run(
    run: HeldRun,
    draws: int,
    announce: Announce,
    command: str | None = None,
    *,
    again: bool = False,
) -> Rebuilt:
    """Rebuild any run that has ended; its grade stays as it is."""
    if read_journal(run.journal).outcome is None:
        raise UsageError(
            f"{run.path}: has not ended, so it has no submission yet; run: mlagentbench resume "
            f"{run.path}"
        )
    rebuilding = _rebuilding(run, command, announce, again=again)
    grade = final_grade(run, rebuilding.step)
    return await _rebuild(rebuilding, draws, None if grade is None else grade.as_submitted)


async def _rebuild(rebuilding: Rebuilding, draws: int, submitted: GradeRecord | None) -> Rebuilt:
    """Rebuild on the draws that are not known yet, and summarise them all.

    All draws are compared with the measurements as they are now.
    """
    run, record, task = rebuilding.run, rebuilding.record, rebuilding.task
    data = data_of(run, record, task)
    require_fresh_data(task, data.tier, data.draw, draws, data)
    given = await _known_or_new(rebuilding, data, is_given=True)
    fresh, skipped = await _on_fresh_draws(rebuilding, data, draws)
    given, *fresh = (_compared(rebuilding, line) for line in (given, *fresh))
    rebuilt = rebuilt_of(
        given,
        fresh,
        submitted,
        proposed=rebuilding.proposed,
        asked_for=rebuilding.asked_for,
        program_only=rebuilding.program_only,
        skipped=skipped,
    )
    if newest_rebuilt(run.rebuilds) != rebuilt:
        _append(run, SummaryLine(rebuilt=rebuilt))
    return rebuilt


async def _on_fresh_draws(
    rebuilding: Rebuilding, given: PreparedData, count: int
) -> tuple[list[DrawLine], list[SkippedDraw]]:
    """The first fresh draws that can be measured, and those that were skipped for that."""
    run, task = rebuilding.run, rebuilding.task
    fresh: list[DrawLine] = []
    skipped: list[SkippedDraw] = []
    for draw in fresh_numbers(given, count, rebuilding.key):
        data = await fresh_data(task, given, draw, _envs(rebuilding.record), rebuilding.key)
        note_user(data, run.path)
        known = _known_skipped(rebuilding, data)
        if known is None:
            try:
                fresh.append(await _known_or_new(rebuilding, data, is_given=False))
            except UnusableDraw as unusable:
                known = SkippedDraw(draw=data.draw, data_hash=data.hash, reason=unusable.detail)
                rebuilding.announce(f"draw {draw} is skipped: {unusable.detail}")
                _append(run, SkippedLine(skipped=known))
        if known is not None:
            skipped.append(known)
        if len(fresh) == count:
            return fresh, skipped
    tried = len(fresh) + len(skipped)
    raise RunFailed(
        "task",
        f"{task.id}: only {len(fresh)} of {tried} fresh draws of {given.draw} can be measured, "
        f"and {count} are needed; the last reason: {skipped[-1].reason}",
    )


def _known_skipped(rebuilding: Rebuilding, data: PreparedData) -> SkippedDraw | None:
    """The line of a draw that was skipped before."""
    lines = read_rebuilds(rebuilding.run.rebuilds)
    found = (line.skipped for line in lines if isinstance(line, SkippedLine))
    key = (data.draw, data.hash)
    return next((one for one in found if (one.draw, one.data_hash) == key), None)


async def _known_or_new(rebuilding: Rebuilding, data: PreparedData, *, is_given: bool) -> DrawLine:
    """The line of a draw, which is rebuilt unless that was done before."""
    known = None if rebuilding.again else _known(rebuilding, data.draw, data.hash)
    if known is not None:
        return known
    line = await rebuilding.on(data, is_given=is_given)
    _append(rebuilding.run, line)
    return line


def _known(rebuilding: Rebuilding, draw: str, data_hash: str) -> DrawLine | None:
    """The first line of this submission, made by this command, on a draw.

    Later ones were made by `--again`. A grade cannot be improved by rebuilding until it is good.
    """
    key = (rebuilding.step, rebuilding.snapshot, rebuilding.command, draw, data_hash)
    lines = read_rebuilds(rebuilding.run.rebuilds)
    return next((one for one in lines if isinstance(one, DrawLine) and _key(one) == key), None)


def _key(line: DrawLine) -> tuple[int, str, str | None, str, str]:
    one = line.result
    return line.step, line.snapshot, line.command, one.draw, one.data_hash


def _compared(rebuilding: Rebuilding, line: DrawLine) -> DrawLine:
    """A line whose score is compared with the stored measurements of its draw."""
    task, one = rebuilding.task, line.result
    tier = rebuilding.record.disclosure.tier
    measured = stored_measurements(task, tier, one.data_hash, rebuilding.tool)
    if measured is None:
        return line
    public = shipped_measurements(task, tier, rebuilding.tool)
    return line.model_copy(update={"result": compared(task.spec.metric, one, measured, public)})


def _append(run: HeldRun, line: RebuildLine) -> None:
    append_line(run.rebuilds, line.model_dump_json().encode(), run.journal, run.lease)


def _rebuilding(
    run: HeldRun,
    command: str | None,
    announce: Announce,
    *,
    again: bool = False,
    step: int | None = None,
) -> Rebuilding:
    record = read_record(run)
    if record.origin == "legacy":
        raise UsageError(
            f"{run.path}: was imported from the original's logs; its programs were written for "
            "other data and cannot be rebuilt"
        )
    facts = record.disclosure
    task = load_task(record.task_path, facts.tier, facts.profile)
    history = read_journal(run.journal)
    number, snapshot = snapshot_after(run, history, step)
    store = ObjectStore(run.objects)
    chosen = _chosen_command(task, record, history, store, snapshot, command)
    task_env = require_python_env(task, _envs(record))
    return Rebuilding(
        run=run,
        record=record,
        task=task,
        task_env=task_env,
        run_env=_run_env(record, task, task_env),
        step=number,
        snapshot=snapshot,
        command=chosen,
        proposed=command is None and chosen != task.spec.rebuild.command,
        asked_for=command is not None,
        again=again,
        tool=tool_model_name(task, facts.roles, facts.model),
        key=None if record.origin == "replay" else key_of_run(run.out, task, facts),
        announce=announce,
    )


def _chosen_command(
    task: Task,
    record: RunRecord,
    history: History,
    store: ObjectStore,
    snapshot: str,
    asked: str | None,
) -> str | None:
    """The command that was asked for, the task's if the agent left its program, or a guess."""
    own = task.spec.rebuild.command
    if own is None:
        if asked is not None:
            raise UsageError(
                f"--command {asked}: what is submitted for {task.id} is itself the program; leave "
                "out --command"
            )
        return None
    if asked is not None:
        return asked
    is_left = all(entry_at(store, snapshot, word) is not None for word in own.split()[1:])
    if is_left or record.disclosure.protocol == REBUILD:
        return own
    return proposed_command(task, history, store)


def _envs(record: RunRecord) -> PythonEnvs:
    facts = record.disclosure
    return tasks_sandbox(facts.sandbox).python_envs(facts.image)


def _run_env(record: RunRecord, task: Task, task_env: PythonEnv) -> PythonEnv:
    """The virtual environment of a run, to which its agent may have added packages.

    In another one, its program would not do the same.
    """
    facts = record.disclosure
    if task_env.hash == facts.python_env:
        return task_env
    found = _envs(record).with_hash(facts.python_env)
    if found is not None:
        return found
    raise RunFailed(
        "sandbox",
        f"{task.id}: the virtual environment of this run ({facts.python_env[:12]}, sandbox "
        f"{facts.sandbox}) is not on this machine, and in another one its program may do "
        "something else; a new run of its agent builds it, with the packages that are current: "
        f"mlagentbench run --tasks {task.address} --agents {facts.agent} --sandbox {facts.sandbox}",
    )
