"""Grade runs again, also as they were after earlier steps.

Under --protocol rebuild, the last step is rebuilt; earlier steps are graded as they were submitted.
Of runs without executions, earlier steps have only a program, which is run on the given draw.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.grading.grade import Announce, grade_run, repeat_grade, snapshot_after
from mlagentbench.records import REBUILD, GradeRecord, Record, Step
from mlagentbench.runs.directory import HeldRun, RunDirectory
from mlagentbench.runs.hash_chain import require_chain
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.lease import RunHeld
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, entry_at
from mlagentbench.runs.results import find_run, read_grades, read_record
from mlagentbench.tasks.task import load_task

CHANGED = "changed"

GradeStep = Callable[[HeldRun, int, Announce], Awaitable[GradeRecord]]
"""Grades a run that is held as it was after a step, and appends the grade."""


class Regraded(Record):
    """The new grades of a run; `failure` says why some are missing."""

    run: str
    grades: tuple[GradeRecord, ...]
    failure: str | None = None


def score_runs(
    paths: Sequence[Path], steps: str, announce: Announce, grade: GradeStep = grade_run
) -> list[Regraded]:
    """Grade each run at the given steps, after checking all paths and steps.

    A run that cannot be graded is reported and does not stop the others.
    """
    runs = list(map(find_run, paths))
    for run in runs if steps != CHANGED else ():
        selected_steps(run, steps)
    return [_score(run, steps, announce, grade) for run in runs]


def _score(run: RunDirectory, steps: str, announce: Announce, grade: GradeStep) -> Regraded:
    grades: list[GradeRecord] = []
    failure = None
    try:
        with run.hold(announce) as held:
            require_chain(run.journal, run.appended_files)
            for one in _grade_steps(held, selected_steps(run, steps), announce, grade):
                grades.append(one)
            run.failure.unlink(missing_ok=True)
    except RunHeld as held:
        failure = str(held)
        announce(f"{run.relative} is left alone: it is being written by {held.by}")
    except (RunFailed, UsageError) as error:
        failure = str(error)
        if not read_grades(run):
            write_atomically(run.failure, failure.encode())
        announce(f"{run.relative} cannot be graded: {failure}")
    return Regraded(run=str(run.path), grades=tuple(grades), failure=failure)


def grade_changes(run: RunDirectory, announce: Announce, grade: GradeStep) -> None:
    """Grade every step that changed the submission, unless it was graded before."""
    graded = {grade.step for grade in read_grades(run)}
    with run.hold(announce) as held:
        changed = [number for number in selected_steps(run, CHANGED) if number not in graded]
        for _ in _grade_steps(held, changed, announce, grade):
            pass


def _grade_steps(
    run: HeldRun, numbers: Sequence[int], announce: Announce, grade: GradeStep
) -> Iterator[GradeRecord]:
    """Grade steps in turn; one grade serves all steps whose submissions are equal.

    A program that is run to be graded need not score the same twice, so it is run for every step.
    What is rebuilt is more than the submission, so it is rebuilt in any case.
    """
    record, history = read_record(run), read_journal(run.journal)
    spec = load_task(record.task_path, record.disclosure.tier).spec
    store = ObjectStore(run.objects)
    is_data = spec.kind in ("predictions", "artefact") and spec.collect is None
    rebuilt = len(history.steps) if record.disclosure.protocol == REBUILD else None
    has_file = record.disclosure.execution or spec.rebuild.command is None
    known: dict[Entry | str | None, GradeRecord] = {}
    for number in numbers:
        _, snapshot = snapshot_after(run, history, number)
        submission = entry_at(store, snapshot, spec.submission.path) if has_file else snapshot
        if is_data and submission in known and number != rebuilt:
            announce(f"{run.shown_name}: step {number} has a submission that was just graded")
            yield repeat_grade(run, known[submission], number)
            continue
        announce(f"grading {run.shown_name} after step {number}")
        tell = partial(_tell, announce, run)
        known[submission] = asyncio.run(_awaited(grade(run, number, tell)))
        yield known[submission]


async def _awaited(grading: Awaitable[GradeRecord]) -> GradeRecord:
    return await grading


def _tell(announce: Announce, run: RunDirectory, text: str) -> None:
    announce(f"{run.shown_name}: {text}")


def selected_steps(run: RunDirectory, text: str) -> list[int]:
    """The steps of a run that `--steps TEXT` selects."""
    history = read_journal(run.journal)
    if history.run is None:
        raise UsageError(f"{run.path}: the run has not started; there is nothing to grade")
    if text == CHANGED:
        return changed_steps(run, history.run.snapshot, history.steps)
    return chosen_steps(text, len(history.steps))


def changed_steps(run: RunDirectory, start: str, steps: Sequence[Step]) -> list[int]:
    """The steps that changed what is graded, and the last one.

    A program that makes the submission afterwards may use any file of the workspace.
    """
    record = read_record(run)
    spec = load_task(record.task_path, record.disclosure.tier).spec
    store = ObjectStore(run.objects)

    def graded(snapshot: str) -> str | None:
        if record.disclosure.execution or spec.rebuild.command is None:
            return _submission_hash(store, snapshot, spec.submission.path)
        return snapshot

    before = graded(start)
    changed = []
    for step in steps:
        after = graded(step.snapshot)
        if after != before:
            changed.append(step.n)
        before = after
    return sorted({*changed, len(steps)})


def _submission_hash(store: ObjectStore, snapshot: str, path: str) -> str | None:
    """The hash of the submission in a snapshot; None when there is none."""
    entry = entry_at(store, snapshot, path)
    return None if entry is None else entry.value


def chosen_steps(text: str, last: int) -> list[int]:
    """The step numbers that `last`, `all`, `every:N` or a list like `1,5,9` selects."""
    if text == "last":
        return [last]
    if text == "all":
        return list(range(last + 1))
    if text.startswith("every:") and text[6:].isdecimal() and int(text[6:]) > 0:
        return sorted({*range(0, last + 1, int(text[6:])), last})
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise UsageError(
            f"--steps {text}: expected last, all, changed, every:N or numbers like 1,5,9"
        )
    numbers = sorted({int(part) for part in parts})
    if numbers[-1] > last:
        raise UsageError(f"--steps {text}: the run's last step is {last}")
    return numbers
