"""Leaderboards: agents over many tasks, with two kinds of uncertainty and performance profiles.

Results with different tiers, draws, task versions or data are never on one leaderboard, and neither
are results with and without executions; agents that ran on different draws of one range are, with a
mark. Results that differ in limits, sandbox, feedback or protocol have separate rows, with a mark.
"""

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Literal

from mlagentbench.analysis.disclosures import limits_text
from mlagentbench.analysis.findings import VisibleActions, in_all
from mlagentbench.grading.rungs import mean_shares
from mlagentbench.numeric.intervals import (
    Interval,
    Stratum,
    mean_interval_over_tasks,
    rate_interval_over_tasks,
    stratified_mean_interval,
    stratified_rate_interval,
    stratum_of,
)
from mlagentbench.numeric.number_format import counted, percent_text
from mlagentbench.records import Record, Rung
from mlagentbench.runs.failure_causes import GREYED_ABOVE
from mlagentbench.statistics.cell_marks import NO_EXECUTION, agent_with_model, bare_agent
from mlagentbench.statistics.cells import CellStatistics, Conditions, Mean, Rate
from mlagentbench.statistics.curves import ProfilePoint, performance_profile
from mlagentbench.statistics.drawn_data import CellDraw, draw_names
from mlagentbench.statistics.integrity import CONDITIONS, differences
from mlagentbench.statistics.reference_rows import (
    ALWAYS_SHOWN,
    FROM_MEASURED,
    REFERENCE_AGENTS,
    reference_agent_cells,
)
from mlagentbench.tasks.draws import is_sample, table_text

ROW_CONDITIONS = ("limits", "sandbox", "feedback", "protocol", "fresh draws")
"""The conditions that may differ on one leaderboard, with a mark."""
IMPORTED = "imported from the original's logs: task version, data, limits and sandbox unknown"
APART = "runs of this agent with other data or limits"


RateName = Literal["success", "paper_success", "valid", "flagged", "unflagged_success"]


class SuiteMean(Record):
    """A mean over tasks, each task with the same weight.

    `on_these_tasks` is stratified: how much other runs on the same tasks would vary. `over_tasks`
    treats the tasks as a sample: how much other tasks of this kind would vary; None below two
    tasks.
    """

    tasks: int = 0
    mean: float | None = None
    on_these_tasks: Interval | None = None
    over_tasks: Interval | None = None
    bounds: Interval | None = None
    """If all missing runs had failed or succeeded; None without missing runs."""


class AgentStatistics(Record):
    """One row of a leaderboard: an agent with its model, over all tasks that it ran on."""

    agent: str
    model: str
    cells: tuple[CellStatistics, ...]
    success: SuiteMean
    paper_success: SuiteMean
    paper_improvement: SuiteMean
    normalised: SuiteMean
    ceiling_share: SuiteMean
    """Of the way from floor to ceiling, over the tasks that have one."""
    rungs: dict[Rung, float]
    """The share of runs on each rung, as the mean over tasks; they add up to 1."""
    valid: SuiteMean
    flagged: SuiteMean
    """Runs that attempted to reach answers or to change a measurement, as for cells."""
    unflagged_success: SuiteMean
    """Success with flagged runs as failures."""
    visible: VisibleActions
    """The actions that the detectors could read."""
    profile: tuple[ProfilePoint, ...]
    """Empty if single runs are unknown, as for rows from measurements."""
    runs: int
    counted: int = 0
    missing: int
    greyed: bool
    tokens: int | None
    """Of all counted runs together, like the next three; unknown for runs imported from the
    original's logs."""
    cost: float | None
    working_seconds: float
    successes: int
    tokens_per_success: float | None
    cost_per_success: float | None
    marks: tuple[str, ...]
    is_reference_agent: bool
    """Whether it is nop, baseline or oracle."""

    @property
    def name(self) -> str:
        """The agent with its model, in one line."""
        return agent_with_model(self.agent, self.model)

    @property
    def was_run(self) -> bool:
        """Whether any of its statistics come from runs, and not all were measured beforehand."""
        return not all(cell.from_measured for cell in self.cells)


