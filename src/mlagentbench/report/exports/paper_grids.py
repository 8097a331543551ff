"""Tables for papers and read-mes: tasks by agents, like the paper's tables 3 and 4."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mlagentbench.grading.rungs import RUNGS
from mlagentbench.numeric.number_format import (
    NOTHING,
    counted,
    fixed,
    interval_text,
    normalised_text,
    percent_interval_text,
    percent_text,
    signed,
)
from mlagentbench.report.measures import Measure, measures_of
from mlagentbench.report.published_results import (
    CAVEAT,
    OVER_SHOWN,
    PAPERS_OWN,
    SOURCE,
    PublishedRow,
    published_columns,
)
from mlagentbench.report.report_data import ReportData
from mlagentbench.statistics.cells import Rate
from mlagentbench.statistics.experimentation_gain import ExperimentationGain, GainStatistics
from mlagentbench.statistics.leaderboard import AgentStatistics, Leaderboard, SuiteMean
from mlagentbench.statistics.tiers.mini_and_hard import MiniAndHard, notes_of
from mlagentbench.statistics.tiers.rank_agreement import RankAgreement

GREYED = "*"
"""Marks a number with more than a tenth of its runs missing."""


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
    head: str = "task"
    """What the lines are."""


def grids(data: ReportData) -> Iterator[Grid]:
    """A table for each leaderboard and measure, and the published ones."""
    for number, leaderboard in enumerate(data.leaderboards, start=1):
        suffix = "" if len(data.leaderboards) == 1 else f"-{number}"
        for measure in measures_of(leaderboard):
            yield _grid(leaderboard, measure, f"{measure.key}{suffix}")
        yield _rung_grid(leaderboard, f"rungs{suffix}")
        yield _rungs_by_task(leaderboard, f"rungs-by-task{suffix}")
    if data.mini_and_hard:
        yield _mini_and_hard(data.mini_and_hard, "mini-and-hard")
        yield _mini_and_hard_rungs(data.mini_and_hard, "mini-and-hard-rungs")
    agreements = data.rank_agreement.agreements
    for number, agreement in enumerate(agreements, start=1):
        suffix = "" if len(agreements) == 1 else f"-{number}"
        yield _rank_agreement(agreement, f"rank-agreement{suffix}")
    gains = data.experimentation.gains
    for number, gain in enumerate(gains, start=1):
        yield _gain(gain, f"experimentation-gain{'' if len(gains) == 1 else f'-{number}'}")
    yield _published(data, "published-success", "Success rate", lambda row: row.success_percent)
    yield _published(
        data, "published-improvement", "Improvement", lambda row: row.improvement_percent
    )


def _grid(leaderboard: Leaderboard, measure: Measure, name: str) -> Grid:
    lines = [
        GridLine(task, tuple(_value(row, task, measure) for row in leaderboard.rows))
        for task in leaderboard.tasks
    ]
    if len(leaderboard.tasks) > 1:
        means = tuple(_mean_over_tasks(row, measure) for row in leaderboard.rows)
        if set(means) != {NOTHING}:
            lines.append(GridLine(OVER_SHOWN, means, is_summary=True))
    return Grid(
        name=name,
        title=f"{measure.caption} ({leaderboard.name})",
        columns=tuple(row.name for row in leaderboard.rows),
        lines=tuple(lines),
        notes=tuple(_notes(leaderboard, lines)),
    )


def _rung_grid(leaderboard: Leaderboard, name: str) -> Grid:
    """How far up the runs of each agent got."""
    rows = leaderboard.rows
    return Grid(
        name=name,
        title=f"Runs by the highest rung that they reach, in percent ({leaderboard.name})",
        columns=tuple(row.name for row in rows),
        lines=tuple(
            GridLine(rung, tuple(percent_text(row.rungs.get(rung)) for row in rows))
            for rung in reversed(RUNGS)
        ),
        notes=(
            "mean over tasks; each rung implies those below it; a column adds up to 100",
            *leaderboard.notes,
        ),
        head="rung",
    )


def _rungs_by_task(leaderboard: Leaderboard, name: str) -> Grid:
    """How far up runs got on each task, all rungs in one cell."""
    lines = [
        GridLine(task, tuple(_rung_percents(row, task) for row in leaderboard.rows))
        for task in leaderboard.tasks
    ]
    return Grid(
        name=name,
        title=f"Runs on each task by the highest rung that they reach ({leaderboard.name})",
        columns=tuple(row.name for row in leaderboard.rows),
        lines=tuple(lines),
        notes=(f"in percent: {', '.join(reversed(RUNGS))}", *leaderboard.notes),
    )


def _rung_percents(row: AgentStatistics, task: str) -> str:
    texts = [
        "/".join(percent_text(cell.rungs[rung], 0) for rung in reversed(RUNGS))
        for cell in row.cells
        if cell.key.task == task and cell.rungs
    ]
    return "; ".join(texts) or NOTHING


def _mini_and_hard(agents: Sequence[MiniAndHard], name: str) -> Grid:
    """What agents reach in both tiers, a column for each agent and tier."""
    tiers = [found for one in agents for found in one.tiers]
    return Grid(
        name=name,
        title="Mini and hard, over the tasks with counted runs in both tiers",
        columns=_tier_columns(agents),
        lines=(
            GridLine("success in %", tuple(_percent(one.success) for one in tiers)),
            GridLine("normalised", tuple(_normalised(one.normalised) for one in tiers)),
            GridLine("way to ceiling in %", tuple(_percent(one.ceiling_share) for one in tiers)),
            GridLine("tasks", tuple(str(one.success.tasks) for one in tiers)),
            GridLine("counted runs", tuple(f"{one.counted}/{one.runs}" for one in tiers)),
        ),
        notes=(
            "mean over tasks; [95 % interval]: the variation over other runs on these tasks",
            *notes_of(agents),
        ),
        head="measure",
    )


def _mini_and_hard_rungs(agents: Sequence[MiniAndHard], name: str) -> Grid:
    """How far up runs got in both tiers."""
    tiers = [found for one in agents for found in one.tiers]
    return Grid(
        name=name,
        title="Runs in mini and hard by the highest rung that they reach, in percent",
        columns=_tier_columns(agents),
        lines=tuple(
            GridLine(rung, tuple(percent_text(one.rungs.get(rung)) for one in tiers))
            for rung in reversed(RUNGS)
        ),
        notes=(
            "mean over tasks; each rung implies those below it; a column adds up to 100",
            *notes_of(agents),
        ),
        head="rung",
    )


def _tier_columns(agents: Sequence[MiniAndHard]) -> tuple[str, ...]:
    return tuple(f"{one.name}, {found.tier}" for one in agents for found in one.tiers)


def _percent(mean: SuiteMean) -> str:
    return f"{percent_text(mean.mean)} {percent_interval_text(mean.on_these_tasks)}".rstrip()


def _normalised(mean: SuiteMean) -> str:
    return f"{normalised_text(mean.mean)} {interval_text(mean.on_these_tasks)}".rstrip()


def _rank_agreement(found: RankAgreement, name: str) -> Grid:
    """Whether hard and full rank agents alike, task by task."""
    lines = [
        GridLine(task.task, (fixed(task.tau, 2), str(len(task.agents)))) for task in found.tasks
    ]
    if len(lines) > 1:
        mean = (fixed(found.tau, 2), str(found.agents))
        label = f"mean over {counted(found.tasks_with_tau, 'task')}"
        lines.append(GridLine(label, mean, is_summary=True))
    return Grid(
        name=name,
        title=f"Rank agreement of hard and full: {found.hard}; {found.full}",
        columns=("tau-b", "agents"),
        lines=tuple(lines),
        notes=(
            "Kendall's tau-b of the agents' mean normalised scores, without reference agents",
            *(f"{task.task}: {task.note}" for task in found.tasks if task.note),
            found.caution,
        ),
    )


def _gain(gain: ExperimentationGain, name: str) -> Grid:
    """What executing is worth to one agent, task by task."""

    def line(label: str, found: GainStatistics, *, is_summary: bool = False) -> GridLine:
        values = (
            normalised_text(found.with_execution),
            normalised_text(found.without_execution),
            f"{signed(found.gain, 2)} {interval_text(found.interval)}".rstrip(),
            f"{found.successes_with}, {found.successes_without}",
            str(found.pairs),
        )
        return GridLine(label, values, is_summary)

    lines = [line(one.task, one) for one in gain.tasks]
    if len(lines) > 1:
        lines.append(line(OVER_SHOWN, gain, is_summary=True))
    return Grid(
        name=name,
        title=f"Experimentation gain of {gain.name} ({gain.data})",
        columns=("with execution", "without", "gain", "successes", "pairs"),
        lines=tuple(lines),
        notes=(
            "normalised score with executions minus without, mean of the paired differences; "
            "[95 % interval] clustered by draw",
            "successes: with and without executions, each of as many runs as there are pairs",
            *([gain.note] if gain.note else []),
        ),
    )


def _value(row: AgentStatistics, task: str, measure: Measure) -> str:
    texts = []
    for cell in row.cells:
        if cell.key.task == task:
            found = measure.of_cell(cell)
            value = found.rate if isinstance(found, Rate) else found.mean
            text = measure.with_interval(value, found.interval)
            texts.append(f"{text}{GREYED if cell.greyed else ''}")
    return "; ".join(texts) or NOTHING


def _mean_over_tasks(row: AgentStatistics, measure: Measure) -> str:
    suite = measure.over_tasks(row)
    return measure.with_interval(suite.mean, suite.on_these_tasks)


def _notes(leaderboard: Leaderboard, lines: Sequence[GridLine]) -> Iterator[str]:
    yield (
        "[95 % interval]: Wilson for a rate, t for a mean of five or more runs; for the mean over "
        "tasks, the variation over other runs on these tasks"
    )
    if any(GREYED in value for line in lines for value in line.values):
        yield f"{GREYED} more than a tenth of the runs are missing"
    yield from leaderboard.notes


def _published(
    data: ReportData, name: str, title: str, percent: Callable[[PublishedRow], float]
) -> Grid:
    """All tasks of the paper, the mean over those that the report has, and the paper's mean."""
    tasks = list(dict.fromkeys(row.task for row in data.published))
    columns = published_columns(data.published, tasks)
    shown = {task for leaderboard in data.leaderboards for task in leaderboard.tasks}
    ours = published_columns(data.published, shown)

    def line(label: str, rows: Sequence[PublishedRow], *, is_summary: bool = False) -> GridLine:
        return GridLine(label, tuple(fixed(percent(row), 1) for row in rows), is_summary)

    lines = [line(task, [one.by_task[task] for one in columns]) for task in tasks]
    if ours:
        label = f"mean over {counted(len(ours[0].by_task), 'task')} of this report"
        lines.append(line(label, [one.over_shown for one in ours], is_summary=True))
    lines.append(line(PAPERS_OWN, [one.papers_own for one in columns], is_summary=True))
    return Grid(
        name=name,
        title=f"{title} in percent, as published",
        columns=tuple(one.model for one in columns),
        lines=tuple(lines),
        notes=(CAVEAT, f"source: {SOURCE}"),
    )
