"""Tables of tasks by agents, like the paper's tables 3 and 4, with each number's uncertainty."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from mlagentbench.numeric.intervals import MIN_FOR_T
from mlagentbench.numeric.number_format import NOTHING, counted, percent_interval_text, percent_text
from mlagentbench.report.measures import Measure, measures_of
from mlagentbench.report.published_results import (
    OVER_SHOWN,
    PAPERS_OWN,
    PublishedRow,
    published_columns,
)
from mlagentbench.report.site.heat_colours import heat_class
from mlagentbench.statistics.cells import CellKey, CellStatistics, Mean, Rate
from mlagentbench.statistics.leaderboard import AgentStatistics, Leaderboard
from mlagentbench.statistics.reference_rows import FROM_MEASURED

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
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True)
class HeatPart:
    """Columns that fit beside each other."""

    columns: tuple[Column, ...]
    rows: tuple[HeatRow, ...]
    summaries: tuple[HeatRow, ...]
    """The means: over the tasks shown, and the paper's own, which is over all of its tasks."""


@dataclass(frozen=True)
class HeatTable:
    """One measure over all tasks and agents of a leaderboard."""

    key: str
    title: str
    explained: str
    parts: tuple[HeatPart, ...]


def heat_tables(leaderboard: Leaderboard, published: Sequence[PublishedRow]) -> list[HeatTable]:
    """The tables of a leaderboard: our measures, then the paper's beside its published numbers."""
    return [_heat_table(measure, leaderboard, published) for measure in measures_of(leaderboard)]


def _heat_table(
    measure: Measure, leaderboard: Leaderboard, published: Sequence[PublishedRow]
) -> HeatTable:
    shown = published if measure.published_percent else ()
    printed = published_columns(shown, leaderboard.tasks)
    columns = [_column(row) for row in leaderboard.rows]
    columns += [Column(one.model, ("as published",), "published") for one in printed]
    rows = []
    for task in leaderboard.tasks:
        cells = [_cell(measure, row, task) for row in leaderboard.rows]
        cells += [_published(measure, one.by_task.get(task)) for one in printed]
        rows.append(HeatRow(task, tuple(cells)))
    means = [_mean_cell(measure, row) for row in leaderboard.rows]
    means += [_published(measure, one.over_shown, len(one.by_task)) for one in printed]
    ours = [HeatCell(None, "") for _ in leaderboard.rows]
    own = [_published(measure, one.papers_own) for one in printed]
    summaries = [HeatRow(OVER_SHOWN, tuple(means))]
    if printed:
        summaries.append(HeatRow(PAPERS_OWN, (*ours, *own)))
    return HeatTable(
        key=measure.key,
        title=measure.title,
        explained=measure.explanation,
        parts=tuple(_parts(columns, rows, summaries)),
    )


def _parts(
    columns: Sequence[Column], rows: Sequence[HeatRow], summaries: Sequence[HeatRow]
) -> Iterator[HeatPart]:
    """The columns in as few parts as fit a page, of about the same size."""
    parts = math.ceil(len(columns) / MOST_COLUMNS)
    size = math.ceil(len(columns) / max(1, parts))
    for start in range(0, len(columns), max(1, size)):
        part = slice(start, start + size)
        cells = tuple(HeatRow(row.task, row.cells[part]) for row in rows)
        means = [HeatRow(row.task, row.cells[part]) for row in summaries]
        known = tuple(row for row in means if any(cell.text for cell in row.cells))
        yield HeatPart(tuple(columns[part]), cells, known)


def _column(row: AgentStatistics) -> Column:
    name, _, settings = row.agent.partition("(")
    settings, _, more = settings.rpartition(")")
    below = [settings, more.removeprefix(", "), "" if row.model == "none" else row.model]
    if row.is_reference_agent:
        below.append("reference agent" if row.was_run else FROM_MEASURED)
    kind: ColumnKind = "reference-agent" if row.is_reference_agent else "agent"
    return Column(name, tuple(filter(None, below)), kind, row.name)


def _cell(measure: Measure, row: AgentStatistics, task: str) -> HeatCell:
    found = next((cell for cell in row.cells if cell.key.task == task), None)
    return HeatCell(None, NOTHING, title="not run") if found is None else _cell_of(measure, found)


def _published(measure: Measure, row: PublishedRow | None, tasks: int | None = None) -> HeatCell:
    if row is None or measure.published_percent is None:
        return HeatCell(None, NOTHING, title="not published")
    share = measure.published_percent(row) / 100
    below = () if tasks is None else (counted(tasks, "task"),)
    return HeatCell(share, f"{percent_text(share)} %", below, shade=heat_class(share))


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
    if cell.from_measured:
        yield FROM_MEASURED
    elif isinstance(found, Rate):
        yield f"{found.successes} of {found.n}"
    elif found.interval is not None or found.n >= MIN_FOR_T:
        yield f"n = {found.n}"
    elif found.n > 1:
        yield "points " + ", ".join(measure.text(point, 0) for point in found.points)
    else:
        yield counted(found.n, "run")
    yield from _missing_lines(cell, found)


def _value_text(measure: Measure, value: float, places: int = 1) -> str:
    return f"{measure.text(value, places)}{' %' if measure.is_percent else ''}"


def _mean_cell(measure: Measure, row: AgentStatistics) -> HeatCell:
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
