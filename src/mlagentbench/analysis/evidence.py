"""What the analysis of a run starts from; made from a run directory, or from a journal alone."""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from mlagentbench.errors import UsageError
from mlagentbench.records import GradeRecord, Record, RunRecord
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import History
from mlagentbench.runs.results import RunFiles, grade_at, read_files
from mlagentbench.tasks.task import load_task

LARGEST_STARTER_TEXT = 200_000
"""Bytes; a larger file of the starter is data."""


@dataclass(frozen=True)
class RunEvidence:
    """All that is known of a run, read once.

    `submission` is the path of what is graded; `texts` holds the starter's text files as the agent
    found them. Both are empty for a task that is not known here.
    """

    record: RunRecord
    history: History
    grades: tuple[GradeRecord, ...] = ()
    """Every grade, also of earlier steps, in the order in which they were given."""
    problem: str = ""
    submission: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    texts_lost: bool = False
    """Whether long observations are not there: then nobody can say what the agent had seen."""

    @property
    def better(self) -> Literal["higher", "lower"]:
        return self.record.disclosure.better

    @property
    def final_grade(self) -> GradeRecord | None:
        """The newest grade of the last step."""
        return grade_at(self.grades, len(self.history.steps))


class TaskWords(Record):
    """What a task itself says to the agent, and where it wants its answer."""

    problem: str = ""
    submission: str = ""
    texts: dict[str, str] = {}


def evidence_of(run: RunDirectory) -> RunEvidence:
    """Read a run; UsageError when its record or its journal cannot be read."""
    return evidence_from(read_files(run))


def evidence_from(files: RunFiles) -> RunEvidence:
    """What a run's files say, with what its task says."""
    words = task_words(files.record.task_path, files.record.disclosure.task_version)
    return RunEvidence(
        record=files.record,
        history=files.history,
        grades=files.grades,
        problem=words.problem,
        submission=words.submission,
        texts=words.texts,
        texts_lost=bool(files.texts_lost),
    )


@lru_cache(maxsize=64)
def task_words(task_path: str, version: int) -> TaskWords:
    """What a task says; nothing of one that is not known here, or is of another version."""
    try:
        task = load_task(task_path)
    except UsageError:
        return TaskWords()
    if task.spec.version != version:
        return TaskWords()
    return TaskWords(
        problem=task.problem,
        submission=task.spec.submission.path,
        texts=_texts(task.starter),
    )


def _texts(starter: Path) -> dict[str, str]:
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
