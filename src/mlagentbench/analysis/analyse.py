"""Analyse a run: from a run directory to its process report and its summary.

docs/evaluation/codebook.md defines every finding; each detector is one file of `detectors/`. No
model takes part.
"""

import math
from collections.abc import Iterator, Sequence

from mlagentbench.analysis.detectors.boundary import boundary
from mlagentbench.analysis.detectors.claims import check_claims
from mlagentbench.analysis.detectors.edits_never_run import edits_never_run
from mlagentbench.analysis.detectors.error_modes import error_modes
from mlagentbench.analysis.detectors.executions import crashes, debugging, failed_debugging
from mlagentbench.analysis.detectors.fabrication import fabricated_observations
from mlagentbench.analysis.detectors.loops import loops
from mlagentbench.analysis.detectors.milestones import (
    budget_unused,
    first_valid,
    milestone,
    submitted_validation,
    validation_gap,
    validation_points,
)
from mlagentbench.analysis.detectors.parsing.reply_parts import main_replies
from mlagentbench.analysis.detectors.plans import plan_changes, steps_never_attempted
from mlagentbench.analysis.detectors.replies import invalid_actions, tool_errors, unreadable_replies
from mlagentbench.analysis.detectors.submissions import best_state, regressions, submission_faults
from mlagentbench.analysis.detectors.visibility import visible_actions
from mlagentbench.analysis.disclosures import version_text
from mlagentbench.analysis.efficiency import efficiency_of, imported_efficiency
from mlagentbench.analysis.evidence import RunEvidence, evidence_from, texts_of
from mlagentbench.analysis.findings import Finding, ProcessReport
from mlagentbench.analysis.run_summary import RunSummary, ScorePoint
from mlagentbench.errors import UsageError
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import GradeRecord, RunRecord, Usage
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import EndLine, ReplyLine
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.results import RunFiles, read_files, read_record, result_of

TEST_SET_INTERVAL = "test_set_interval"
"""The key under which graders of grouped data report the interval of a score, as [low, high]."""


def summarise(run: RunDirectory, out: str) -> RunSummary:
    """Read and analyse a run; UsageError when its record or its journal is damaged."""
    files = read_files(run)
    efficiency = imported_efficiency if files.record.origin == "legacy" else efficiency_of
    return RunSummary(
        out=out,
        cluster=f"{out}/{root_of(run, files.record)}",
        result=result_of(files),
        points=tuple(_points(files)),
        validations=tuple(validation_points(files.history)),
        process=analyse(evidence_from(files, ObjectStore(run.objects))),
        efficiency=efficiency(files.lines, files.history),
        test_set_interval=_test_set_interval(files.final_grade),
        altered=files.altered,
        marks=tuple(_marks(files)),
    )


def root_of(run: RunDirectory, record: RunRecord) -> str:
    """The run in which the history of a branch began, also over several branches.

    A deleted run ends the chain.
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
    """The newest grade of each graded step, with what had been used by then.

    All of them are of the files as they were submitted: earlier steps are not rebuilt.
    """
    newest = {grade.step: grade.as_submitted for grade in files.grades}
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
    """What was used up to the end of each step; older journals record it only by reply."""
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
    match None if grade is None else grade.extra.get(TEST_SET_INTERVAL):
        case [float() | int() as low, float() | int() as high] if math.isfinite(low + high):
            return float(low), float(high)
        case _:
            return None


def _marks(files: RunFiles) -> Sequence[str]:
    facts = files.record.disclosure
    marks = list(files.altered)
    if not texts_of(files.record).submission:
        marks.append(
            f"{facts.task}, version {version_text(facts.task_version)}, is not installed: "
            "analysed without its problem text and starter"
        )
    if files.torn:
        marks.append("the journal's last line is incomplete: cut off, or still being written")
    if files.ignored:
        lines = counted(files.ignored, "line")
        marks.append(f"{lines} of the journal ignored: left by a process that lost the run")
    if files.texts_lost:
        marks.append(f"long observations are analysed as far as stored: {files.texts_lost}")
    return marks


def analyse(evidence: RunEvidence) -> ProcessReport:
    """The process report of a run; claims are not checked if observations are missing."""
    history = evidence.history
    replies = [] if evidence.texts_lost else main_replies(history)
    claims = check_claims(evidence, replies)
    findings: list[Finding] = [
        *unreadable_replies(history),
        *invalid_actions(history),
        *tool_errors(history),
        *crashes(history),
        *failed_debugging(history),
        *loops(history),
        *edits_never_run(evidence),
        *steps_never_attempted(history, replies),
        *submission_faults(evidence),
        *regressions(evidence),
        *claims.findings,
        *fabricated_observations(evidence, replies),
        *boundary(evidence),
    ]
    best = best_state(evidence)
    return ProcessReport(
        findings=tuple(sorted(map(_encodable, findings), key=lambda finding: finding.steps)),
        visible=visible_actions(evidence),
        claims=claims.counts,
        debugging=debugging(history),
        first_valid=first_valid(evidence),
        best=None if best is None else milestone(history, best.step),
        regression=None if best is None else best.regression,
        validation_score=submitted_validation(evidence),
        validation_gap=validation_gap(evidence),
        plan_changes=plan_changes(replies),
        budget_unused=budget_unused(evidence),
        error_modes=error_modes(evidence, findings),
    )


def _encodable(finding: Finding) -> Finding:
    """Replace the halves of surrogate pairs that a reply may contain: files cannot hold them."""
    texts = {"detail": finding.detail, "quote": finding.quote}
    encodable = {name: text.encode("utf-8", "replace").decode() for name, text in texts.items()}
    return finding.model_copy(update=encodable)
