"""Rows of reference agents that were not run, from the task's measurements."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from mlagentbench.errors import UsageError
from mlagentbench.grading.rungs import ceiling_share, rung_shares
from mlagentbench.grading.success import compare_with_bar, floor_of, on_scale, spread_on_scale
from mlagentbench.numeric.intervals import Interval, Stratum, t_interval_of
from mlagentbench.records import Record, Rung
from mlagentbench.statistics.cells import (
    CellKey,
    CellStatistics,
    ClusterStatistics,
    Mean,
    Rate,
    mean_of,
    rate_of,
)
from mlagentbench.statistics.drawn_data import CellDraw, draw_names
from mlagentbench.tasks.draws import is_sample
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.stored_measurements import stored_measurements
from mlagentbench.tasks.task import Task, load_task

REFERENCE_AGENTS = ("nop", "baseline", "default", "oracle")
ALWAYS_SHOWN = ("nop", "baseline")
FROM_MEASURED = "measured beforehand"
"""The mark of what was not run: it follows from the task's measurements."""
NEVER = Rate(rate=0.0, interval=Interval(low=0.0, high=0.0))
"""The rate of something that cannot happen."""


class ReferenceAgentCells(Record):
    """nop and the baseline on one task, or the reason why they are unknown."""

    nop: CellStatistics | None = None
    baseline: CellStatistics | None = None
    unknown: str | None = None
    without: str | None = None
    """The draws that they leave out."""


def reference_agent_cells(beside: CellStatistics, draws: Sequence[CellDraw]) -> ReferenceAgentCells:
    """The scores of nop and the baseline under the conditions of another cell, on these draws.

    Draws on which no run counts are left out, with a mark: some cannot be measured.
    """
    conditions, key = beside.key.conditions, beside.key
    every, draws = draws, [one for one in draws if one.counted] or draws
    try:
        task = load_task(beside.task_path or key.task, conditions.tier, conditions.profile)
        if task.spec.version != conditions.task_version:
            return ReferenceAgentCells(unknown=f"version {task.spec.version} is installed")
        tool = None if task.spec.tool is None else key.roles.get("tool", key.model)
        found = {
            one: stored_measurements(task, conditions.tier, one.data_hash, tool) for one in draws
        }
    except UsageError as error:
        return ReferenceAgentCells(unknown=str(error))
    measured = {draw: one for draw, one in found.items() if one is not None}
    if not measured or len(measured) < len(found):
        return ReferenceAgentCells(unknown="floor and bar were not measured on this data")
    policy = conditions.draw_policy
    if policy is not None and is_sample(policy):
        baseline = _starter_on_draws(beside, "baseline", task, measured)
    else:
        baseline = _starter_cell(beside, "baseline", task, *measured.values())
    # If the starter is itself a submission, doing nothing submits it.
    is_submission = (task.starter / task.spec.submission.path).is_file()
    nop = _of_agent(baseline, "nop") if is_submission else _nothing_cell(beside)
    lost = [one for one in every if one not in draws]
    without = f"without draws on which no run counts: {draw_names(lost)}" if lost else None
    return ReferenceAgentCells(nop=nop, baseline=baseline, without=without)


def _of_agent(cell: CellStatistics, agent: str) -> CellStatistics:
    return cell.model_copy(update={"key": cell.key.model_copy(update={"agent": agent})})


def _starter_on_draws(
    beside: CellStatistics, agent: str, task: Task, measured: Mapping[CellDraw, Measured]
) -> CellStatistics:
    """The starter on a sample of draws: each draw counts once, whatever its number of runs."""
    metric = task.spec.metric
    starters = [one.starter for one in measured.values()]
    compared = [compare_with_bar(metric, one, one.starter.mean) for one in measured.values()]
    success = [_flags(one.over_bar, one.runs) for one in starters]
    paper_success = [_flags(one.over_paper_bar, one.runs) for one in starters]
    clusters = tuple(
        ClusterStatistics(
            cluster=draw.cluster,
            runs=starters[place].runs,
            valid=1.0,
            success=_share(success[place]),
            paper_success=_share(paper_success[place]),
            normalised=compared[place].normalised,
        )
        for place, draw in enumerate(measured)
    )
    shares = [_share_of_starter(beside, task, one) for one in measured.values()]
    improvements = [one.paper_improvement for one in compared]
    return _measured_cell(
        beside,
        agent,
        clusters=clusters,
        success=rate_of([flags for flags in success if flags]),
        paper_success=rate_of([flags for flags in paper_success if flags]),
        valid=rate_of([[1.0] * one.runs for one in starters]),
        score=mean_of([[one.mean] for one in starters]),
        normalised=mean_of([[one.normalised] for one in compared if one.normalised is not None]),
        ceiling_share=mean_of([[share] for share in shares if share is not None]),
        rungs=_starter_rungs(success),
        paper_improvement=mean_of([[one] for one in improvements if one is not None]),
    )


