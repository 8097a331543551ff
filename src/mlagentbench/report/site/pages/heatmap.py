"""Tables of tasks by agents, like the paper's tables 3 and 4, with each number's uncertainty."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from mlagentbench.numeric.intervals import MIN_FOR_T
from mlagentbench.numeric.number_format import NOTHING, counted, percent_interval_text, percent_text
from mlagentbench.report.measures import MEASURES, Measure
from mlagentbench.report.published_results import PublishedRow, published_means
from mlagentbench.report.site.heat_colours import heat_class
from mlagentbench.statistics.cells import CellKey, CellStatistics, Mean, Rate
from mlagentbench.statistics.leaderboard import AgentStatistics, Leaderboard

MOST_COLUMNS = 10
"""Columns that fit beside each other, also on paper."""
ColumnKind = Literal["agent", "reference-agent", "published"]


@dataclass(frozen=True)
class Column:
    """An agent or a published model; `below` has the agent's settings and its model."""

    name: str
    below: tuple[str, ...]
    kind: ColumnKind
    agent: str = ""
    """The name of its page; empty for a published model."""


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
    runs: str = ""
    """The filters of the list of its runs, as a part of an address; empty without runs."""


@dataclass(frozen=True)
class HeatRow:
    task: str
    """Empty in the row of the means."""
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True)
class HeatPart:
    """Columns that fit beside each other."""

    columns: tuple[Column, ...]
    rows: tuple[HeatRow, ...]


@dataclass(frozen=True)
class HeatTable:
    """One measure over all tasks and agents of a leaderboard; its last row has the means."""

    key: str
    title: str
    explained: str
    parts: tuple[HeatPart, ...]


def heat_tables(leaderboard: Leaderboard, published: Sequence[PublishedRow]) -> list[HeatTable]:
    """The tables of a leaderboard: our measures, then the paper's beside its published numbers."""
    return [_heat_table(measure, leaderboard, published) for measure in MEASURES]


def _heat_table(
    measure: Measure, leaderboard: Leaderboard, published: Sequence[PublishedRow]
) -> HeatTable:
    rows_of_tasks = [row for row in published if row.task in leaderboard.tasks]
    printed = {(row.task, row.model): row for row in rows_of_tasks if measure.published_percent}
    models = list(dict.fromkeys(model for _, model in printed))
    columns = [_column(row) for row in leaderboard.rows]
    columns += [Column(model, ("as published",), "published") for model in models]
    printed_means = {row.model: row for row in published_means()}
    rows = []
    for task in leaderboard.tasks:
        cells = [_cell(measure, row, task) for row in leaderboard.rows]
        cells += [_published(measure, printed.get((task, model))) for model in models]
        rows.append(HeatRow(task, tuple(cells)))
    means = [_mean_cell(measure, row) for row in leaderboard.rows]
    means += [_published(measure, printed_means.get(model)) for model in models]
    return HeatTable(
        key=measure.key,
        title=measure.title,
        explained=measure.explanation,
        parts=tuple(_parts(columns, [*rows, HeatRow("", tuple(means))])),
    )


def _parts(columns: Sequence[Column], rows: Sequence[HeatRow]) -> Iterator[HeatPart]:
    """The columns in as few parts as fit a page, of about the same size."""
    parts = math.ceil(len(columns) / MOST_COLUMNS)
    size = math.ceil(len(columns) / max(1, parts))
    for start in range(0, len(columns), max(1, size)):
        part = slice(start, start + size)
        cells = tuple(HeatRow(row.task, row.cells[part]) for row in rows)
        yield HeatPart(tuple(columns[part]), cells)


def _column(row: AgentStatistics) -> Column:
    name, _, settings = row.agent.partition("(")
    below = [settings.removesuffix(")"), "" if row.model == "none" else row.model]
    if row.is_reference_agent:
        measured = row.cells and all(cell.from_measured for cell in row.cells)
        below.append("measured, not run" if measured else "reference agent")
    kind: ColumnKind = "reference-agent" if row.is_reference_agent else "agent"
    return Column(name, tuple(filter(None, below)), kind, row.name)


def _cell(measure: Measure, row: AgentStatistics, task: str) -> HeatCell:
    found = next((cell for cell in row.cells if cell.key.task == task), None)
    return HeatCell(None, NOTHING, title="not run") if found is None else _cell_of(measure, found)


def _published(measure: Measure, row: PublishedRow | None) -> HeatCell:
    if row is None or measure.published_percent is None:
        return HeatCell(None, NOTHING, title="not published")
    percent = measure.published_percent(row)
    return HeatCell(
        percent / 100, f"{percent_text(percent / 100)} %", shade=heat_class(percent / 100)
    )


def _missing_lines(cell: CellStatistics, found: Rate | Mean) -> tuple[str, ...]:
    """The lines about a cell's missing runs, with a rate's bounds."""
    if not cell.missing:
        return ()
    lines = [f"{cell.missing} of {cell.runs} missing"]
    if isinstance(found, Rate) and found.bounds is not None:
        lines.append(f"bounds {percent_interval_text(found.bounds, 0)} %")
    return tuple(lines)


def _cell_of(measure: Measure, cell: CellStatistics) -> HeatCell:
    found = measure.of_cell(cell)
    value = found.rate if isinstance(found, Rate) else found.mean
    runs = runs_filter(cell.key) if cell.runs else ""
    if value is None:
        reason = "success unknown" if isinstance(found, Rate) else "no score"
        below = _missing_lines(cell, found) or (reason,)
        return HeatCell(None, NOTHING, below, greyed=cell.greyed, runs=runs)
    return HeatCell(
        value=value,
        text=_value_text(measure, value, 0 if isinstance(found, Rate) else 1),
        below=tuple(_lines_below(measure, cell, found)),
        shade=heat_class(value),
        greyed=cell.greyed,
        title="; ".join(cell.marks),
        runs=runs,
    )


def runs_filter(key: CellKey) -> str:
    """The part of the address of the list of runs that shows those of a cell."""
    wanted = {"task": key.task, "agent": key.agent, "model": key.model, "tier": key.conditions.tier}
    return urlencode(wanted)


def _lines_below(measure: Measure, cell: CellStatistics, found: Rate | Mean) -> Iterator[str]:
    if found.interval is not None:
        yield measure.interval(found.interval, 0)
    if isinstance(found, Rate):
        yield f"{found.successes} of {found.n}"
    elif found.interval is not None or found.n >= MIN_FOR_T:
        yield f"n = {found.n}"
    elif found.n > 1:
        yield "points " + ", ".join(measure.text(point, 0) for point in found.points)
    else:
        yield "1 run"
    yield from _missing_lines(cell, found)


def _value_text(measure: Measure, value: float, places: int = 1) -> str:
    return f"{measure.text(value, places)}{' %' if measure.is_percent else ''}"


def _mean_cell(measure: Measure, row: AgentStatistics) -> HeatCell:
    if measure.over_tasks is None:
        return HeatCell(None, NOTHING, title=f"{row.agent}: not averaged over tasks")
    suite = measure.over_tasks(row)
    if suite.mean is None:
        return HeatCell(None, NOTHING)
    intervals = {
        "these tasks": suite.on_these_tasks,
        "such tasks": suite.over_tasks,
        "bounds": suite.bounds,
    }
    known = [f"{measure.interval(one, 0)} {name}" for name, one in intervals.items() if one]
    return HeatCell(
        suite.mean, _value_text(measure, suite.mean), (counted(suite.tasks, "task"), *known)
    )
