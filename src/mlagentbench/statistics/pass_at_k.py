"""What several attempts are worth: pass@k, and the best of k runs that share one budget."""

import math
import statistics
from collections.abc import Sequence
from itertools import groupby

from mlagentbench.analysis.detectors.milestones import is_same_metric
from mlagentbench.analysis.run_summary import RunSummary, ScorePoint, ValidationPoint
from mlagentbench.records import Record


class BestOf(Record):
    """Best of k runs, each cut at a k-th of one run's steps, against one run with all of them.

    Mean normalised score over all choices of k of the cell's runs. `chosen` takes the run whose own
    validation score is best, `oracle` the one that is truly best: nobody can do that, so it is an
    upper bound.
    """

    k: int
    steps_each: int
    chosen: float | None
    oracle: float | None


class Attempt(Record):
    """A run cut off early: what it had by then, and what it knew of that itself."""

    normalised: float
    validation: float | None
    """Larger is better; None where the run had printed no validation score."""


def pass_at_k(n: int, successes: int, k: int) -> float:
    """The chance that at least one of k runs succeeds, estimated without bias from n runs."""
    if not 1 <= k <= n:
        raise ValueError(f"pass@{k} cannot be told from {n} runs")
    return 1 - math.comb(n - successes, k) / math.comb(n, k)


def best_of_k(runs: Sequence[RunSummary], steps: int, k: int) -> BestOf:
    """The best of k of these runs, each cut at a k-th of `steps`.

    Unknown, which is None, where a run was not graded at its earlier steps; `mlagentbench runs
    regrade --steps all` does that.
    """
    cut = steps // k
    attempts = [_cut_off(run, cut) for run in runs]
    known = [attempt for attempt in attempts if attempt is not None]
    chosen = oracle = None
    if known and len(known) == len(attempts):
        oracle = _expected_best([one.normalised for one in known], known, k)
        if k == 1:
            chosen = oracle
        elif _told_alike(runs, cut):
            unknown = -math.inf
            ranks = [unknown if one.validation is None else one.validation for one in known]
            chosen = _expected_best(ranks, known, k)
    return BestOf(k=k, steps_each=cut, chosen=chosen, oracle=oracle)


def _expected_best(ranks: Sequence[float], attempts: Sequence[Attempt], k: int) -> float:
    """The mean score of the attempt that ranks best, over all choices of k attempts.

    Of attempts that rank alike, each is equally likely to be taken.
    """
    pairs = sorted(zip(ranks, attempts, strict=True), key=lambda pair: -pair[0])
    all_choices, behind, expected = math.comb(len(pairs), k), len(pairs), 0.0
    for _, group in groupby(pairs, key=lambda pair: pair[0]):
        members = [attempt.normalised for _, attempt in group]
        best_is_here = math.comb(behind, k) - math.comb(behind - len(members), k)
        expected += best_is_here / all_choices * statistics.fmean(members)
        behind -= len(members)
    return expected


def _told_alike(runs: Sequence[RunSummary], cut: int) -> bool:
    """Whether the runs that told validation scores by then all told the task's metric, by one name.

    A run that told another metric alone would otherwise pass for one that told nothing.
    """
    speaking = [run for run in runs if any(one.step <= cut for one in run.validations)]
    told = [{one.metric for one in _told_by(run, cut)} for run in speaking]
    return all(told) and len(set().union(*told)) == 1


def _told_by(run: RunSummary, cut: int) -> list[ValidationPoint]:
    """Its validation scores up to a step; of another metric nobody knows whether more is better."""
    metric = run.result.record.disclosure.metric
    return [
        one for one in run.validations if one.step <= cut and is_same_metric(one.metric, metric)
    ]


def _cut_off(run: RunSummary, cut: int) -> Attempt | None:
    """The run as it would have ended at a step; None where it was not graded by then."""
    grade = run.result.grade
    points = [point for point in run.points if point.step <= cut]
    looked_at = any(point.step > 0 for point in points)
    if grade is None or grade.success is None or not looked_at:
        return None
    better = 1.0 if run.result.record.disclosure.better == "higher" else -1.0
    told = [better * one.value for one in _told_by(run, cut)]
    return Attempt(normalised=_last_valid(points), validation=told[-1] if told else None)


def _last_valid(points: Sequence[ScorePoint]) -> float:
    """The normalised score of the last valid workspace; without one, the floor's."""
    return next((point.normalised or 0.0 for point in reversed(points) if point.valid), 0.0)