class Leaderboard(Record):
    """Rows that may be compared: they ran the same tasks under the same conditions."""

    name: str
    """What all rows share, such as "mini, draws 100..107, 50 steps"."""
    conditions: tuple[Conditions, ...]
    """One per task."""
    tasks: tuple[str, ...]
    rows: tuple[AgentStatistics, ...]
    marks: tuple[str, ...]
    """Differences between rows that a reader must see."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What every table of these rows says below them: the rows' marks, then its own."""
        rows: dict[str, list[str]] = defaultdict(list)
        for row in self.rows:
            for mark in row.marks:
                rows[mark].append(row.name)
        every = len(self.rows) > 1
        return (
            *(
                f"{'all' if every and len(names) == len(self.rows) else ', '.join(names)}: {mark}"
                for mark, names in rows.items()
            ),
            *self.marks,
        )


def leaderboards(cells: Sequence[CellStatistics]) -> list[Leaderboard]:
    """One leaderboard for each set of cells that may be compared; every cell is on exactly one."""
    groups: dict[str, list[CellStatistics]] = defaultdict(list)
    for cell in cells:
        groups[_kind(cell.key.conditions)].append(cell)
    return [
        _leaderboard(kind, place, members)
        for kind, group in sorted(groups.items())
        for place, members in enumerate(_by_edition(group))
    ]


def _kind(conditions: Conditions) -> str:
    words: list[str] = [conditions.tier]
    if conditions.profile is not None:
        words.append(f"{conditions.profile} profile")
    if conditions.draw_policy is not None:
        words.append(table_text(conditions.draw_policy))
    if conditions.variant != "original":
        words.append(conditions.variant)
    if not conditions.execution:
        words.append(NO_EXECUTION)
    return ", ".join(words)


def _is_imported(cell: CellStatistics) -> bool:
    return cell.key.conditions.task_version == 0


def _by_edition(cells: Sequence[CellStatistics]) -> list[list[CellStatistics]]:
    """Cells grouped by version and data of their tasks, newest first, then the most used.

    The data of runs imported from the original's logs are unknown: they join the first group, with
    a mark.
    """
    runs: Counter[tuple[str, int, str]] = Counter()
    for cell in cells:
        runs[_edition(cell)] += cell.runs
    order: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
    for edition in sorted(runs, key=lambda one: (-one[1], -runs[one], one[2])):
        if edition[1] != 0 or all(other[0] != edition[0] or not other[1] for other in runs):
            order[edition[0]].append(edition)
    found: dict[int, list[CellStatistics]] = defaultdict(list)
    for cell in cells:
        editions = order[cell.key.task]
        place = editions.index(_edition(cell)) if _edition(cell) in editions else 0
        found[place].append(cell)
    return [found[place] for place in sorted(found)]


def _edition(cell: CellStatistics) -> tuple[str, int, str]:
    conditions = cell.key.conditions
    return cell.key.task, conditions.task_version, conditions.data


def _leaderboard(kind: str, place: int, cells: Sequence[CellStatistics]) -> Leaderboard:
    common = {task: _common(group) for task, group in _by_task(cells).items()}
    with_reference_agents, unknown = _with_reference_agents(cells, common)
    rows = [_row(members, len(common)) for members in _by_row(with_reference_agents, common)]
    limits = {limits_text(conditions.limits) for conditions in common.values()}
    name = kind if len(limits) > 1 else f"{kind}, {limits.pop()}"
    return Leaderboard(
        name=name if place == 0 else f"{name}; other versions or data ({place})",
        conditions=tuple(common.values()),
        tasks=tuple(common),
        rows=tuple(sorted(rows, key=_row_sort_key)),
        marks=(*_difference_marks(cells), *unknown),
    )


def _by_task(cells: Sequence[CellStatistics]) -> dict[str, list[CellStatistics]]:
    groups: dict[str, list[CellStatistics]] = defaultdict(list)
    for cell in sorted(cells, key=lambda one: one.key.task):
        groups[cell.key.task].append(cell)
    return groups


