"""The page of one task: what its scores mean, and each agent's scores."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mlagentbench.errors import UsageError
from mlagentbench.report.report_data import CollectedRun, ReportData
from mlagentbench.report.site.charts import (
    HEIGHT,
    WIDE,
    DotRow,
    Drawing,
    curve_chart,
    dot_rows_chart,
    drawing,
)
from mlagentbench.report.site.pages.heatmap import runs_filter
from mlagentbench.report.site.rung_chart import RungPicture, RungRow, rung_picture
from mlagentbench.report.site.series import Curve, mean_score_curves
from mlagentbench.statistics.cell_marks import agent_with_model, bare_agent
from mlagentbench.statistics.cells import CellStatistics, Conditions
from mlagentbench.statistics.curves import best_so_far
from mlagentbench.statistics.drawn_data import CellDraw
from mlagentbench.statistics.reference_rows import REFERENCE_AGENTS
from mlagentbench.statistics.task_standing import TaskStanding, task_standing
from mlagentbench.tasks.spec import Measured, Metric
from mlagentbench.tasks.stored_measurements import stored_measurements
from mlagentbench.tasks.task import Task, load_task

TEMPLATE = "task.html"
MOST_CURVES = 8
MOST_PAGES = 10
"""Runs of a cell that are linked one by one."""


@dataclass(frozen=True)
class TaskCell:
    name: str
    is_reference_agent: bool
    cell: CellStatistics
    pages: tuple[tuple[str, int], ...]
    """The names of its runs' pages, with the epochs."""
    more_pages: int
    runs: str
    """The filters of the list of its runs."""


@dataclass(frozen=True)
class TaskPart:
    """The results on one data set and version of the task."""

    words: str
    conditions: Conditions
    metric: str
    better: str
    measured: Measured | None
    """The task's measurements, where they are known for these data and these are one draw."""
    draws: tuple[CellDraw, ...]
    """Empty unless there are several."""
    floor: float | None
    bar: float | None
    reference: float | None
    ceiling: float | None
    rungs: RungPicture | None
    cells: tuple[TaskCell, ...]
    chart: Drawing | None
    curves: tuple[Drawing, ...]
    standing: TaskStanding


@dataclass(frozen=True)
class TaskView:
    task: str
    title: str
    parts: tuple[TaskPart, ...]


def task_views(data: ReportData) -> list[TaskView]:
    """A view for each task that has a cell."""
    runs = runs_by_path(data.collection.runs)
    cells: dict[str, list[CellStatistics]] = defaultdict(list)
    for cell in data.cells:
        cells[cell.key.task].append(cell)
    return [_task_view(task, cells[task], runs) for task in sorted(cells)]


def runs_by_path(runs: Sequence[CollectedRun]) -> dict[str, list[CollectedRun]]:
    """Runs by the path that cells know them by; several directories can have the same path."""
    found: dict[str, list[CollectedRun]] = defaultdict(list)
    for run in runs:
        found[run.summary.result.path].append(run)
    return found


def _task_view(
    task: str, cells: Sequence[CellStatistics], runs: dict[str, list[CollectedRun]]
) -> TaskView:
    parts: dict[str, list[CellStatistics]] = defaultdict(list)
    for cell in cells:
        conditions = cell.key.conditions
        data = f"{cell.data_description} {conditions.data} {conditions.task_version}"
        parts[data].append(cell)
    first = next((run for path in cells[0].paths for run in runs.get(path, [])), None)
    address = first.summary.result.record.task_path if first else task
    known = installed_task(address)
    return TaskView(
        task=task,
        title=known.spec.title if known else task,
        parts=tuple(_part(members, runs, known) for _, members in sorted(parts.items())),
    )


def installed_task(address: str) -> Task | None:
    """The task as it is installed here, if it is."""
    try:
        return load_task(address)
    except UsageError:
        return None


def _measured(
    task: Task | None, conditions: Conditions, draws: Sequence[CellDraw]
) -> Measured | None:
    """The measurements of starter, reference and ceiling, where known for these data."""
    if task is None or task.spec.version != conditions.task_version or len(draws) != 1:
        return None
    try:
        task = task.on_tier(conditions.tier).on_profile(conditions.profile)
    except UsageError:
        return None
    return stored_measurements(task, conditions.tier, draws[0].data_hash)


