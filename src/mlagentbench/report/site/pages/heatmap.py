"""Tables of tasks by agents, like the paper's tables 3 and 4, with each number's uncertainty."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from mlagentbench.numeric.intervals import FEWEST_FOR_T, Interval
from mlagentbench.report.number_format import (
    NOTHING,
    interval_text,
    normalised_text,
    percent_interval_text,
    percent_text,
)
from mlagentbench.report.published import PublishedRow, published_means
from mlagentbench.report.site.heat_colours import heat_class
from mlagentbench.statistics.cells import CellStatistics, Mean, Rate
from mlagentbench.statistics.leaderboard import AgentStatistics, Leaderboard, SuiteMean

ColumnKind = Literal["agent", "reference-agent", "published"]


@dataclass(frozen=True)
class Column:
    """An agent or a published model; `below` has the agent's settings and its model."""

    name: str
    below: tuple[str, ...]
    kind: ColumnKind


@dataclass(frozen=True)
class HeatCell:
    """A number with its uncertainty and its colour."""

    value: float | None
    text: str
    below: tuple[str, ...] = ()
    """Smaller lines: the interval, the runs."""
    shade: str = "heat-none"
    greyed: bool = False
    title: str = ""


@dataclass(frozen=True)
class HeatRow:
    task: str
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True)
class HeatTable:
    """One measure over all tasks and agents of a leaderboard."""

    key: str
    title: str
    explained: str
    columns: tuple[Column, ...]
    rows: tuple[HeatRow, ...]
    means: tuple[HeatCell, ...]


@dataclass(frozen=True)
class HeatmapMeasure:
    """How a heatmap shows a cell, an agent's mean, and a published row."""

    key: str
    title: str
    explained: str
    of_cell: Callable[[CellStatistics], HeatCell]
    of_mean: Callable[[AgentStatistics], HeatCell]
    of_published: Callable[[PublishedRow], HeatCell] | None = None


def heat_tables(leaderboard: Leaderboard, published: Sequence[PublishedRow]) -> list[HeatTable]:
    """The tables of a leaderboard: our measures, then the paper's beside its published numbers."""
    return [_heat_table(measure, leaderboard, published) for measure in MEASURES]


def _heat_table(
    measure: HeatmapMeasure, leaderboard: Leaderboard, published: Sequence[PublishedRow]
) -> HeatTable:
    rows_of_tasks = [row for row in published if row.task in leaderboard.tasks]
    printed = {(row.task, row.model): row for row in rows_of_tasks if measure.of_published}
    models = list(dict.fromkeys(model for _, model in printed))
    columns = [_column(row) for row in leaderboard.rows]
    columns += [Column(model, ("as published",), "published") for model in models]
    printed_means = {row.model: row for row in published_means()}
    rows = []
    for task in leaderboard.tasks:
        cells = [_cell(measure, row, task) for row in leaderboard.rows]
        cells += [_published(measure, printed.get((task, model))) for model in models]
        rows.append(HeatRow(task, tuple(cells)))
    means = [measure.of_mean(row) for row in leaderboard.rows]
    means += [_published(measure, printed_means.get(model)) for model in models]
    return HeatTable(
        key=measure.key,
        title=measure.title,
        explained=measure.explained,
        columns=tuple(columns),
        rows=tuple(rows),
        means=tuple(means),
    )


def _column(row: AgentStatistics) -> Column:
    name, _, settings = row.agent.partition("(")
    below = [settings.removesuffix(")"), "" if row.model == "none" else row.model]
    if row.is_reference_agent:
        measured = row.cells and all(cell.from_measured for cell in row.cells)
        below.append("measured, not run" if measured else "reference agent")
    kind: ColumnKind = "reference-agent" if row.is_reference_agent else "agent"
    return Column(name, tuple(filter(None, below)), kind)


def _cell(measure: HeatmapMeasure, row: AgentStatistics, task: str) -> HeatCell:
    found = next((cell for cell in row.cells if cell.key.task == task), None)
    return HeatCell(None, NOTHING, title="not run") if found is None else measure.of_cell(found)


def _published(measure: HeatmapMeasure, row: PublishedRow | None) -> HeatCell:
    if row is None or measure.of_published is None:
        return HeatCell(None, NOTHING, title="not published")
    return measure.of_published(row)


def _missing_lines(cell: CellStatistics) -> tuple[str, ...]:
    """The lines about a cell's missing runs."""
    if not cell.missing:
        return ()
    lines = [f"{cell.missing} of {cell.runs} missing"]
    if cell.success_bounds is not None:
        lines.append(f"bounds {percent_interval_text(cell.success_bounds, 0)} %")
    return tuple(lines)


