"""Rows of reference agents that were not run, from the task's measurements."""

import math
from typing import Any

from mlagentbench.errors import UsageError
from mlagentbench.grading.measurements import spread_on_scale
from mlagentbench.grading.success import compare_with_bar, floor_of, on_scale
from mlagentbench.numeric.intervals import Interval, Stratum, t_interval_of
from mlagentbench.records import Record, Tier
from mlagentbench.statistics.cells import (
    CellKey,
    CellStatistics,
    HistoryStatistics,
    Mean,
    Rate,
    rate_of,
)
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.stored_measurements import stored_measurements
from mlagentbench.tasks.task import Task, load_task

REFERENCE_AGENTS = ("nop", "baseline", "oracle")
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


def reference_agent_cells(beside: CellStatistics) -> ReferenceAgentCells:
    """The scores of nop and the baseline on the data of another cell."""
    conditions, key = beside.key.conditions, beside.key
    try:
        task = load_task(beside.task_path or key.task, conditions.profile)
        if task.spec.version != conditions.task_version:
            return ReferenceAgentCells(unknown=f"version {task.spec.version} is installed")
        tier: Tier = "mini" if conditions.tier == "mini" else "full"
        tool = None if task.spec.tool is None else key.roles.get("tool", key.model)
        measured = stored_measurements(task, tier, conditions.data_hash, tool)
    except UsageError as error:
        return ReferenceAgentCells(unknown=str(error))
    if measured is None:
        return ReferenceAgentCells(unknown="floor and bar were not measured on this data")
    baseline = _starter_cell(beside, "baseline", task, measured)
    # If the starter is itself a submission, doing nothing submits it.
    is_submission = (task.folder / "starter" / task.spec.submission.path).is_file()
    nop = _starter_cell(beside, "nop", task, measured) if is_submission else _nothing_cell(beside)
    return ReferenceAgentCells(nop=nop, baseline=baseline)


def _starter_cell(
    beside: CellStatistics, agent: str, task: Task, measured: Measured
) -> CellStatistics:
    metric, starter = task.spec.metric, measured.starter
    floor, reference = floor_of(metric, measured), measured.reference.mean
    distance = abs(on_scale(metric, reference) - on_scale(metric, floor))
    success = _flags(starter.over_bar, starter.runs)
    paper_success = _flags(starter.over_paper_bar, starter.runs)
    histories = tuple(
        HistoryStatistics(
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
    return _measured_cell(
        beside,
        agent,
        histories=histories,
        success=rate_of([[flag] for flag in success]),
        paper_success=rate_of([[flag] for flag in paper_success]),
        valid=rate_of([[1.0]] * starter.runs),
        score=_mean(starter.mean, starter.std, starter.runs),
        normalised=_mean(compared.normalised, normalised_std, starter.runs),
        paper_improvement=_mean(compared.paper_improvement, None, starter.runs),
    )


def _nothing_cell(beside: CellStatistics) -> CellStatistics:
    """nop on a task whose starter is not a submission: it submits nothing, and stays at 0."""
    never = {"success": NEVER, "paper_success": NEVER, "valid": NEVER}
    return _measured_cell(beside, "nop", **never, normalised=Mean(mean=0.0))


def _measured_cell(beside: CellStatistics, agent: str, **values: Any) -> CellStatistics:
    """A cell on the same task and data, without runs."""
    same = ("task_path", "metric", "better", "data_description", "floor", "bar", "reference")
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