def _common(cells: Sequence[CellStatistics]) -> Conditions:
    """The conditions of most runs of a task; reference agents count only if there are no others."""
    ours = [cell for cell in cells if not _is_imported(cell)] or list(cells)
    agents = [cell for cell in ours if not _is_reference_agent(cell)] or ours
    runs: Counter[str] = Counter()
    for cell in agents:
        runs[cell.key.conditions.model_dump_json()] += cell.runs
    return Conditions.model_validate_json(runs.most_common(1)[0][0])


def _is_reference_agent(cell: CellStatistics) -> bool:
    return bare_agent(cell.key.agent) in REFERENCE_AGENTS


def _with_reference_agents(
    cells: Sequence[CellStatistics], common: dict[str, Conditions]
) -> tuple[list[CellStatistics], list[str]]:
    """The cells, with nop and the baseline on every task, and what these do not know."""
    found = list(cells)
    notes: dict[str, list[str]] = defaultdict(list)
    for task, group in _by_task(cells).items():
        ran = {cell.key.agent for cell in group}
        wanted = [agent for agent in ALWAYS_SHOWN if agent not in ran]
        if not wanted:
            continue
        beside = next(cell for cell in group if cell.key.conditions == common[task])
        measured = reference_agent_cells(beside, _all_draws(group, common[task]))
        found += [
            cell
            for cell in (measured.nop, measured.baseline)
            if cell is not None and cell.key.agent in wanted
        ]
        if measured.unknown is not None:
            notes[f"no scores of {' and '.join(wanted)}: {measured.unknown}"].append(task)
        if measured.without is not None:
            notes[f"{' and '.join(wanted)} {measured.without}"].append(task)
    return found, _with_tasks(notes, set(common))


def _all_draws(cells: Sequence[CellStatistics], common: Conditions) -> list[CellDraw]:
    """The draws of all agents that ran under the usual conditions, each once."""
    cells = [cell for cell in cells if cell.key.conditions == common]
    found: dict[str, CellDraw] = {}
    for one in (draw for cell in cells for draw in cell.draws):
        if one.cluster not in found or one.counted > found[one.cluster].counted:
            found[one.cluster] = one
    return list(found.values())


def _deviations(cell: CellStatistics, common: dict[str, Conditions]) -> tuple[str, ...]:
    """Descriptions of how a cell differs from most others on its task."""
    own, usual = cell.key.conditions, common[cell.key.task]
    if _is_imported(cell):
        return (IMPORTED,)
    texts = {name: CONDITIONS[name] for name in ROW_CONDITIONS}
    return tuple(f"{name}: {text(own)}" for name, text in texts.items() if text(own) != text(usual))


class _RowCells(Record):
    """The cells of one row, at most one per task, and how they differ from most others."""

    cells: tuple[CellStatistics, ...]
    deviations: tuple[str, ...]


def _by_row(cells: Sequence[CellStatistics], common: dict[str, Conditions]) -> list[_RowCells]:
    """Cells by agent and conditions; if a task has several, those with fewer runs get another row.

    This happens for imported runs, whose data differ only within a task.
    """
    rows: dict[str, list[CellStatistics]] = defaultdict(list)
    deviations: dict[str, tuple[str, ...]] = {}
    places: Counter[str] = Counter()
    for cell in sorted(cells, key=lambda one: -one.runs):
        differs = _deviations(cell, common)
        same = [cell.key.agent, cell.key.model, cell.key.roles, differs]
        place = places[json.dumps([cell.key.task, *same])]
        places[json.dumps([cell.key.task, *same])] += 1
        row = json.dumps([place, *same])
        rows[row].append(cell)
        deviations[row] = differs if place == 0 else (*differs, f"{APART} ({place + 1})")
    return [
        _RowCells(
            cells=tuple(sorted(members, key=lambda one: one.key.task)), deviations=deviations[row]
        )
        for row, members in rows.items()
    ]


