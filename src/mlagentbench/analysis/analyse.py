"""The process of a run without a model's help: what went wrong, at which steps, and how far it got.

docs/evaluation/codebook.md defines every finding; each detector is one file of `detectors/`.
"""

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
    last_validation,
    milestone,
    validation_gap,
)
from mlagentbench.analysis.detectors.parsing.reply_parts import main_replies
from mlagentbench.analysis.detectors.plans import plan_changes, steps_never_attempted
from mlagentbench.analysis.detectors.replies import (
    invalid_actions,
    tool_errors,
    unreadable_replies,
)
from mlagentbench.analysis.detectors.submissions import (
    best_state,
    regressions,
    submission_faults,
)
from mlagentbench.analysis.evidence import RunEvidence
from mlagentbench.analysis.findings import Finding, ProcessReport


def analyse(evidence: RunEvidence) -> ProcessReport:
    """Look at a whole run, once; what was said is not checked where nobody knows what was seen."""
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
        findings=tuple(sorted(map(_writable, findings), key=lambda finding: finding.steps)),
        claims=claims.counts,
        debugging=debugging(history),
        first_valid=first_valid(evidence),
        best=None if best is None else milestone(history, best.step),
        regression=None if best is None else best.regression,
        validation_score=last_validation(evidence),
        validation_gap=validation_gap(evidence),
        plan_changes=plan_changes(replies),
        budget_unused=budget_unused(evidence),
        error_modes=error_modes(evidence, findings),
    )


def _writable(finding: Finding) -> Finding:
    """A finding that every file can hold: a reply may have halves of surrogate pairs in it."""
    texts = {"detail": finding.detail, "quote": finding.quote}
    whole = {name: text.encode("utf-8", "replace").decode() for name, text in texts.items()}
    return finding if whole == texts else finding.model_copy(update=whole)
