"""pass@k, and the best of k runs that share the budget of one."""

import math
import statistics
from collections.abc import Sequence
from itertools import groupby

from mlagentbench.analysis.detectors.milestones import is_same_metric
from mlagentbench.analysis.run_summary import RunSummary, ScorePoint, ValidationPoint
from mlagentbench.records import Record


class BestOf(Record):
    """The best of k runs, each stopped after a k-th of the steps of one run.

    Mean normalised score over all choices of k of the cell's runs. `chosen` takes the run with the
    best validation score, `oracle` the run with the best test score, which is an upper bound.
    """

    k: int
    steps_each: int
    chosen: float | None
    oracle: float | None


class Attempt(Record):
    """A run stopped early: its score by then, and its own validation score."""

    normalised: float
    validation: float | None
    """Larger is better; None if the run had printed no validation score."""


def pass_at_k(n: int, successes: int, k: int) -> float:
    """The chance that at least one of k runs succeeds, estimated without bias from n runs."""
    if not 1 <= k <= n:
        raise ValueError(f"pass@{k} cannot be estimated from {n} runs")
    return 1 - math.comb(n - successes, k) / math.comb(n, k)


def best_of_k(runs: Sequence[RunSummary], steps: int, k: int) -> BestOf:
    """The best of k of these runs, each stopped after a k-th of `steps`.

    None if a run was not graded at its earlier steps; `mlagentbench runs regrade --steps all` does
    that.
    """
    cut = steps // k
    attempts = [_stopped_at(run, cut) for run in runs]
    known = [attempt for attempt in attempts if attempt is not None]
    chosen = oracle = None
    if known and len(known) == len(attempts):
        oracle = _expected_best([one.normalised for one in known], known, k)
        if k == 1:
            chosen = oracle
        elif _same_metric(runs, cut):
            unknown = -math.inf
            ranks = [unknown if one.validation is None else one.validation for one in known]
            chosen = _expected_best(ranks, known, k)
    return BestOf(k=k, steps_each=cut, chosen=chosen, oracle=oracle)


def _expected_best(ranks: Sequence[float], attempts: Sequence[Attempt], k: int) -> float:
    """The mean score of the attempt with the best rank, over all choices of k attempts.

    Attempts with equal ranks are equally likely to be chosen.
    """
    pairs = sorted(zip(ranks, attempts, strict=True), key=lambda pair: -pair[0])
    all_choices, behind, expected = math.comb(len(pairs), k), len(pairs), 0.0
    for _, group in groupby(pairs, key=lambda pair: pair[0]):
        members = [attempt.normalised for _, attempt in group]
        best_is_here = math.comb(behind, k) - math.comb(behind - len(members), k)
        expected += best_is_here / all_choices * statistics.fmean(members)
        behind -= len(members)
    return expected


def _same_metric(runs: Sequence[RunSummary], cut: int) -> bool:
    """Whether all runs with validation scores by then printed the task's metric, by one name.

    Otherwise a run that printed only another metric would count as one that printed nothing.
    """
    reporting = [run for run in runs if any(one.step <= cut for one in run.validations)]
    metrics = [{one.metric for one in _validations(run, cut)} for run in reporting]
    return all(metrics) and len(set().union(*metrics)) == 1


def _validations(run: RunSummary, cut: int) -> list[ValidationPoint]:
    """The validation scores in the task's metric up to a step."""
    metric = run.result.record.disclosure.metric
    return [
        one for one in run.validations if one.step <= cut and is_same_metric(one.metric, metric)
    ]


def _stopped_at(run: RunSummary, cut: int) -> Attempt | None:
    """The run as it would have ended at a step; None if it was not graded by then."""
    grade = run.result.grade
    points = [point for point in run.points if point.step <= cut]
    was_graded = any(point.step > 0 for point in points)
    if grade is None or grade.success is None or not was_graded:
        return None
    better = 1.0 if run.result.record.disclosure.better == "higher" else -1.0
    scores = [better * one.value for one in _validations(run, cut)]
    return Attempt(normalised=_last_valid(points), validation=scores[-1] if scores else None)


def _last_valid(points: Sequence[ScorePoint]) -> float:
    """The normalised score of the last valid workspace; without one, that of the floor."""
    return next((point.normalised or 0.0 for point in reversed(points) if point.valid), 0.0)