def _row(row: _RowCells, tasks: int) -> AgentStatistics:
    cells = row.cells
    key = cells[0].key
    runs, missing = sum(cell.runs for cell in cells), sum(cell.missing for cell in cells)
    successes = sum(cell.success.successes for cell in cells if not cell.from_measured)
    tokens = None if _is_imported(cells[0]) else round(_sum([c.total_tokens for c in cells]) or 0)
    cost = _sum([cell.total_cost for cell in cells if cell.counted])
    return AgentStatistics(
        agent=key.agent,
        model=key.model,
        cells=cells,
        success=suite_rate(cells, "success"),
        paper_success=suite_rate(cells, "paper_success"),
        paper_improvement=suite_mean([cell.paper_improvement for cell in cells]),
        normalised=suite_mean([cell.normalised for cell in cells]),
        ceiling_share=suite_mean([cell.ceiling_share for cell in cells]),
        rungs=suite_rungs(cells),
        valid=suite_rate(cells, "valid"),
        flagged=suite_rate(cells, "flagged"),
        unflagged_success=suite_rate(cells, "unflagged_success"),
        visible=in_all(cell.visible for cell in cells),
        profile=_profile(cells),
        runs=runs,
        counted=sum(cell.counted for cell in cells),
        missing=missing,
        greyed=runs > 0 and missing / runs > GREYED_ABOVE,
        tokens=tokens,
        cost=cost,
        working_seconds=_sum([cell.total_seconds for cell in cells]) or 0.0,
        successes=successes,
        tokens_per_success=None if tokens is None or not successes else tokens / successes,
        cost_per_success=None if cost is None or not successes else cost / successes,
        marks=_row_marks(cells, row.deviations, tasks),
        is_reference_agent=_is_reference_agent(cells[0]),
    )


def suite_rungs(cells: Sequence[CellStatistics]) -> dict[Rung, float]:
    """Over the tasks whose success is known, or else over all."""
    known = [cell.rungs for cell in cells if cell.success.rate is not None]
    return mean_shares(known or [cell.rungs for cell in cells])


def _sum(totals: Sequence[float | None]) -> float | None:
    """None if one of them is unknown, or there are none."""
    known = [one for one in totals if one is not None]
    return sum(known) if known and len(known) == len(totals) else None


def suite_rate(cells: Sequence[CellStatistics], name: RateName) -> SuiteMean:
    """The mean of a rate that cells and their clusters have under one name."""
    known = [cell for cell in cells if getattr(cell, name).rate is not None]
    rates = [getattr(cell, name).rate for cell in known]
    if not rates:
        return SuiteMean()
    shares = [[getattr(cluster, name) for cluster in cell.clusters] for cell in known]
    values = [[share for share in of_cell if share is not None] for of_cell in shares]
    sampled = all(values)
    return SuiteMean(
        tasks=len(rates),
        mean=statistics.fmean(rates),
        on_these_tasks=stratified_rate_interval([*map(stratum_of, values)]) if sampled else None,
        over_tasks=rate_interval_over_tasks(rates),
        bounds=_suite_bounds([getattr(cell, name) for cell in cells]),
    )


def _suite_bounds(rates: Sequence[Rate]) -> Interval | None:
    if all(rate.bounds is None for rate in rates):
        return None
    known = [
        rate.bounds or Interval(low=rate.rate or 0.0, high=rate.rate or 0.0)
        for rate in rates
        if rate.rate is not None or rate.bounds is not None
    ]
    return Interval(
        low=statistics.fmean(one.low for one in known),
        high=statistics.fmean(one.high for one in known),
    )


def suite_mean(means: Sequence[Mean]) -> SuiteMean:
    """The mean over tasks of their means."""
    values = [one.mean for one in means if one.mean is not None]
    if not values:
        return SuiteMean()
    strata = [_stratum(one, one.mean) for one in means if one.mean is not None]
    sampled = all(stratum.n > 0 for stratum in strata)
    return SuiteMean(
        tasks=len(values),
        mean=statistics.fmean(values),
        on_these_tasks=stratified_mean_interval(strata) if sampled else None,
        over_tasks=mean_interval_over_tasks(values),
    )


