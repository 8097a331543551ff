"""Read the results of runs: one result per run directory."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.fs import parse_json, read_regular
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import (
    GradeRecord,
    Outcome,
    Rebuilt,
    Record,
    RunRecord,
    Usage,
    first_problem,
)
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.hash_chain import accepted_lines, find_faults, payloads, require_format
from mlagentbench.runs.journal import AnyLine, History, ReplyLine, read_lines
from mlagentbench.runs.objects.object_store import ObjectLost, ObjectStore
from mlagentbench.runs.rebuilds import newest_rebuilt

MAX_RECORD = 16_000_000
"""Bytes of a file that is not appended to."""
LEVELS = 5
"""TASK/TIER/AGENT/MODEL/EPOCH below runs/"""
DEEPEST = 6
"""How far below a directory runs are looked for, to name one: so far they are below OUT."""


class RecordedReplies(Record):
    """How many replies a recording gave, and how many of them to the prompt that they were for."""

    given: int
    matched: int


class RunResult(Record):
    """A run as far as it has come: unfinished without an outcome, ungraded without a grade."""

    path: str
    record: RunRecord
    outcome: Outcome | None
    usage: Usage
    grade: GradeRecord | None
    failure: str | None = None
    recorded: RecordedReplies | None = None
    rebuilt: Rebuilt | None = None
    """What became of the submission on fresh draws, also if that is not its grade."""


class SuiteOutcome(Record):
    """What came of running many runs: the results so far, and how many were asked for."""

    out: Path
    results: tuple[RunResult, ...]
    expected: int
    interrupted: bool
    disk_full: bool
    paper_rule: bool
    spent_out: str | None = None
    """Says that the money for all runs together is spent, and the next step."""
    held: dict[str, str] = {}
    """The runs that other processes are working on, and those processes."""

    @property
    def unfinished(self) -> list[RunResult]:
        """The runs that failed, or did not come to their grade; not those that others work on."""
        return [
            result
            for result in self.results
            if result.path not in self.held
            and (result.grade is None or result.outcome is None or result.outcome.kind == "failed")
        ]

    @property
    def missing(self) -> int:
        return self.expected - len(self.results) + len(self.unfinished)


def collect(out: Path) -> list[RunResult]:
    """All runs below an --out directory."""
    return [read_run(run) for run in run_directories(out)]


def run_directories(out: Path) -> Iterator[RunDirectory]:
    for folder in sorted(run_folders(out / "runs", LEVELS)):
        if (folder / "run.json").exists():
            yield RunDirectory(out, folder.relative_to(out))


def run_folders(top: Path, levels: int) -> Iterator[Path]:
    """The directories so many levels below one; links could lead anywhere, and are not followed."""
    folders = [str(top)] if top.is_dir() else []
    for _ in range(levels):
        folders = [entry.path for folder in folders for entry in _directories(folder)]
    yield from map(Path, folders)


def _directories(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from (entry for entry in entries if entry.is_dir(follow_symlinks=False))


def find_run(path: Path) -> RunDirectory:
    """The run at this path: a run directory, or anything directly in it."""
    path = path.absolute()
    if path.is_file():
        path = path.parent
    parts = path.parts
    if not (path / "run.json").is_file() or len(parts) < 7 or parts[-6] != "runs":
        raise UsageError(f"{path} is not a run: {_hint(path)}")
    out = path.parents[5]
    return RunDirectory(out, path.relative_to(out))


def _hint(path: Path) -> str:
    """A suggestion for a path that is not a run."""
    below = (sorted(path.glob("*/" * depth + "run.json")) for depth in range(1, DEEPEST + 1))
    found = next(filter(None, below), [])
    if found:
        runs = counted(len(found), "run")
        return f"it contains {runs}; name one, e.g. {found[0].parent}"
    if not path.is_dir():
        there = next(parent for parent in path.parents if parent.is_dir())
        missing, names = path.relative_to(there).parts[0], os.listdir(there)  # noqa: PTH208
        if near := get_close_matches(missing, names, n=1):
            return f"there is no {missing} in {there}; did you mean {near[0]}?"
        if "runs" in there.parts and names:
            return f"there is no {missing} in {there}, only {', '.join(sorted(names))}"
    return "expected OUT/runs/TASK/TIER/AGENT/MODEL/EPOCH with run.json"


@dataclass(frozen=True)
class RunFiles:
    """What the files of a run say, each read once.

    Of long observations, `history` has the whole text, unless `texts_lost` says why it has not:
    then an object is damaged, or the store is not there, as beside a run copied without it.
    """

    path: str
    record: RunRecord
    lines: tuple[AnyLine, ...]
    history: History
    grades: tuple[GradeRecord, ...]
    failure: str | None
    rebuilt: Rebuilt | None = None
    texts_lost: str = ""
    torn: bool = False
    """Whether the journal's last line is half written; it is left out."""
    ignored: int = 0
    """Lines of the journal that a process wrote after another one had taken the run over."""
    altered: tuple[str, ...] = ()
    """Why the chains of the run's files do not hold, a sentence a file."""

    @property
    def final_grade(self) -> GradeRecord | None:
        """The newest grade of the last step."""
        return grade_at(self.grades, len(self.history.steps))


