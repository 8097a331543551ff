"""Invalid submissions, and submissions that are worse than an earlier state."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from mlagentbench.analysis.detectors.parsing.step_facts import ActionName, action_of
from mlagentbench.analysis.evidence import RunEvidence
from mlagentbench.analysis.findings import Finding
from mlagentbench.records import GradeRecord, Record, Step

REGRESSION = 0.05
"""In normalised score; smaller losses are noise."""

SubmissionForm = Literal["missing", "rows", "columns", "values", "program", "other"]

_INVALID = " is not a valid submission: "
_VALID = re.compile(r".{1,300} is a valid submission\.", re.S)
_QUOTED = 300
_SIGNS: dict[SubmissionForm, str] = {
    "program": (
        r"failed on the hidden inputs|not valid python|not a python program|defines no\b"
        r"|is not allowed|ended by the limit|exit (?:status|code)|timed out|took longer"
        r"|the program\b|the server\b|the reply\b|wrong outputs|no report was written"
        r"|traceback|predictions (?:do not depend|hang) on"
    ),
    "missing": r"not found|does not exist|no submission|no such file|is missing\Z",
    "columns": r"has the columns|\bcolumns?\b[^:]{0,40}(?:missing|expected|unknown)",
    "rows": r"row ids|\bids? (?:differ|repeat)|number of rows|\d+ rows\b|rows?, expected",
    "values": (
        r"is not a number|is not finite|is neither|no whole number|is no rating"
        r"|out of range|not finite|, row \d+:|id \S+: |node \S+: |\d+ values, expected"
        r"|is empty|save float32|not a list|expected pairs|the run \d|strange shape"
        r"|does not fit|is not in its place|belong to no tensor|have the shape"
    ),
}
_FORMS: dict[SubmissionForm, re.Pattern[str]] = {
    form: re.compile(signs, re.IGNORECASE | re.DOTALL) for form, signs in _SIGNS.items()
}


def submission_faults(evidence: RunEvidence) -> Iterator[Finding]:
    """Each failing Validate Submission, and an invalid final grade at the last step."""
    for step in evidence.history.steps:
        reason = invalid_reason(step)
        if reason is not None:
            yield _fault(step.n, reason)
    grade = evidence.final_grade
    if grade is not None and not grade.valid:
        yield _fault(grade.step, grade.reason or "")


def _fault(step: int, reason: str) -> Finding:
    text = reason.strip()[:_QUOTED] or "the submission is not valid"
    form = submission_form(reason)
    return Finding(kind="submission-format", steps=(step,), form=form, detail=text, quote=text)


def invalid_reason(step: Step) -> str | None:
    """What Validate Submission found wrong."""
    if action_of(step) != ActionName.VALIDATE_SUBMISSION or step.observation.status != "error":
        return None
    _, found, reason = step.observation.text.partition(_INVALID)
    return reason if found else None


def found_valid(step: Step) -> bool:
    """Whether Validate Submission found nothing wrong."""
    return (
        action_of(step) == ActionName.VALIDATE_SUBMISSION
        and step.observation.status == "ok"
        and _VALID.match(step.observation.text) is not None
    )


def submission_form(reason: str) -> SubmissionForm:
    """The kind of fault that a reason describes."""
    return next((form for form, pattern in _FORMS.items() if pattern.search(reason)), "other")


class BestState(Record):
    """The best graded state of the workspace, and its distance to the submission."""

    step: int
    regression: float | None


def newest_grades(grades: Sequence[GradeRecord]) -> list[GradeRecord]:
    """The newest grade of each step, in order, without step 0, the starter.

    Only the last step is ever rebuilt, so all are taken as they were submitted.
    """
    newest = {grade.step: grade.as_submitted for grade in grades}
    return [newest[step] for step in sorted(newest) if step > 0]


def best_state(evidence: RunEvidence) -> BestState | None:
    """Unknown unless at least two steps were graded, one of them with a score."""
    grades = newest_grades(evidence.grades)
    scored = [(grade.score, grade) for grade in grades if grade.score is not None]
    if len(grades) < 2 or not scored:
        return None
    sign = 1.0 if evidence.better == "higher" else -1.0
    _, best = max(scored, key=lambda one: (sign * one[0], -one[1].step))
    final = evidence.final_grade
    regression = None
    if final is not None and final.normalised is not None and best.normalised is not None:
        regression = best.normalised - final.normalised
    return BestState(step=best.step, regression=regression)


def regressions(evidence: RunEvidence) -> Iterator[Finding]:
    """A submission that is worse than an earlier state."""
    best, final = best_state(evidence), evidence.final_grade
    if best is None or final is None or best.regression is None or best.regression <= REGRESSION:
        return
    yield Finding(
        kind="regression",
        steps=(best.step, final.step),
        detail=f"the workspace after step {best.step} was better than the submission by "
        f"{best.regression:.3f} in normalised score",
    )
