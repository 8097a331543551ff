"""The tables and plots of the paper, each as values with what they are of.

An item is computed once from a leaderboard; its CSV file, its Markdown table and its plot show
the same values. Success and improvement follow the paper's rule. Published values stand beside
ours wherever the package has them.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from mlagentbench.analysis.disclosures import limits_text
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.errors import UsageError
from mlagentbench.numeric.intervals import Interval
from mlagentbench.report.published_results import (
    OVER_SHOWN,
    PAPERS_OWN,
    PublishedRow,
    published_columns,
)
from mlagentbench.report.report_data import ReportData
from mlagentbench.report.site.series import mode_counts
from mlagentbench.runs.failure_causes import cause_of
from mlagentbench.statistics.cells import CellStatistics, Mean, Rate
from mlagentbench.statistics.leaderboard import (
    AgentStatistics,
    Leaderboard,
    SuiteMean,
    suite_mean,
    suite_rate,
)
from mlagentbench.tasks.task import load_task

Unit = Literal["percent", "seconds", "tokens"]
Source = Literal["runs", "measured", "published"]
Drawing = Literal["bars", "stacked"]

BASELINE = "baseline"
PAPER_RUNS = 8
PAPER_LIMITS = limits_text({"steps": 50, "time": 18000.0})
LABELLED_TASK = "cifar10"
"""The paper labelled error modes on this task alone."""


@dataclass(frozen=True)
class PaperValue:
    """One number of an item: the line and the column that it stands in, and what it is of."""

    line: str
    column: str
    value: float | None
    unit: Unit = "percent"
    source: Source = "runs"
    interval: Interval | None = None
    """95 %."""
    runs: int = 0
    """The counted runs behind it."""
    missing: int = 0
    is_summary: bool = False


@dataclass(frozen=True)
class PaperItem:
    """A table or plot of the paper."""

    name: str
    title: str
    head: str
    """What its lines are, such as "task"."""
    values: tuple[PaperValue, ...]
    notes: tuple[str, ...] = ()
    drawing: Drawing = "bars"
    drawn: tuple[str, ...] = ()
    """The columns of its plot."""


@dataclass(frozen=True)
class PaperMeasure:
    """A measure of the paper's tables by task: what it is of a cell and over tasks."""

    key: str
    title: str
    unit: Unit
    of_cell: Callable[[CellStatistics], Rate | Mean]
    over_tasks: Callable[[Sequence[CellStatistics]], SuiteMean]
    published: Callable[[PublishedRow], float] | None = None


SUCCESS = PaperMeasure(
    "success",
    "Success rate: share of runs more than 10 % better than the starter",
    "percent",
    lambda cell: cell.paper_success,
    lambda cells: suite_rate(cells, "paper_success"),
    lambda row: row.success_percent / 100,
)
IMPROVEMENT = PaperMeasure(
    "improvement",
    "Improvement over the starter, mean over runs with a valid submission",
    "percent",
    lambda cell: cell.paper_improvement,
    lambda cells: suite_mean([cell.paper_improvement for cell in cells]),
    lambda row: row.improvement_percent / 100,
)
TIME = PaperMeasure(
    "time",
    "Time of a run, by its own clock",
    "seconds",
    lambda cell: cell.working_seconds,
    lambda cells: suite_mean([cell.working_seconds for cell in cells]),
)
TOKENS = PaperMeasure(
    "tokens",
    "Tokens of a run, of all its models",
    "tokens",
    lambda cell: cell.tokens,
    lambda cells: suite_mean([cell.tokens for cell in cells]),
)
MEASURES = (SUCCESS, IMPROVEMENT, TIME, TOKENS)


def paper_items(data: ReportData) -> Iterator[PaperItem]:
    """All items; of several leaderboards, each has its own."""
    for number, leaderboard in enumerate(data.leaderboards, start=1):
        suffix = "" if len(data.leaderboards) == 1 else f"-{number}"
        rows = sorted(filter(_is_shown, leaderboard.rows), key=_place)
        notes = (*_deviations(leaderboard, rows), *leaderboard.notes)
        found = [
            *(_by_task(leaderboard, rows, data.published, measure) for measure in MEASURES),
            *_error_modes(leaderboard, data.collection.summaries),
            _categories(leaderboard, rows, data.published),
            *_log_ablation(leaderboard, rows),
            *_agents_compared(rows),
        ]
        for item in found:
            title = f"{item.title} ({leaderboard.name})"
            named = {"name": f"{item.name}{suffix}", "title": title}
            yield PaperItem(**vars(item) | named | {"notes": (*item.notes, *notes)})


def _is_shown(row: AgentStatistics) -> bool:
    return row.agent == BASELINE or not row.is_reference_agent


def _place(row: AgentStatistics) -> tuple[bool, bool, str, str]:
    """The paper's agent comes first, the baseline last."""
    return row.is_reference_agent, not row.agent.startswith("research"), row.agent, row.model


