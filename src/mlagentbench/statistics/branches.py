"""Families of runs: which runs were branched from which, and how their scores differ.

All branches of one point share a history, so their differences only tell how a run continues from
this point. The tables of agents count them as one.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations

from mlagentbench.analysis.disclosures import limits_text
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.numeric.intervals import Interval, t_interval
from mlagentbench.records import BranchPoint, Record
from mlagentbench.statistics.cell_marks import agent_text, other_roles

HASH_SHOWN = 6


class RunKey(Record):
    """A run's --out directory and its path below it."""

    out: str
    path: str


class PairedDifference(Record):
    """The mean of paired differences, on the normalised scale and on the metric's own.

    A run without a valid submission has the normalised score 0, the floor's, and no score.
    """

    normalised_pairs: int
    normalised: float | None
    normalised_interval: Interval | None
    score_pairs: int
    score: float | None
    score_interval: Interval | None


class BranchSet(Record):
    """Branches of one point with the same settings, each compared with the parent."""

    point: BranchPoint
    name: str
    """The agent, the model, and other changes."""
    runs: tuple[RunKey, ...]
    successes: int
    decided: int
    against_parent: PairedDifference


class SetComparison(Record):
    """Two sets of branches of one point, first minus second, paired by their seeds."""

    step: int
    first: str
    second: str
    difference: PairedDifference


def key_of(summary: RunSummary) -> RunKey:
    return RunKey(out=summary.out, path=summary.result.path)


def parent_of(summary: RunSummary) -> RunKey | None:
    """The run that this one was branched from."""
    taken = summary.result.record.branched_from
    return None if taken is None else RunKey(out=summary.out, path=taken.run)


def branch_sets(parent: RunSummary, children: Sequence[RunSummary]) -> list[BranchSet]:
    """The sets of a parent's branches, by the step that they start from."""
    return [_set(parent, runs) for runs in _by_settings(children)]


def set_comparisons(parent: RunSummary, children: Sequence[RunSummary]) -> list[SetComparison]:
    """All pairs of sets that start from the same step of the parent."""
    found = []
    for first, second in combinations(_by_settings(children), 2):
        step = _point(first[0]).step
        if step != _point(second[0]).step:
            continue
        theirs = {_seed(run): run for run in second}
        pairs = [(run, theirs[_seed(run)]) for run in first if _seed(run) in theirs]
        found.append(
            SetComparison(
                step=step,
                first=_name(parent, first[0]),
                second=_name(parent, second[0]),
                difference=_difference(pairs),
            )
        )
    return found


def _seed(run: RunSummary) -> int | None:
    return run.result.record.seed


def _by_settings(children: Sequence[RunSummary]) -> list[list[RunSummary]]:
    """Branches grouped by their directory, which encodes their settings."""
    groups: dict[str, list[RunSummary]] = defaultdict(list)
    for child in children:
        groups[child.result.path.rpartition("/")[0]].append(child)
    ordered = [sorted(runs, key=lambda run: run.result.record.epoch) for runs in groups.values()]
    return sorted(ordered, key=lambda runs: (_point(runs[0]).step, runs[0].result.path))


def _point(child: RunSummary) -> BranchPoint:
    point = child.result.record.branched_from
    if point is None:
        raise ValueError(f"{child.result.path} is not a branch")
    return point


def _set(parent: RunSummary, runs: Sequence[RunSummary]) -> BranchSet:
    verdicts = [run.result.grade.success for run in runs if run.result.grade is not None]
    return BranchSet(
        point=_point(runs[0]),
        name=_name(parent, runs[0]),
        runs=tuple(map(key_of, runs)),
        successes=sum(verdict is True for verdict in verdicts),
        decided=sum(verdict is not None for verdict in verdicts),
        against_parent=_difference([(run, parent) for run in runs]),
    )


def _name(parent: RunSummary, child: RunSummary) -> str:
    facts = child.result.record.disclosure
    words = [agent_text(facts.agent, facts.agent_settings)]
    if facts.model != "none":
        words.append(f"with {facts.model}")
    return "; ".join([*words, *changes_of(parent, child)])


def changes_of(parent: RunSummary, child: RunSummary) -> list[str]:
    """How a branch differs from its parent, apart from its agent and its model."""
    facts, before = child.result.record.disclosure, parent.result.record.disclosure
    words = []
    if other_roles(facts) != other_roles(before):
        words += [f"{role}={model}" for role, model in other_roles(facts).items()]
    if facts.recording is not None and facts.recording != before.recording:
        words.append(f"recording {facts.recording[:HASH_SHOWN]}")
    if facts.limits != before.limits:
        words.append(f"limits {limits_text(facts.limits)}")
    edited = _point(child).edited
    if edited is not None:
        words.append(f"observation edited ({edited[:HASH_SHOWN]})")
    return words


def _difference(pairs: Sequence[tuple[RunSummary, RunSummary]]) -> PairedDifference:
    normalised = _paired_differences(pairs, _normalised)
    score = _paired_differences(pairs, _score)
    return PairedDifference(
        normalised_pairs=len(normalised),
        normalised=statistics.fmean(normalised) if normalised else None,
        normalised_interval=t_interval(normalised),
        score_pairs=len(score),
        score=statistics.fmean(score) if score else None,
        score_interval=t_interval(score),
    )


def _paired_differences(
    pairs: Sequence[tuple[RunSummary, RunSummary]], value: Callable[[RunSummary], float | None]
) -> list[float]:
    values = [(value(one), value(other)) for one, other in pairs]
    return [one - other for one, other in values if one is not None and other is not None]


def _normalised(summary: RunSummary) -> float | None:
    grade = summary.result.grade
    if grade is None or grade.success is None:
        return None
    return grade.normalised or 0.0


def _score(summary: RunSummary) -> float | None:
    return None if summary.result.grade is None else summary.result.grade.score
