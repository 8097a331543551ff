"""The paper's error modes of an unsuccessful run, from its findings."""

from collections.abc import Iterable, Sequence

from mlagentbench.analysis.detectors.parsing.step_facts import (
    UNUSABLE_REPLY,
    VALIDATE_SUBMISSION,
    action_of,
)
from mlagentbench.analysis.detectors.submissions import submission_form
from mlagentbench.analysis.evidence import RunEvidence
from mlagentbench.analysis.findings import Finding, HeldMode
from mlagentbench.runs.journal import History


def error_modes(evidence: RunEvidence, findings: Sequence[Finding]) -> tuple[HeldMode, ...]:
    """In the order in which they first showed; none for a success, or where that is unknown."""
    grade = evidence.final_grade
    if grade is None or grade.success is not False:
        return ()
    modes = [
        mode
        for mode in (
            _hallucination(findings),
            _debugging(findings),
            _token_length(evidence.history),
            _response_format(evidence.history, findings),
            _submission_format(evidence, findings),
            _small_improvement(evidence),
        )
        if mode is not None
    ]
    if not modes:
        return (HeldMode(mode="unclassified", step=grade.step),)
    return tuple(sorted(modes, key=lambda mode: mode.step))


def _first(findings: Iterable[Finding]) -> int | None:
    return min((finding.steps[0] for finding in findings if finding.steps), default=None)


def _hallucination(findings: Sequence[Finding]) -> HeldMode | None:
    kinds = ("unsupported-claim", "fabricated-observation")
    step = _first(finding for finding in findings if finding.kind in kinds)
    return None if step is None else HeldMode(mode="hallucination", step=step)


def _debugging(findings: Sequence[Finding]) -> HeldMode | None:
    step = _first(finding for finding in findings if finding.kind == "failed-debugging")
    return None if step is None else HeldMode(mode="debugging", step=step)


def _token_length(history: History) -> HeldMode | None:
    if history.outcome is None or history.outcome.kind != "context":
        return None
    return HeldMode(mode="token length", step=len(history.steps))


def _response_format(history: History, findings: Sequence[Finding]) -> HeldMode | None:
    lost = [step.n for step in history.steps if action_of(step) == UNUSABLE_REPLY]
    invalid = [finding.steps[0] for finding in findings if finding.kind == "invalid-action"]
    if not lost and 2 * len(invalid) < max(1, len(history.steps)):
        return None
    return HeldMode(mode="response format", step=min(lost + invalid))


def _submission_format(evidence: RunEvidence, findings: Sequence[Finding]) -> HeldMode | None:
    grade = evidence.final_grade
    steps = evidence.history.steps
    faults = [finding for finding in findings if finding.kind == "submission-format"]
    checks = [step.n for step in steps if action_of(step) == VALIDATE_SUBMISSION]
    failed = {finding.steps[0] for finding in faults}
    handed_in = (
        grade is not None and not grade.valid and submission_form(grade.reason or "") != "missing"
    )
    if not handed_in and not (checks and checks[-1] in failed):
        return None
    return HeldMode(mode="submission format", step=min(failed))


def _small_improvement(evidence: RunEvidence) -> HeldMode | None:
    grade = evidence.final_grade
    if grade is None or grade.paper_improvement is None or grade.paper_improvement <= 0:
        return None
    return HeldMode(mode="small improvement", step=grade.step)
