"""Reading what runs left behind: one result per run directory."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from mlagentbench.environment.journal import ReplyLine, read_journal
from mlagentbench.environment.run_directory import RunDirectory
from mlagentbench.errors import UsageError
from mlagentbench.records import Grade, Outcome, Record, RunRecord, Usage


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
    grade: Grade | None
    failure: str | None = None
    recorded: RecordedReplies | None = None


class SuiteOutcome(Record):
    """What came of running many runs: the results so far, and how many were asked for."""

    out: Path
    results: tuple[RunResult, ...]
    expected: int
    interrupted: bool
    disk_full: bool
    paper_rule: bool

    @property
    def unfinished(self) -> list[RunResult]:
        """The runs that failed, or did not come to their grade."""
        return [
            result
            for result in self.results
            if result.grade is None or result.outcome is None or result.outcome.kind == "failed"
        ]

    @property
    def missing(self) -> int:
        return self.expected - len(self.results) + len(self.unfinished)


def collect(out: Path) -> list[RunResult]:
    """All runs below an --out directory."""
    return [read_run(run) for run in run_directories(out)]


def run_directories(out: Path) -> Iterator[RunDirectory]:
    for file in sorted(out.glob("runs/*/*/*/*/*/run.json")):
        yield RunDirectory(out, file.parent.relative_to(out))


def find_run(path: Path) -> RunDirectory:
    """The run at this path: a run directory, or anything directly in it."""
    path = path.absolute()
    if path.name == "run.json":
        path = path.parent
    parts = path.parts
    if not (path / "run.json").is_file() or len(parts) < 7 or parts[-6] != "runs":
        raise UsageError(
            f"{path} is not a run: expected OUT/runs/TASK/TIER/AGENT/MODEL/EPOCH with run.json"
        )
    out = path.parents[5]
    return RunDirectory(out, path.relative_to(out))


def read_run(run: RunDirectory) -> RunResult:
    journal = read_journal(run.journal)
    return RunResult(
        path=run.relative.as_posix(),
        record=read_record(run),
        outcome=journal.outcome,
        usage=journal.usage,
        grade=final_grade(run, len(journal.steps)),
        failure=run.failure.read_text() if run.failure.is_file() else None,
        recorded=_recorded(journal.replies),
    )


def _recorded(replies: Sequence[ReplyLine]) -> RecordedReplies | None:
    matched = [reply.matched for reply in replies if reply.matched is not None]
    return RecordedReplies(given=len(matched), matched=sum(matched)) if matched else None


def read_record(run: RunDirectory) -> RunRecord:
    try:
        return RunRecord.model_validate_json(run.run_json.read_bytes())
    except ValidationError as error:
        raise UsageError(
            f"{run.run_json}: not a run's record: {error.errors()[0]['msg']}"
        ) from error


def read_grades(run: RunDirectory) -> list[Grade]:
    """All grades of a run, in the order in which they were given; torn lines are left out."""
    if not run.grades.is_file():
        return []
    grades = []
    for line in run.grades.read_bytes().splitlines():
        try:
            grades.append(Grade.model_validate_json(line))
        except ValidationError:
            continue
    return grades


def final_grade(run: RunDirectory, steps: int) -> Grade | None:
    """The newest grade of the run's last step, of `steps`."""
    return next((grade for grade in reversed(read_grades(run)) if grade.step == steps), None)