def _source(cells: Sequence[CellStatistics]) -> Source:
    return "measured" if all(cell.from_measured for cell in cells) else "runs"


def _of_cell(cell: CellStatistics, column: str, measure: PaperMeasure) -> PaperValue:
    found = measure.of_cell(cell)
    return PaperValue(
        line=cell.key.task,
        column=column,
        value=found.rate if isinstance(found, Rate) else found.mean,
        unit=measure.unit,
        source=_source([cell]),
        interval=None if isinstance(found, Rate) and found.rate is None else found.interval,
        runs=found.n,
        missing=cell.missing,
    )


def _over_tasks(
    cells: Sequence[CellStatistics], line: str, column: str, measure: PaperMeasure
) -> PaperValue:
    mean = measure.over_tasks(cells)
    return PaperValue(
        line=line,
        column=column,
        value=mean.mean,
        unit=measure.unit,
        source=_source(cells),
        interval=mean.on_these_tasks,
        runs=sum(measure.of_cell(cell).n for cell in cells),
        missing=sum(cell.missing for cell in cells),
        is_summary=line == OVER_SHOWN,
    )


def _by_task(
    leaderboard: Leaderboard,
    rows: Sequence[AgentStatistics],
    published: Sequence[PublishedRow],
    measure: PaperMeasure,
) -> PaperItem:
    """Tasks against agents with their models, then the published models."""
    values = [_of_cell(cell, row.name, measure) for row in rows for cell in row.cells]
    values += [_over_tasks(row.cells, OVER_SHOWN, row.name, measure) for row in rows]
    notes = ["no published values"]
    if measure.published is not None:
        shown = [row for row in published if row.task in leaderboard.tasks]
        values += _published_by_line(shown, measure.published, lambda row: row.task)
        values += _published_means(shown, measure.published)
        notes = [shown[0].source] if shown else []
    order = [*leaderboard.tasks, OVER_SHOWN, PAPERS_OWN]
    return PaperItem(
        name=f"{measure.key}-by-task",
        title=measure.title,
        head="task",
        values=tuple(sorted(values, key=lambda one: order.index(one.line))),
        notes=tuple(notes),
        drawn=tuple(row.name for row in rows),
    )


def _published_by_line(
    rows: Sequence[PublishedRow],
    percent: Callable[[PublishedRow], float],
    line_of: Callable[[PublishedRow], str],
) -> list[PaperValue]:
    """The published values, as means where a line has several tasks."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        groups[line_of(row), row.model].append(percent(row))
    return [
        PaperValue(
            line=line,
            column=f"published: {model}",
            value=statistics.fmean(shares),
            source="published",
            is_summary=line in (OVER_SHOWN, PAPERS_OWN),
        )
        for (line, model), shares in groups.items()
    ]


def _published_means(
    shown: Sequence[PublishedRow], percent: Callable[[PublishedRow], float]
) -> list[PaperValue]:
    """Over the tasks shown, and the paper's own over all of its tasks."""
    columns = published_columns(shown, {row.task for row in shown})
    own = _published_by_line([one.papers_own for one in columns], percent, lambda _: PAPERS_OWN)
    over_shown = [one.over_shown for one in columns]
    return _published_by_line(over_shown, percent, lambda _: OVER_SHOWN) + own


def _error_modes(leaderboard: Leaderboard, summaries: Sequence[RunSummary]) -> Iterator[PaperItem]:
    """The first cause of each unsuccessful run, on all tasks and on the paper's one."""
    paths = {path for row in leaderboard.rows for cell in row.cells for path in cell.paths}
    counted = [
        one
        for one in summaries
        if one.result.path in paths
        and one.result.record.disclosure.answered_by != "nobody"
        and cause_of(one.result).verdict == "counts"
    ]
    on_one = [one for one in counted if one.result.record.disclosure.task == LABELLED_TASK]
    for name, where, runs in (
        ("error-modes", "on all tasks", counted),
        (f"error-modes-{LABELLED_TASK}", f"on {LABELLED_TASK}, as in the paper", on_one),
    ):
        if runs:
            yield PaperItem(
                name=name,
                title=f"Error modes of unsuccessful runs {where}: share of runs by first cause",
                head="error mode",
                values=tuple(_mode_shares(runs)),
                notes=(
                    "no published values; found by rules, where the paper's authors labelled by "
                    "hand; unsuccessful by the bar, not by the paper's rule",
                ),
                drawing="stacked",
                drawn=tuple(dict.fromkeys(one.column for one in _mode_shares(runs))),
            )


def _mode_shares(runs: Sequence[RunSummary]) -> Iterator[PaperValue]:
    for agent in mode_counts(runs):
        for mode, count in agent.first:
            share = count / agent.runs
            yield PaperValue(line=mode, column=agent.name, value=share, runs=agent.runs)