def _empty_cell(cell: CellStatistics, reason: str) -> HeatCell:
    return HeatCell(None, NOTHING, _missing_lines(cell) or (reason,), greyed=cell.greyed)


def _rate_cell(cell: CellStatistics, rate: Rate) -> HeatCell:
    if rate.rate is None:
        return _empty_cell(cell, "success unknown")
    below = (percent_interval_text(rate.interval, 0), f"{rate.successes} of {rate.n}")
    return HeatCell(
        value=rate.rate,
        text=f"{percent_text(rate.rate, 0)} %",
        below=(*below, *_missing_lines(cell)),
        shade=heat_class(rate.rate),
        greyed=cell.greyed,
        title="; ".join(cell.marks),
    )


def _mean_cell(cell: CellStatistics, mean: Mean, percent: bool) -> HeatCell:
    if mean.mean is None:
        return _empty_cell(cell, "no score")
    below = [_interval_words(mean.interval, percent)] if mean.interval is not None else []
    if mean.interval is None and mean.n < FEWEST_FOR_T:
        below.append(_points(mean, percent))
    else:
        below.append(f"n = {mean.n}")
    missing = [f"{cell.missing} of {cell.runs} missing"] if cell.missing else []
    return HeatCell(
        value=mean.mean,
        text=_share_text(mean.mean, percent),
        below=(*below, *missing),
        shade=heat_class(mean.mean),
        greyed=cell.greyed,
        title="; ".join(cell.marks),
    )


def _share_text(value: float, percent: bool) -> str:
    return f"{percent_text(value)} %" if percent else normalised_text(value)


def _interval_words(interval: Interval, percent: bool) -> str:
    return percent_interval_text(interval, 0) if percent else interval_text(interval)


def _points(mean: Mean, percent: bool) -> str:
    texts = (percent_text(one, 0) if percent else normalised_text(one) for one in mean.points)
    return "points " + ", ".join(texts) if mean.n > 1 else "1 run"


def _suite_cell(suite: SuiteMean, percent: bool) -> HeatCell:
    if suite.mean is None:
        return HeatCell(None, NOTHING)
    below = [f"{suite.tasks} tasks"]
    if suite.on_these_tasks is not None:
        below.append(f"{_interval_words(suite.on_these_tasks, percent)} these tasks")
    if suite.over_tasks is not None:
        below.append(f"{_interval_words(suite.over_tasks, percent)} such tasks")
    if suite.bounds is not None:
        below.append(f"{_interval_words(suite.bounds, percent)} bounds")
    return HeatCell(suite.mean, _share_text(suite.mean, percent), tuple(below))


def _published_cell(percent: float) -> HeatCell:
    return HeatCell(percent / 100, f"{percent:.1f} %", shade=heat_class(percent / 100))


def _improvement_mean(row: AgentStatistics) -> HeatCell:
    """Improvements are not averaged over tasks."""
    return HeatCell(None, NOTHING, title=f"{row.agent}: not averaged over tasks")


MEASURES = (
    HeatmapMeasure(
        key="success",
        title="Success rate",
        explained=(
            "Share of runs that reach the bar, with the 95 % Wilson interval and the number of "
            "successes among counted runs."
        ),
        of_cell=lambda cell: _rate_cell(cell, cell.success),
        of_mean=lambda row: _suite_cell(row.success, percent=True),
    ),
    HeatmapMeasure(
        key="normalised",
        title="Normalised score",
        explained=(
            "0 is the floor, 1 the reference. Mean over runs with its 95 % t interval; below five "
            "runs, the individual values."
        ),
        of_cell=lambda cell: _mean_cell(cell, cell.normalised, percent=False),
        of_mean=lambda row: _suite_cell(row.normalised, percent=False),
    ),
    HeatmapMeasure(
        key="paper-success",
        title="Success rate by the paper's rule",
        explained=(
            "Share of runs more than 10 % better than the starter. Columns in italics are "
            "published numbers from other data and other runs."
        ),
        of_cell=lambda cell: _rate_cell(cell, cell.paper_success),
        of_mean=lambda row: _suite_cell(row.paper_success, percent=True),
        of_published=lambda row: _published_cell(row.success_percent),
    ),
    HeatmapMeasure(
        key="paper-improvement",
        title="Improvement over the starter, as the paper counts it",
        explained=(
            "Mean over runs with a valid submission. Columns in italics are published numbers from "
            "other data and other runs."
        ),
        of_cell=lambda cell: _mean_cell(cell, cell.paper_improvement, percent=True),
        of_mean=_improvement_mean,
        of_published=lambda row: _published_cell(row.improvement_percent),
    ),
)
