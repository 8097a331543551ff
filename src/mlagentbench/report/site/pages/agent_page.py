"""The page of one agent with its model: what it is, its results by task, its runs and findings."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mlagentbench.report.report_data import CollectedRun, ReportData
from mlagentbench.report.site.pages.overview_page import leaderboard_key
from mlagentbench.report.site.pages.process_page import Examples, examples_by_kind
from mlagentbench.report.site.pages.runs_page import RunValues, run_values
from mlagentbench.report.site.pages.task_page import TaskCell, runs_by_path, task_cell
from mlagentbench.report.site.rung_chart import RungPicture, RungRow, rung_picture
from mlagentbench.report.site.series import agent_of_summary
from mlagentbench.statistics.cell_marks import setting_text
from mlagentbench.statistics.integrity import TableDisclosure, table_disclosure
from mlagentbench.statistics.leaderboard import AgentStatistics

TEMPLATE = "agent.html"


@dataclass(frozen=True)
class AgentFact:
    """A setting or a model of the agent."""

    label: str
    value: str


@dataclass(frozen=True)
class AgentResults:
    """The agent's row of one leaderboard."""

    key: str
    leaderboard: str
    row: AgentStatistics
    cells: tuple[TaskCell, ...]
    rungs: RungPicture | None
    """By task."""


@dataclass(frozen=True)
class AgentView:
    name: str
    facts: tuple[AgentFact, ...]
    results: tuple[AgentResults, ...]
    runs: tuple[RunValues, ...]
    findings: tuple[Examples, ...]
    disclosure: TableDisclosure


def agent_views(data: ReportData) -> list[AgentView]:
    """A view for each agent, with its model, that has a row on a leaderboard."""
    by_path = runs_by_path(data.collection.runs)
    results: dict[str, list[AgentResults]] = defaultdict(list)
    for number, leaderboard in enumerate(data.leaderboards, start=1):
        for row in leaderboard.rows:
            cells = tuple(task_cell(cell, by_path) for cell in row.cells)
            rungs = rung_picture(
                [RungRow(cell.key.task, cell.rungs) for cell in row.cells],
                "share of this agent's runs on the task",
            )
            found = AgentResults(leaderboard_key(number), leaderboard.name, row, cells, rungs)
            results[row.name].append(found)
    runs: dict[str, list[CollectedRun]] = defaultdict(list)
    for run in data.collection.runs:
        runs[agent_of_summary(run.summary)].append(run)
    return [_view(name, found, runs[name]) for name, found in sorted(results.items())]


def _view(name: str, results: Sequence[AgentResults], runs: Sequence[CollectedRun]) -> AgentView:
    return AgentView(
        name=name,
        facts=tuple(_facts(results[0].row, runs)),
        results=tuple(results),
        runs=tuple(map(run_values, runs)),
        findings=examples_by_kind(runs),
        disclosure=table_disclosure([run.summary for run in runs]),
    )


def _facts(row: AgentStatistics, runs: Sequence[CollectedRun]) -> list[AgentFact]:
    """Its settings and its models; a role has several where runs differ in it."""
    facts = [AgentFact("agent", row.agent.partition("(")[0]), AgentFact("model", row.model)]
    values: dict[str, dict[str, None]] = defaultdict(dict)
    for run in runs:
        disclosed = run.summary.result.record.disclosure
        for key, value in disclosed.agent_settings.items():
            values[key][setting_text(value)] = None
        for role, model in disclosed.roles.items():
            values[f"model of the role {role}"][model] = None
    return facts + [AgentFact(label, ", ".join(found)) for label, found in values.items()]