def read_files(run: RunDirectory, *, with_texts: bool = True) -> RunFiles:
    """Read a run's directory; UsageError when its record or its journal is damaged."""
    record = read_record(run)
    texts_lost = ""
    try:
        lines = tuple(read_lines(run.journal)) if run.journal.exists() else ()
        history = History(lines, ObjectStore(run.objects) if with_texts else None, run.journal)
    except ObjectLost as lost:
        history, texts_lost = History(lines, path=run.journal), lost.detail
    except UsageError as error:
        raise UsageError("; ".join([str(error), *_altered_files(run)])) from error
    return RunFiles(
        path=run.relative.as_posix(),
        record=_with_last_limits(record, history),
        lines=lines,
        history=history,
        grades=tuple(read_grades(run)),
        failure=_read_failure(run),
        rebuilt=newest_rebuilt(run.rebuilds),
        texts_lost=texts_lost,
        ignored=accepted_lines(run.journal).ignored,
        torn=bool(lines) and _is_torn(run.journal),
        altered=_altered_files(run),
    )


def _read_failure(run: RunDirectory) -> str | None:
    try:
        return read_regular(run.failure, MAX_RECORD).decode("utf-8", "replace")
    except FileNotFoundError:
        return None


def _altered_files(run: RunDirectory) -> tuple[str, ...]:
    return tuple(find_faults(run.journal, run.appended_files))


def _with_last_limits(record: RunRecord, history: History) -> RunRecord:
    """The record with the limits that the run has now; run.json has those that it began with."""
    first = record.disclosure.limits
    if not history.limits or history.limits[-1].limits == first:
        return record
    limits = {"limits": history.limits[-1].limits, "first_limits": first}
    return record.model_copy(update={"disclosure": record.disclosure.model_copy(update=limits)})


def _is_torn(journal: Path) -> bool:
    with journal.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def read_run(run: RunDirectory) -> RunResult:
    return result_of(read_files(run, with_texts=False))


def result_of(files: RunFiles) -> RunResult:
    """How far a run has come."""
    grade = files.final_grade
    return RunResult(
        path=files.path,
        record=files.record,
        outcome=files.history.outcome,
        usage=files.history.usage,
        grade=grade,
        failure=files.failure,
        recorded=_recorded(files.history.replies),
        rebuilt=files.rebuilt if grade is None or grade.rebuilt is None else grade.rebuilt,
    )


def _recorded(replies: Sequence[ReplyLine]) -> RecordedReplies | None:
    matched = [reply.matched for reply in replies if reply.matched is not None]
    return RecordedReplies(given=len(matched), matched=sum(matched)) if matched else None


def read_record(run: RunDirectory) -> RunRecord:
    """What a run is; UsageError when its run.json is missing, damaged or of another format."""
    try:
        values = parse_json(read_regular(run.run_json, MAX_RECORD))
        if isinstance(values, dict):
            require_format(run.path, values.get("v"))
            _require_released(run, values)
        return RunRecord.model_validate(values)
    except FileNotFoundError as error:
        raise UsageError(f"{run.run_json} is missing, so this run cannot be identified") from error
    except ValidationError as error:
        raise UsageError(f"{run.run_json}: not a run's record: {first_problem(error)}") from error
    except ValueError as error:
        raise UsageError(f"{run.run_json}: cut off or damaged, not JSON: {error}") from error


def _require_released(run: RunDirectory, values: dict[str, Any]) -> None:
    """A UsageError for a record that only development versions wrote, in the present format."""
    facts = values.get("disclosure")
    if isinstance(facts, dict) and "mini_seed" in facts:
        raise UsageError(
            f"{run.run_json}: was made by a development version, before there were draws; run it "
            "again, into another --out"
        )


def read_grades(run: RunDirectory) -> list[GradeRecord]:
    """All grades of a run, in the order in which they were given; damaged lines are left out."""
    grades = []
    for payload in payloads(run.grades):
        try:
            grades.append(GradeRecord.model_validate_json(payload))
        except ValidationError:
            continue
    return grades


def final_grade(run: RunDirectory, steps: int) -> GradeRecord | None:
    """The newest grade of the run's last step, of `steps`."""
    return grade_at(read_grades(run), steps)


def grade_at(grades: Sequence[GradeRecord], step: int) -> GradeRecord | None:
    """The newest grade of a step."""
    return next((grade for grade in reversed(grades) if grade.step == step), None)
