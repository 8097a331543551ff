"""Compare two agents on the tasks that both ran on: is the difference more than luck?"""

from collections.abc import Iterable, Sequence
from itertools import chain, combinations, product
from typing import Literal

from mlagentbench.errors import UsageError
from mlagentbench.numeric.intervals import Interval
from mlagentbench.records import Pair, Record
from mlagentbench.statistics.cells import CellStatistics, ClusterStatistics
from mlagentbench.statistics.leaderboard import AgentStatistics, Leaderboard
from mlagentbench.statistics.permutation import (
    TaskArms,
    detectable_mean_difference,
    detectable_rate_difference,
    holm,
    mean_difference_interval,
    permutation_test,
    rate_difference_interval,
)
from mlagentbench.statistics.primary_pair import find_pair, no_such_pair, when_named
from mlagentbench.statistics.reference_rows import FROM_MEASURED
from mlagentbench.tasks.draws import is_sample

Measure = Literal["success", "normalised"]
MEASURES: tuple[Measure, ...] = ("success", "normalised")
BASELINE = "baseline"


class TaskDifference(Record):
    """The difference on one task; p values are corrected by Holm's method over all tasks."""

    task: str
    difference: float
    runs: tuple[int, int]
    p: float
    p_holm: float


class Comparison(Record):
    """The first agent minus the second: the mean over tasks of the difference of their means.

    p comes from permuting runs between the two agents within each task. On a sample of draws, only
    the two agents' results on the same draw are exchanged; runs branched from one history move
    together. `detectable` is the smallest true difference that this design detects in
    80 % of the cases: for success rates, around a rate of one half; for normalised scores, with the
    observed spread. It is None if no difference can be detected, or no spread was observed.
    """

    measure: str
    """"success" or "normalised"."""
    first: str
    second: str
    tasks: tuple[TaskDifference, ...]
    difference: float
    interval: Interval | None
    """Newcombe's for rates, Welch's for scores, both paired by draw where agents share draws; None
    if the spread is unknown."""
    p: float
    detectable: float | None
    p_holm: float | None = None
    """p corrected by Holm's method over all pairs of agents that this measure compares; None for
    comparisons with the baseline, which are no part of that family."""
    primary: str = ""
    """When the pair was named as the one that the study is about; empty if it was not."""
    clusters: tuple[int, int]
    """The number of independent draws or histories of each, over all tasks."""
    note: str = ""
    """A remark, such as that one side was measured and not run."""


def all_comparisons(leaderboard: Leaderboard, named: Pair | None = None) -> list[Comparison]:
    """Agents with each other, then each with the baseline, by both measures.

    A pair that was named before the runs, or is `named` only now, comes first.
    """
    agents = [row for row in leaderboard.rows if not row.is_reference_agent]
    baselines = [row for row in leaderboard.rows if row.agent == BASELINE]
    found: list[Comparison] = []
    for measure in MEASURES:
        pairs = _compared(combinations(agents, 2), measure, named)
        corrected = holm([one.p for one in pairs])
        found += sorted(
            (one.model_copy(update={"p_holm": p}) for one, p in zip(pairs, corrected, strict=True)),
            key=lambda one: not one.primary,
        )
        found += _compared(product(agents, baselines), measure, None)
    return found


def named_pairs(text: str | None, leaderboards: Sequence[Leaderboard]) -> list[Pair | None]:
    """The pair that A:B names on each leaderboard; a UsageError if none of them has it."""
    if text is None:
        return [None] * len(leaderboards)
    rows = [
        [(row.agent, row.model) for row in leaderboard.rows if not row.is_reference_agent]
        for leaderboard in leaderboards
    ]
    pairs = [find_pair(text, some) for some in rows]
    if not any(pairs):
        raise UsageError(no_such_pair(text, chain.from_iterable(rows)))
    return pairs


def _compared(
    pairs: Iterable[tuple[AgentStatistics, AgentStatistics]], measure: Measure, named: Pair | None
) -> list[Comparison]:
    return [
        comparison
        for first, second in pairs
        if (comparison := compare(first, second, measure, named)) is not None
    ]


