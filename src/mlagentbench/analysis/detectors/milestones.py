"""Milestones of a run, its validation scores, and the budget that it left unused."""

import re
from collections.abc import Iterator

from mlagentbench.analysis.detectors.parsing.step_facts import is_execution
from mlagentbench.analysis.detectors.submissions import found_valid, newest_grades
from mlagentbench.analysis.evidence import RunEvidence
from mlagentbench.analysis.findings import Milestone
from mlagentbench.analysis.run_summary import ValidationPoint
from mlagentbench.limit_table import LIMITS
from mlagentbench.records import Step
from mlagentbench.runs.journal import History
from mlagentbench.tasks.validation_lines import read_validations

_WORD = re.compile(r"[a-z0-9@]+")


def validation_points(history: History) -> Iterator[ValidationPoint]:
    """Every validation score that an execution printed."""
    for step in history.steps:
        if is_execution(step):
            for found in read_validations(step.observation.text):
                yield ValidationPoint(step=step.n, metric=found.metric, value=found.value)


def submitted_validation(evidence: RunEvidence) -> float | None:
    """The validation score of what was submitted, in the task's own metric.

    The step that made the submission printed it, or else the last one before that did.
    """
    metric, last = evidence.record.disclosure.metric, None
    for point in validation_points(evidence.history):
        if point.step <= evidence.submitted_step and is_same_metric(point.metric, metric):
            last = point.value
    return last


def is_same_metric(printed: str, metric: str) -> bool:
    """Whether a printed name means the task's metric: MAE is mean absolute error."""
    short, words = _words(printed), _words(metric)
    initials = "".join(word[0] for word in words)
    return bool(short) and (set(short) <= set(words) or "".join(short) in (initials, "score"))


def _words(name: str) -> list[str]:
    return _WORD.findall(name.casefold())


def validation_gap(evidence: RunEvidence) -> float | None:
    """How much better the submission's validation score was than the graded one."""
    validation, grade = submitted_validation(evidence), evidence.final_grade
    if validation is None or grade is None or grade.score is None:
        return None
    gap = validation - grade.score
    return gap if evidence.better == "higher" else -gap


def first_valid(evidence: RunEvidence) -> Milestone | None:
    """The first step after which the submission is known to have been valid."""
    steps = [grade.step for grade in newest_grades(evidence.grades) if grade.valid]
    steps += [step.n for step in evidence.history.steps if found_valid(step)]
    return milestone(evidence.history, min(steps)) if steps else None


def milestone(history: History, number: int) -> Milestone | None:
    """A step with the run's clock at its end; None if the journal has no such step."""
    step = next((one for one in history.steps if one.n == number), None)
    return None if step is None else Milestone(step=number, seconds=_clock(history, step))


def _clock(history: History, step: Step) -> float:
    if step.usage is not None:
        return step.usage.seconds
    return max(0.0, step.started + step.seconds - history.steps[0].started)


def budget_unused(evidence: RunEvidence) -> dict[str, float]:
    """The share of each limit that was left at the end."""
    history = evidence.history
    used = history.usage.model_copy(update={"steps": len(history.steps)})
    limits = evidence.record.disclosure.limits
    left = {}
    for name, limit in LIMITS.items():
        amount = limits.get(name)
        if isinstance(amount, int | float) and not isinstance(amount, bool) and amount > 0:
            left[name] = min(1.0, max(0.0, 1.0 - limit.counted(used) / amount))
    return left
