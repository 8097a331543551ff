"""Tables for papers and read-mes: tasks by agents, like the paper's tables 3 and 4."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mlagentbench.report.number_format import (
    NOTHING,
    interval_text,
    normalised_text,
    percent_interval_text,
    percent_text,
)
from mlagentbench.report.published import CAVEAT, SOURCE, PublishedRow
from mlagentbench.report.report_data import ReportData
from mlagentbench.statistics.cells import CellStatistics, Mean, Rate
from mlagentbench.statistics.leaderboard import AgentStatistics, Leaderboard, SuiteMean

GREYED = "*"
"""Marks a number with more than a tenth of its runs missing."""
MEAN_OVER_TASKS = "mean over tasks"


@dataclass(frozen=True)
class GridLine:
    """A line of a table: its label and its numbers as text."""

    label: str
    values: tuple[str, ...]
    is_summary: bool = False


@dataclass(frozen=True)
class Grid:
    """A table for readers, before it becomes LaTeX or Markdown."""

    name: str
    title: str
    columns: tuple[str, ...]
    lines: tuple[GridLine, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TableMeasure:
    """What a table shows of each cell, and of each agent over all tasks."""

    name: str
    title: str
    cell: Callable[[CellStatistics], str]
    suite: Callable[[AgentStatistics], str]


def _rate(rate: Rate) -> str:
    if rate.rate is None:
        return NOTHING
    return f"{percent_text(rate.rate)} {percent_interval_text(rate.interval)}"


def _improvement(mean: Mean) -> str:
    if mean.mean is None:
        return NOTHING
    if mean.interval is not None:
        return f"{percent_text(mean.mean)} {percent_interval_text(mean.interval)}"
    return percent_text(mean.mean)


def _normalised(mean: Mean) -> str:
    return f"{normalised_text(mean.mean)} {interval_text(mean.interval)}".rstrip()


def _suite_percent(mean: SuiteMean) -> str:
    return f"{percent_text(mean.mean)} {percent_interval_text(mean.on_these_tasks)}".rstrip()


def _suite_normalised(mean: SuiteMean) -> str:
    return f"{normalised_text(mean.mean)} {interval_text(mean.on_these_tasks)}".rstrip()


MEASURES = (
    TableMeasure(
        "success",
        "Success rate in percent: runs that reach the bar",
        lambda cell: _rate(cell.success),
        lambda row: _suite_percent(row.success),
    ),
    TableMeasure(
        "paper-success",
        "Success rate in percent by the paper's rule: more than 10 % better than the starter",
        lambda cell: _rate(cell.paper_success),
        lambda row: _suite_percent(row.paper_success),
    ),
    TableMeasure(
        "paper-improvement",
        "Improvement over the starter in percent, mean over valid submissions",
        lambda cell: _improvement(cell.paper_improvement),
        lambda _: NOTHING,
    ),
    TableMeasure(
        "normalised",
        "Normalised score: 0 = floor, 1 = reference",
        lambda cell: _normalised(cell.normalised),
        lambda row: _suite_normalised(row.normalised),
    ),
)


def grids(data: ReportData) -> Iterator[Grid]:
    """A table for each leaderboard and measure, and the published ones."""
    for number, leaderboard in enumerate(data.leaderboards, start=1):
        suffix = "" if len(data.leaderboards) == 1 else f"-{number}"
        for measure in MEASURES:
            yield _grid(leaderboard, measure, f"{measure.name}{suffix}")
    yield _published(
        data.published, "published-success", "Success rate", lambda row: row.success_percent
    )
    yield _published(
        data.published, "published-improvement", "Improvement", lambda row: row.improvement_percent
    )


def _grid(leaderboard: Leaderboard, measure: TableMeasure, name: str) -> Grid:
    lines = [
        GridLine(task, tuple(_value(row, task, measure) for row in leaderboard.rows))
        for task in leaderboard.tasks
    ]
    if len(leaderboard.tasks) > 1:
        over_tasks = tuple(measure.suite(row) for row in leaderboard.rows)
        if set(over_tasks) != {NOTHING}:
            lines.append(GridLine(MEAN_OVER_TASKS, over_tasks, is_summary=True))
    return Grid(
        name=name,
        title=f"{measure.title} ({leaderboard.name})",
        columns=tuple(row.name for row in leaderboard.rows),
        lines=tuple(lines),
        notes=tuple(_notes(leaderboard, lines)),
    )


def _value(row: AgentStatistics, task: str, measure: TableMeasure) -> str:
    cells = [cell for cell in row.cells if cell.key.task == task]
    texts = [f"{measure.cell(cell)}{GREYED if cell.greyed else ''}" for cell in cells]
    return "; ".join(texts) or NOTHING


def _notes(leaderboard: Leaderboard, lines: Sequence[GridLine]) -> Iterator[str]:
    yield (
        "[95 % interval]: Wilson for a rate, t for a mean of five or more runs; for the mean over "
        "tasks, the variation over other runs on these tasks"
    )
    if any(GREYED in value for line in lines for value in line.values):
        yield f"{GREYED} more than a tenth of the runs are missing"
    for row in leaderboard.rows:
        yield from (f"{row.name}: {mark}" for mark in row.marks)
    yield from leaderboard.marks


def _published(
    rows: Sequence[PublishedRow], name: str, title: str, percent: Callable[[PublishedRow], float]
) -> Grid:
    models = tuple(dict.fromkeys(row.model for row in rows))
    percents = {(row.task, row.model): f"{percent(row):.1f}" for row in rows}
    return Grid(
        name=name,
        title=f"{title} in percent, as published",
        columns=models,
        lines=tuple(
            GridLine(task, tuple(percents[task, model] for model in models))
            for task in dict.fromkeys(row.task for row in rows)
        ),
        notes=(CAVEAT, f"source: {SOURCE}"),
    )