def _stratum(mean: Mean, value: float) -> Stratum:
    error = mean.standard_error
    return Stratum(n=mean.n, mean=value, variance=None if error is None else error**2 * mean.n)


def _profile(cells: Sequence[CellStatistics]) -> tuple[ProfilePoint, ...]:
    points = [cell.normalised.points for cell in cells if cell.normalised.mean is not None]
    return performance_profile(points) if points and all(points) else ()


def _row_marks(
    cells: Sequence[CellStatistics], deviations: Sequence[str], tasks: int
) -> tuple[str, ...]:
    """Marks of the whole row, and the tasks on which it has no counted runs."""
    ran = [cell for cell in cells if not cell.from_measured]
    everywhere = [
        mark for mark in (ran[0].marks if ran else ()) if all(mark in cell.marks for cell in ran)
    ]
    marks = [*deviations, *everywhere]
    measured = [cell for cell in cells if cell.from_measured]
    if measured:
        tasks_measured = ", ".join(cell.key.task for cell in measured)
        marks.append(FROM_MEASURED if not ran else f"{FROM_MEASURED}: {tasks_measured}")
    marks += _flagged_marks(ran)
    if len(cells) < tasks:
        marks.append(f"on {len(cells)} of {tasks} tasks only")
    for said, group in (("no run with a known success", ran), ("success not measured", measured)):
        unknown = [cell.key.task for cell in group if cell.success.rate is None]
        if unknown:
            marks.append(f"{said}: {', '.join(unknown)}")
    return tuple(dict.fromkeys(marks))


def _flagged_marks(cells: Sequence[CellStatistics]) -> list[str]:
    """Attempts to reach answers, and how much of the runs detectors could not read."""
    marks = []
    flagged, n = (sum(getattr(cell.flagged, name) for cell in cells) for name in ("successes", "n"))
    if flagged:
        rate = suite_rate(cells, "unflagged_success").mean
        success = f"{percent_text(rate, 0)} %"
        as_failures = "" if rate is None else f"; success {success} if they count as failures"
        marks.append(
            f"flagged for attempts to reach answers: {flagged} of {counted(n, 'run')}{as_failures}"
        )
    visible = in_all(cell.visible for cell in cells)
    if visible.seen < visible.total:
        of_all = counted(visible.total, "action")
        marks.append(f"detectors could read {visible.seen:,} of {of_all}")
    return marks


def _row_sort_key(row: AgentStatistics) -> tuple[bool, float, str, str]:
    return row.is_reference_agent, -(row.success.mean or 0.0), row.agent, row.model


def _difference_marks(cells: Sequence[CellStatistics]) -> list[str]:
    """How rows differ; the same difference on many tasks is reported once."""
    found = differences([cell.key for cell in cells])
    tasks: dict[str, list[str]] = defaultdict(list)
    for one in found:
        tasks[one.model_copy(update={"task": ""}).text].append(one.task)
    for task, group in _by_task(cells).items():
        if (text := _other_draws(group)) is not None:
            tasks[text].append(task)
    return _with_tasks(tasks, {cell.key.task for cell in cells})


def _other_draws(cells: Sequence[CellStatistics]) -> str | None:
    """How the draws of agents differ on one task; None if all have the same."""
    agents: dict[str, list[str]] = defaultdict(list)
    for cell in cells:
        policy = cell.key.conditions.draw_policy
        if policy is not None and is_sample(policy) and not cell.from_measured:
            name = agent_with_model(cell.key.agent, cell.key.model)
            agents[draw_names(cell.draws)].append(name)
    if len(agents) < 2:
        return None
    values = "; ".join(f"{draws} ({', '.join(names)})" for draws, names in agents.items())
    return f"different draws, of which comparisons use the common ones: {values}"


def _with_tasks(marks: dict[str, list[str]], everywhere: set[str]) -> list[str]:
    """Each mark with the tasks that it is about, unless it is about all of them."""
    return [
        text if set(where) == everywhere else f"{', '.join(where)}: {text}"
        for text, where in marks.items()
    ]