def _share(flags: Sequence[float]) -> float | None:
    return statistics.fmean(flags) if flags else None


def _starter_cell(
    beside: CellStatistics, agent: str, task: Task, measured: Measured
) -> CellStatistics:
    metric, starter = task.spec.metric, measured.starter
    floor, reference = floor_of(metric, measured), measured.reference.mean
    distance = abs(on_scale(metric, reference) - on_scale(metric, floor))
    success = _flags(starter.over_bar, starter.runs)
    paper_success = _flags(starter.over_paper_bar, starter.runs)
    clusters = tuple(
        ClusterStatistics(
            cluster=f"{FROM_MEASURED}/{beside.key.task}/{agent}/{number}",
            runs=1,
            valid=1.0,
            success=success[number] if success else None,
            paper_success=paper_success[number] if paper_success else None,
            normalised=None,
        )
        for number in range(starter.runs)
    )
    compared = compare_with_bar(metric, measured, starter.mean)
    normalised_std = spread_on_scale(metric, starter) / distance
    share, share_std = _share_of_starter(beside, task, measured), None
    if share is not None and measured.ceiling is not None:
        way = abs(on_scale(metric, measured.ceiling) - on_scale(metric, floor))
        share_std = spread_on_scale(metric, starter) / way
    return _measured_cell(
        beside,
        agent,
        clusters=clusters,
        success=rate_of([[flag] for flag in success]),
        paper_success=rate_of([[flag] for flag in paper_success]),
        valid=rate_of([[1.0]] * starter.runs),
        score=_mean(starter.mean, starter.std, starter.runs),
        normalised=_mean(compared.normalised, normalised_std, starter.runs),
        ceiling_share=_mean(share, share_std, starter.runs),
        rungs=_starter_rungs([success]),
        paper_improvement=_mean(compared.paper_improvement, None, starter.runs),
    )


def _share_of_starter(beside: CellStatistics, task: Task, measured: Measured) -> float | None:
    if beside.key.conditions.tier == "full":
        return None
    return ceiling_share(task.spec.metric, measured, measured.starter.mean)


def _starter_rungs(success: Sequence[Sequence[float]]) -> dict[Rung, float]:
    """Runs of the starter are valid; those over the bar, which luck allows, are successes."""
    words: dict[float, Rung] = {1.0: "success", 0.0: "valid"}
    return rung_shares([words[flag] for flag in flags] for flags in success if flags)


def _nothing_cell(beside: CellStatistics) -> CellStatistics:
    """nop on a task whose starter is not a submission: it submits nothing, and stays at 0."""
    never = {"success": NEVER, "paper_success": NEVER, "valid": NEVER}
    share = Mean(mean=None if beside.ceiling_share.mean is None else 0.0)
    return _measured_cell(
        beside,
        "nop",
        **never,
        normalised=Mean(mean=0.0),
        ceiling_share=share,
        rungs=rung_shares([["invalid"]]),
    )


def _measured_cell(beside: CellStatistics, agent: str, **values: Any) -> CellStatistics:
    """A cell on the same task and data, without runs."""
    same = (
        "task_path",
        "metric",
        "better",
        "data_description",
        "floor",
        "bar",
        "reference",
        "ceiling",
    )
    return CellStatistics(
        key=CellKey(
            task=beside.key.task, agent=agent, model="none", conditions=beside.key.conditions
        ),
        **{name: getattr(beside, name) for name in same},
        total_tokens=0.0,
        total_seconds=0.0,
        marks=(FROM_MEASURED,),
        from_measured=True,
        **values,
    )


def _flags(ones: int | None, n: int) -> list[float]:
    """n flags of which `ones` are 1; empty if that is unknown."""
    return [] if ones is None else [1.0] * ones + [0.0] * (n - ones)


def _mean(mean: float | None, std: float | None, n: int) -> Mean:
    """A mean without its single values."""
    if mean is None or std is None:
        return Mean(mean=mean)
    stratum = Stratum(n=n, mean=mean, variance=std**2)
    return Mean(
        n=n,
        mean=mean,
        standard_error=std / math.sqrt(n),
        interval=t_interval_of(stratum),
        points=(),
    )
