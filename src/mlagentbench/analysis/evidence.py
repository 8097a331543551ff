"""The input of the analysis: a run's files, and the texts of its task."""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from mlagentbench.errors import UsageError
from mlagentbench.records import GradeRecord, Record, RunRecord, Tier
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import History
from mlagentbench.runs.objects.object_store import ObjectLost, ObjectStore
from mlagentbench.runs.objects.snapshot_trees import entry_at
from mlagentbench.runs.results import RunFiles, grade_at, read_files
from mlagentbench.tasks.task import load_task

LARGEST_STARTER_TEXT = 200_000
"""Bytes; larger files of the starter are data."""


@dataclass(frozen=True)
class RunEvidence:
    """Everything known about a run, read once.

    `submission` is the path of what is graded; `texts` holds the starter's text files as the agent
    found them. Both are empty if the task is not installed.
    """

    record: RunRecord
    history: History
    grades: tuple[GradeRecord, ...] = ()
    """All grades, also of earlier steps, oldest first."""
    problem: str = ""
    submission: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    submission_step: int | None = None
    """The step that made what was submitted; None for the last."""
    texts_lost: bool = False
    """Whether long observations are missing, so that it is unknown what the agent had seen."""

    @property
    def better(self) -> Literal["higher", "lower"]:
        return self.record.disclosure.better

    @property
    def submitted_step(self) -> int:
        """The step that made what was submitted."""
        last = len(self.history.steps)
        return last if self.submission_step is None else self.submission_step

    @property
    def final_grade(self) -> GradeRecord | None:
        """The newest grade of the last step."""
        return grade_at(self.grades, len(self.history.steps))


class TaskTexts(Record):
    """What a task tells the agent, and the path of its submission."""

    problem: str = ""
    submission: str = ""
    is_program: bool = False
    """Whether the submission is a program, which other scripts measure."""
    texts: dict[str, str] = {}


def evidence_of(run: RunDirectory) -> RunEvidence:
    """Read a run; UsageError when its record or its journal cannot be read."""
    return evidence_from(read_files(run), ObjectStore(run.objects))


def evidence_from(files: RunFiles, store: ObjectStore) -> RunEvidence:
    """The evidence of a run that is already read."""
    task = texts_of(files.record)
    return RunEvidence(
        record=files.record,
        history=files.history,
        grades=files.grades,
        problem=task.problem,
        submission=task.submission,
        texts=task.texts,
        submission_step=_submission_step(files.history, task, store),
        texts_lost=bool(files.texts_lost),
    )


def _submission_step(history: History, task: TaskTexts, store: ObjectStore) -> int | None:
    """The step that made what was submitted, or last measured it if it is a program.

    Agents may submit an earlier workspace than the last. None where snapshots are lost.
    """
    snapshots = [step.snapshot for step in history.steps]
    same = [n for n, one in enumerate(snapshots, start=1) if one == history.snapshot]
    number = same[-1] if same else len(snapshots)
    if task.is_program or not task.submission or number == 0:
        return number
    try:
        submitted = entry_at(store, snapshots[number - 1], task.submission)
        if submitted is None:
            return number
        while number > 1 and entry_at(store, snapshots[number - 2], task.submission) == submitted:
            number -= 1
    except ObjectLost:
        return None
    return number


def texts_of(record: RunRecord) -> TaskTexts:
    """The texts of the task that a run had."""
    return task_texts(record.task_path, record.disclosure.task_version, record.disclosure.tier)


@lru_cache(maxsize=64)
def task_texts(task_path: str, version: int, tier: Tier) -> TaskTexts:
    """The texts of a task; empty if it is not installed, or in another version."""
    try:
        task = load_task(task_path, tier)
    except UsageError:
        return TaskTexts()
    if task.spec.version != version:
        return TaskTexts()
    texts = _text_files(task.starter)
    return TaskTexts(
        problem=task.problem,
        submission=task.spec.submission.path,
        is_program=task.spec.kind in ("program", "timed"),
        texts=texts,
    )


def _text_files(starter: Path) -> dict[str, str]:
    """The starter's text files by their path in the workspace."""
    found = {}
    for path in sorted(starter.rglob("*")):
        if not path.is_file() or path.stat().st_size > LARGEST_STARTER_TEXT:
            continue
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            found[path.relative_to(starter).as_posix()] = text
    return found
