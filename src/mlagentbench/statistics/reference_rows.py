"""The rows that others are measured by, where nobody ran them: from the task's measured figures."""

import math

from mlagentbench.errors import UsageError
from mlagentbench.grading.measurements import spread_on_scale
from mlagentbench.grading.score import compare_with_bar, floor_of, normalised, on_scale
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
from mlagentbench.tasks.measured import stored_measurements
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.task import Task, load_task

RULERS = ("nop", "baseline", "oracle")
ALWAYS_SHOWN = ("nop", "baseline")
FROM_MEASURED = "from the task's measured figures"
NO_RATE = Rate(successes=0, n=0, rate=None, interval=Interval(low=0.0, high=1.0))
NO_MEAN = Mean(n=0, mean=None, standard_error=None, interval=None, points=())
NEVER = Rate(successes=0, n=0, rate=0.0, interval=Interval(low=0.0, high=0.0))
"""Known without trying."""


class ReferenceAgentCells(Record):
    """nop and the baseline on one task, or the reason why nothing is known of them."""

    nop: CellStatistics | None = None
    baseline: CellStatistics | None = None
    unknown: str | None = None


def reference_agent_cells(beside: CellStatistics) -> ReferenceAgentCells:
    """What nop and the baseline reach on the data of another cell."""
    conditions, key = beside.key.conditions, beside.key
    try:
        task = load_task(beside.task_path or key.task)
        if task.spec.version != conditions.task_version:
            return ReferenceAgentCells(unknown=f"{key.task}: this is version {task.spec.version}")
        tier: Tier = "mini" if conditions.tier == "mini" else "full"
        tool = None if task.spec.tool is None else key.roles.get("tool", key.model)
        measured = stored_measurements(task, tier, conditions.data_hash, tool)
    except UsageError as error:
        return ReferenceAgentCells(unknown=f"{key.task}: {error}")
    if measured is None:
        return ReferenceAgentCells(
            unknown=f"{key.task}: floor and bar were not measured on this data"
        )
    baseline = _starter_cell(beside, "baseline", task, measured)
    # Where the starter is a program that is itself the submission, to do nothing is to submit it.
    hands_in = (task.folder / "starter" / task.spec.submission.path).is_file()
    nop = _starter_cell(beside, "nop", task, measured) if hands_in else _nothing_cell(beside)
    return ReferenceAgentCells(nop=nop, baseline=baseline)


def _starter_cell(
    beside: CellStatistics, agent: str, task: Task, measured: Measured
) -> CellStatistics:
    metric, starter = task.spec.metric, measured.starter
    floor, reference = floor_of(metric, measured), measured.reference.mean
    way = abs(on_scale(metric, reference) - on_scale(metric, floor))
    success, paper = (
        _flags(starter.over_bar, starter.runs),
        _flags(starter.over_paper_bar, starter.runs),
    )
    histories = tuple(
        HistoryStatistics(
            cluster=f"{FROM_MEASURED}/{beside.key.task}/{agent}/{number}", runs=1, valid=1.0,
            success=success[number] if success else None,
            paper_success=paper[number] if paper else None, normalised=None,
        )
        for number in range(starter.runs)
    )  # fmt: skip
    compared = compare_with_bar(metric, measured, starter.mean)
    return _empty_cell(beside, agent).model_copy(
        update={
            "histories": histories,
            "success": rate_of([[flag] for flag in success]) if success else NO_RATE,
            "paper_success": rate_of([[flag] for flag in paper]) if paper else NO_RATE,
            "valid": rate_of([[1.0]] * starter.runs),
            "score": _mean(starter.mean, starter.std, starter.runs),
            "normalised": _mean(
                normalised(metric, starter.mean, floor, reference),
                spread_on_scale(metric, starter) / way,
                starter.runs,
            ),
            "paper_improvement": _mean(compared.paper_improvement, None, starter.runs),
        }
    )


def _nothing_cell(beside: CellStatistics) -> CellStatistics:
    """nop on a task whose submission has to be made first: it submits none, and stays at 0."""
    return _empty_cell(beside, "nop").model_copy(
        update={
            "success": NEVER, "paper_success": NEVER, "valid": NEVER,
            "normalised": NO_MEAN.model_copy(update={"mean": 0.0}),
        }
    )  # fmt: skip


def _empty_cell(beside: CellStatistics, agent: str) -> CellStatistics:
    """A cell on the same task and data, in which nothing was run."""
    key = CellKey(task=beside.key.task, agent=agent, model="none", conditions=beside.key.conditions)
    nothing: dict[str, object] = {
        name: NO_MEAN
        for name, field in CellStatistics.model_fields.items()
        if field.annotation is Mean
    }
    nothing |= {
        "key": key, "paths": (), "histories": (), "runs": 0, "counted": 0, "missing": 0,
        "missing_reasons": {}, "greyed": False, "success_bounds": None, "pass_at": {},
        "best_of": (), "test_set_interval": None, "tokens_per_success": None,
        "cost_per_success": None, "total_tokens": 0.0, "total_cost": None, "total_seconds": 0.0,
        "marks": (FROM_MEASURED,), "from_measured": True,
    }  # fmt: skip
    return beside.model_copy(update=nothing)


def _flags(ones: int | None, n: int) -> list[float]:
    """n runs of which so many are 1; empty where that is unknown."""
    return [] if ones is None else [1.0] * ones + [0.0] * (n - ones)


def _mean(mean: float | None, std: float | None, n: int) -> Mean:
    """A mean of which only the summary is known."""
    if mean is None or std is None:
        return NO_MEAN.model_copy(update={"mean": mean})
    stratum = Stratum(n=n, mean=mean, variance=std**2)
    return Mean(
        n=n,
        mean=mean,
        standard_error=std / math.sqrt(n),
        interval=t_interval_of(stratum),
        points=(),
    )