def _categories(
    leaderboard: Leaderboard, rows: Sequence[AgentStatistics], published: Sequence[PublishedRow]
) -> PaperItem:
    """Success by category of tasks: the mean over a category's tasks."""
    category = {
        cell.key.task: _category(cell.task_path or cell.key.task)
        for row in leaderboard.rows
        for cell in row.cells
    }
    shown = [row for row in published if row.task in category]
    values = []
    for row in rows:
        groups: dict[str, list[CellStatistics]] = defaultdict(list)
        for cell in row.cells:
            groups[category[cell.key.task]].append(cell)
        values += [
            _over_tasks(cells, name, row.name, SUCCESS) for name, cells in sorted(groups.items())
        ]
    values += _published_by_line(
        shown, lambda row: row.success_percent / 100, lambda row: category[row.task]
    )
    members: dict[str, list[str]] = defaultdict(list)
    for task, name in sorted(category.items()):
        members[name].append(task)
    return PaperItem(
        name="task-categories",
        title="Success rate by category of tasks",
        head="category",
        values=tuple(sorted(values, key=lambda one: one.line)),
        notes=(
            *(f"{name}: {', '.join(tasks)}" for name, tasks in sorted(members.items())),
            "published: the mean of the published rates of these tasks",
        ),
        drawn=tuple(row.name for row in rows),
    )


def _category(task: str) -> str:
    try:
        return load_task(task).spec.category
    except UsageError:
        return "unknown"


def _log_ablation(leaderboard: Leaderboard, rows: Sequence[AgentStatistics]) -> Iterator[PaperItem]:
    """The paper's agent without and with its research log, for each model that ran both."""
    pairs = [
        (without, with_log)
        for without in rows
        for with_log in rows
        if without.agent in ("research", "research(retrieval=false)")
        and with_log.agent == "research(retrieval=true)"
        and without.model == with_log.model
        and _ran_alike(without, with_log)
    ]
    values = []
    for pair in pairs:
        for measure in (SUCCESS, IMPROVEMENT):
            for row, how in zip(pair, ("no log", "log"), strict=True):
                column = f"{row.model}, {measure.key}, {how}"
                values += [_of_cell(cell, column, measure) for cell in row.cells]
                values.append(_over_tasks(row.cells, OVER_SHOWN, column, measure))
    order = [*leaderboard.tasks, OVER_SHOWN]
    if values:
        columns = dict.fromkeys(one.column for one in values)
        yield PaperItem(
            name="log-ablation",
            title="The research log: the paper's agent without it and with it",
            head="task",
            values=tuple(sorted(values, key=lambda one: order.index(one.line))),
            notes=("no published values",),
            drawn=tuple(one for one in columns if f", {SUCCESS.key}," in one),
        )


def _ran_alike(first: AgentStatistics, second: AgentStatistics) -> bool:
    """Whether they ran a task in common, and all of those under the same conditions."""
    conditions = {cell.key.task: cell.key.conditions for cell in first.cells}
    shared = [cell for cell in second.cells if cell.key.task in conditions]
    return bool(shared) and all(conditions[one.key.task] == one.key.conditions for one in shared)


def _agents_compared(rows: Sequence[AgentStatistics]) -> Iterator[PaperItem]:
    """Means over tasks of each agent with each model: the paper's against AutoGPT and LangChain."""
    agents = [row for row in rows if not row.is_reference_agent]
    if not agents:
        return
    values = [
        _over_tasks(row.cells, row.name, measure.key, measure)
        for row in sorted(agents, key=lambda one: (one.model, one.agent))
        for measure in MEASURES
    ]
    yield PaperItem(
        name="agents-compared",
        title="Agents compared, means over the tasks that each ran",
        head="agent",
        values=tuple(values),
        notes=("no published values",),
        drawn=(SUCCESS.key,),
    )


def _deviations(leaderboard: Leaderboard, rows: Sequence[AgentStatistics]) -> Iterator[str]:
    """How these runs differ from the paper's, as far as their records show it."""
    if any(one.tier == "mini" for one in leaderboard.conditions):
        yield "mini tier: generated data, not the paper's (--tier full has the real ones)"
    if any(one.protocol != "paper" for one in leaderboard.conditions):
        yield "not the paper's protocol (--protocol paper)"
    limits = {limits_text(one.limits) for one in leaderboard.conditions}
    if limits != {PAPER_LIMITS}:
        yield f"limits: {'; or '.join(sorted(limits))}; in the paper {PAPER_LIMITS}"
    counts = sorted({cell.runs for row in rows for cell in row.cells if not cell.from_measured})
    if counts and counts != [PAPER_RUNS]:
        spread = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        yield f"runs of each agent, model and task: {spread}; in the paper {PAPER_RUNS}"
    missing = sum(row.missing for row in rows)
    if missing:
        yield f"missing runs, lost to infrastructure: {missing}; they are in no number here"
    yield "[95 % interval]: over other runs on these tasks"
