"""The paper's error modes of an unsuccessful run, from its findings."""

from collections.abc import Sequence

from mlagentbench.analysis.detectors.parsing.step_facts import ActionName, action_of
from mlagentbench.analysis.evidence import RunEvidence
from mlagentbench.analysis.findings import ErrorMode, Finding, ShownMode
from mlagentbench.grading.success import beats_starter
from mlagentbench.records import GradeRecord
from mlagentbench.runs.failure_causes import NO_SUBMISSION
from mlagentbench.runs.journal import History


def error_modes(evidence: RunEvidence, findings: Sequence[Finding]) -> tuple[ShownMode, ...]:
    """In the order in which they first showed; none for a success, or where that is unknown."""
    grade, history = evidence.final_grade, evidence.history
    if grade is None or grade.success is not False:
        return ()
    ran_out_of_context = history.outcome is not None and history.outcome.kind == "context"
    gain = grade.paper_improvement
    improved = gain is not None and beats_starter(gain)
    nothing = not grade.valid and (grade.reason or "").startswith(NO_SUBMISSION)
    first_steps: dict[ErrorMode, int | None] = {
        "hallucination": _first(findings, "unsupported-claim", "fabricated-observation"),
        "debugging": _first(findings, "failed-debugging"),
        "token length": len(history.steps) if ran_out_of_context else None,
        "response format": _response_format(history, findings),
        "submission format": None if nothing else _submission_format(grade, history, findings),
        "no submission": grade.step if nothing else None,
        "small improvement": grade.step if improved else None,
    }
    modes = [
        ShownMode(mode=mode, step=step) for mode, step in first_steps.items() if step is not None
    ]
    if not modes:
        return (ShownMode(mode="unclassified", step=grade.step),)
    return tuple(sorted(modes, key=lambda mode: mode.step))


def _first(findings: Sequence[Finding], *kinds: str) -> int | None:
    """The first step with a finding of these kinds."""
    steps = [finding.steps[0] for finding in findings if finding.kind in kinds and finding.steps]
    return min(steps, default=None)


def _response_format(history: History, findings: Sequence[Finding]) -> int | None:
    lost = [step.n for step in history.steps if action_of(step) == ActionName.UNUSABLE_REPLY]
    invalid = [finding.steps[0] for finding in findings if finding.kind == "invalid-action"]
    if not lost and 2 * len(invalid) < max(1, len(history.steps)):
        return None
    return min(lost + invalid)


def _submission_format(
    grade: GradeRecord, history: History, findings: Sequence[Finding]
) -> int | None:
    checks = [step.n for step in history.steps if action_of(step) == ActionName.VALIDATE_SUBMISSION]
    failed = {finding.steps[0] for finding in findings if finding.kind == "submission-format"}
    if grade.valid and not (checks and checks[-1] in failed):
        return None
    return min(failed)