def compare(
    first: AgentStatistics, second: AgentStatistics, measure: Measure, named: Pair | None = None
) -> Comparison | None:
    """Compare two agents by a measure; None if no task has runs of both with a known success."""
    ours = {cell.key.task: cell for cell in first.cells}
    theirs = {cell.key.task: cell for cell in second.cells}
    arms = {
        task: both
        for task, cell in sorted(ours.items())
        if task in theirs and (both := _arms(cell, theirs[task], measure)) is not None
    }
    if not arms:
        return None
    tasks = list(arms.values())
    test = permutation_test(tasks)
    rates = measure == "success"
    return Comparison(
        measure=measure,
        first=first.name,
        second=second.name,
        tasks=_task_differences(arms, test.task_p, ours, theirs),
        difference=test.difference,
        interval=rate_difference_interval(tasks) if rates else mean_difference_interval(tasks),
        p=test.p,
        detectable=(
            detectable_rate_difference(tasks) if rates else detectable_mean_difference(tasks)
        ),
        primary=when_named(
            (first.name, second.name),
            [cell for cell in (*first.cells, *second.cells) if cell.key.task in arms],
            named,
        ),
        clusters=(sum(len(one.first) for one in tasks), sum(len(one.second) for one in tasks)),
        note=_note(first, second, arms),
    )


def _arms(first: CellStatistics, second: CellStatistics, measure: Measure) -> TaskArms | None:
    """The clusters of both with known values; those that both have runs from come first.

    On a sample of draws, only those that both have.
    """
    ours, theirs = _values(first.clusters, measure), _values(second.clusters, measure)
    shared = [cluster for cluster in ours if cluster in theirs]
    if _has_draws(first) or _has_draws(second):
        ours = {cluster: ours[cluster] for cluster in shared}
        theirs = {cluster: theirs[cluster] for cluster in shared}
    if not ours or not theirs:
        return None
    return TaskArms(
        first=(*(ours.pop(cluster) for cluster in shared), *ours.values()),
        second=(*(theirs.pop(cluster) for cluster in shared), *theirs.values()),
        shared=len(shared),
    )


def _has_draws(cell: CellStatistics) -> bool:
    policy = cell.key.conditions.draw_policy
    return policy is not None and is_sample(policy)


def _values(clusters: Sequence[ClusterStatistics], measure: Measure) -> dict[str, float]:
    values = {
        one.cluster: one.success if measure == "success" else one.normalised for one in clusters
    }
    return {cluster: value for cluster, value in values.items() if value is not None}


def _task_differences(
    arms: dict[str, TaskArms],
    p_values: Sequence[float],
    ours: dict[str, CellStatistics],
    theirs: dict[str, CellStatistics],
) -> tuple[TaskDifference, ...]:
    return tuple(
        TaskDifference(
            task=task,
            difference=both.difference,
            runs=(_runs(ours[task]), _runs(theirs[task])),
            p=p,
            p_holm=corrected,
        )
        for (task, both), p, corrected in zip(arms.items(), p_values, holm(p_values), strict=True)
    )


def _runs(cell: CellStatistics) -> int:
    return sum(cluster.runs for cluster in cell.clusters)


def _note(first: AgentStatistics, second: AgentStatistics, arms: dict[str, TaskArms]) -> str:
    """The tasks that one side was not run on, or that both ran under different conditions."""
    notes = []
    for row in (first, second):
        measured = [cell.key.task for cell in row.cells if cell.from_measured]
        tasks = [task for task in measured if task in arms]
        if tasks:
            notes.append(f"{row.name}: {FROM_MEASURED} ({', '.join(tasks)})")
    differing = [
        cell.key.task
        for cell in first.cells
        for other in second.cells
        if cell.key.task == other.key.task in arms and cell.key.conditions != other.key.conditions
    ]
    if differing:
        notes.append(f"under different conditions: {', '.join(differing)}")
    return "; ".join(notes)