def _part(
    cells: Sequence[CellStatistics],
    runs: dict[str, list[CollectedRun]],
    task: Task | None,
) -> TaskPart:
    first = cells[0]
    draws = {draw.cluster: draw for cell in cells for draw in cell.draws}.values()
    measured = _measured(task, first.key.conditions, list(draws))
    metric = task.spec.metric if task else None
    ordered = sorted(cells, key=_order)
    agents = [cell for cell in ordered if not _is_reference_agent(cell)]
    found = [run for cell in agents for path in cell.paths for run in runs.get(path, [])]
    return TaskPart(
        words=first.data_description,
        conditions=first.key.conditions,
        metric=first.metric,
        better=first.better,
        measured=measured,
        draws=tuple(draws) if len(draws) > 1 else (),
        floor=first.floor,
        bar=first.bar,
        reference=first.reference,
        ceiling=_ceiling(first, measured),
        rungs=rung_picture(
            [
                RungRow(agent_with_model(cell.key.agent, cell.key.model), cell.rungs)
                for cell in ordered
            ],
            "share of the agent's runs on this task",
        ),
        cells=tuple(task_cell(cell, runs) for cell in ordered),
        chart=_spread(ordered, metric, measured),
        curves=_curves(found),
        standing=task_standing(agents),
    )


def _ceiling(cell: CellStatistics, measured: Measured | None) -> float | None:
    """By the grades, or else by the measurements."""
    return measured.ceiling if cell.ceiling is None and measured is not None else cell.ceiling


def _is_reference_agent(cell: CellStatistics) -> bool:
    return bare_agent(cell.key.agent) in REFERENCE_AGENTS


def _order(cell: CellStatistics) -> tuple[bool, float, str]:
    return _is_reference_agent(cell), -(cell.success.rate or 0.0), cell.key.agent


def task_cell(cell: CellStatistics, runs: dict[str, list[CollectedRun]]) -> TaskCell:
    """A cell with the pages of its runs."""
    pages = [
        (run.name, run.summary.result.record.epoch)
        for path in cell.paths
        for run in runs.get(path, [])
    ]
    name = agent_with_model(cell.key.agent, cell.key.model)
    return TaskCell(
        name,
        _is_reference_agent(cell),
        cell,
        tuple(pages[:MOST_PAGES]),
        max(0, len(pages) - MOST_PAGES),
        runs_filter(cell.key),
    )


def _spread(
    cells: Sequence[CellStatistics], metric: Metric | None, measured: Measured | None
) -> Drawing | None:
    rows = [
        DotRow(agent_with_model(cell.key.agent, cell.key.model), cell.score.points)
        for cell in cells
        if cell.score.points
    ]
    if not rows:
        return None
    first = cells[0]
    known = ((first.floor, "floor"), (first.bar, "bar"), (first.reference, "reference"))
    rules = [(value, name) for value, name in known if value is not None]
    ceiling = _ceiling(first, measured)
    if ceiling is not None:
        rules.append((ceiling, "ceiling"))
    return drawing(
        lambda width: dot_rows_chart(
            f"Scores of all runs with a valid submission, by agent, in {first.metric}",
            rows,
            first.metric,
            rules,
            log=metric is not None and metric.scale == "log",
            width=width,
        ),
        WIDE,
    )


def _curves(runs: Sequence[CollectedRun]) -> tuple[Drawing, ...]:
    """The score of each agent over its graded steps: after each step, and the best so far."""
    summaries = [run.summary for run in runs]
    after_step = mean_score_curves(summaries, "steps")
    if not after_step:
        return ()
    best = mean_score_curves(summaries, "steps", best_so_far)
    return (
        _curve_chart("Normalised score over steps, the mean of each agent's runs", after_step),
        _curve_chart("The same, for the best step so far", best),
    )


def _curve_chart(title: str, curves: Sequence[Curve]) -> Drawing:
    return drawing(
        lambda width: curve_chart(
            title,
            curves[:MOST_CURVES],
            "steps",
            "normalised score",
            axis="steps",
            levels=((0.0, "floor"), (1.0, "reference")),
            start=0.0,
            size=(width, HEIGHT),
            hold=True,
        )
    )
