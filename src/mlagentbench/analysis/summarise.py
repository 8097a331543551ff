"""From a run directory to the one small record that tables, plots and overviews need."""

import math
from collections.abc import Iterator, Sequence

from mlagentbench.analysis.analyse import analyse
from mlagentbench.analysis.detectors.milestones import validation_points
from mlagentbench.analysis.disclosures import version_text
from mlagentbench.analysis.efficiency import efficiency_of, imported_efficiency
from mlagentbench.analysis.evidence import evidence_from, task_words
from mlagentbench.analysis.run_summary import (
    RunEfficiency,
    RunSummary,
    ScorePoint,
)
from mlagentbench.errors import UsageError
from mlagentbench.records import GradeRecord, RunRecord, Usage
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import EndLine, ReplyLine
from mlagentbench.runs.results import RunFiles, read_files, read_record, result_of

TEST_SET_INTERVAL = "test_set_interval"
"""Where a grader of grouped data leaves the interval of its score, as [low, high]."""


def summarise(run: RunDirectory, out: str) -> RunSummary:
    """Read a run and analyse it; UsageError when its record or its journal is damaged."""
    files = read_files(run)
    return RunSummary(
        out=out,
        cluster=f"{out}/{root_of(run, files.record)}",
        result=result_of(files),
        points=tuple(_points(files)),
        validations=tuple(validation_points(files.history)),
        process=analyse(evidence_from(files)),
        efficiency=_efficiency(files),
        test_set_interval=_test_set_interval(files.final_grade),
        altered=files.altered,
        marks=tuple(_marks(files)),
    )


def _efficiency(files: RunFiles) -> RunEfficiency:
    made = imported_efficiency if files.record.origin == "legacy" else efficiency_of
    return made(files.lines, files.history)


def root_of(run: RunDirectory, record: RunRecord) -> str:
    """Where the history begins that a run was branched from, also over several branches.

    A run that is not there any more ends the chain.
    """
    path, seen = run.relative.as_posix(), set[str]()
    while record.branched_from is not None and path not in seen:
        seen.add(path)
        path = record.branched_from.run
        try:
            record = read_record(RunDirectory(run.out, run.out / path))
        except (UsageError, OSError):
            break
    return path


def _points(files: RunFiles) -> Iterator[ScorePoint]:
    """The newest grade of each graded step, with what had been used by then."""
    newest = {grade.step: grade for grade in files.grades}
    used = _used_by_step(files)
    for step, grade in sorted(newest.items()):
        if step in used:
            yield ScorePoint(
                step=step,
                seconds=used[step].seconds,
                tokens=used[step].input_tokens + used[step].output_tokens,
                cost=used[step].cost,
                valid=grade.valid,
                score=grade.score,
                normalised=grade.normalised,
                success=grade.success,
            )


def _used_by_step(files: RunFiles) -> dict[int, Usage]:
    """What was used up to the end of each step; older journals say it only reply by reply."""
    used = Usage()
    by_step = {0: used}
    for line in files.lines:
        if isinstance(line, ReplyLine):
            cost = used.cost if line.cost is None else (used.cost or 0.0) + line.cost
            used = Usage(
                input_tokens=used.input_tokens + line.input_tokens,
                output_tokens=used.output_tokens + line.output_tokens,
                cost=cost,
            )
        elif isinstance(line, EndLine):
            used = line.usage or used.model_copy(update={"seconds": line.clock})
            by_step[line.step] = used
    return by_step


def _test_set_interval(grade: GradeRecord | None) -> tuple[float, float] | None:
    said = None if grade is None else grade.extra.get(TEST_SET_INTERVAL)
    match said:
        case [float() | int() as low, float() | int() as high] if math.isfinite(low + high):
            return float(low), float(high)
        case _:
            return None


def _marks(files: RunFiles) -> Sequence[str]:
    facts = files.record.disclosure
    marks = list(files.altered)
    if not task_words(files.record.task_path, facts.task_version).submission:
        marks.append(
            f"{facts.task}, version {version_text(facts.task_version)}, is not known here: "
            "analysed without its problem text and starter"
        )
    if files.torn:
        marks.append("the journal's last line is half written: cut off, or still under way")
    if files.texts_lost:
        marks.append(f"long observations are analysed as cut: {files.texts_lost}")
    return marks
