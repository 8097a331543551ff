"""The first page: every leaderboard, what its tables disclose, and what could not be read."""

from collections.abc import Sequence
from dataclasses import dataclass

from mlagentbench.analysis.run_summary import RunSummary, UnreadableRun
from mlagentbench.report.detector_accuracy import DetectorAccuracy, detector_accuracies
from mlagentbench.report.published import CAVEAT, SOURCE
from mlagentbench.report.report_data import CopiedRun, ReportData, UnreadableLog
from mlagentbench.report.site.pages.heatmap import HeatTable, heat_tables
from mlagentbench.statistics.integrity import TableDisclosure, table_disclosure
from mlagentbench.statistics.leaderboard import AgentStatistics, Leaderboard

TEMPLATE = "overview.html"


@dataclass(frozen=True)
class LeaderboardView:
    """One leaderboard: who stands where, then task by task."""

    key: str
    leaderboard: Leaderboard
    rows: tuple[AgentStatistics, ...]
    """The agents, best first, then the rows to measure them by."""
    tables: tuple[HeatTable, ...]
    disclosure: TableDisclosure
    has_missing: bool


@dataclass(frozen=True)
class OverviewView:
    runs: int
    tasks: int
    agents: int
    integrity: int
    leaderboards: tuple[LeaderboardView, ...]
    unreadable: tuple[UnreadableRun, ...]
    copies: tuple[CopiedRun, ...]
    replays: tuple[CopiedRun, ...]
    unreadable_logs: tuple[UnreadableLog, ...]
    source: str
    caveat: str
    detectors: tuple[DetectorAccuracy, ...]
    """How often the findings are right, where that was measured."""


def overview_view(data: ReportData) -> OverviewView:
    runs = data.collection.runs
    summaries = data.collection.summaries
    by_path = _by_path(summaries)
    return OverviewView(
        runs=len(runs),
        tasks=len({cell.key.task for cell in data.cells}),
        agents=len({(cell.key.agent, cell.key.model) for cell in data.cells}),
        integrity=sum(_is_doubted(summary) for summary in summaries),
        leaderboards=tuple(
            _leaderboard_view(number, leaderboard, data, by_path)
            for number, leaderboard in enumerate(data.leaderboards, start=1)
        ),
        unreadable=data.collection.unreadable,
        copies=data.collection.copies,
        replays=data.collection.replays,
        unreadable_logs=data.collection.unreadable_logs,
        source=SOURCE,
        caveat=CAVEAT,
        detectors=detector_accuracies(),
    )


def in_order(rows: Sequence[AgentStatistics]) -> tuple[AgentStatistics, ...]:
    """Agents by their success, best first, then the rows to measure them by."""
    return tuple(
        sorted(
            rows, key=lambda row: (row.is_reference_agent, -(row.success.mean or 0.0), row.agent)
        )
    )


def leaderboard_key(number: int) -> str:
    return f"board-{number}"


def _leaderboard_view(
    number: int, leaderboard: Leaderboard, data: ReportData, by_path: dict[str, list[RunSummary]]
) -> LeaderboardView:
    ordered = leaderboard.model_copy(update={"rows": in_order(leaderboard.rows)})
    paths = [path for row in leaderboard.rows for cell in row.cells for path in cell.paths]
    summaries = [summary for path in dict.fromkeys(paths) for summary in by_path.get(path, [])]
    return LeaderboardView(
        key=leaderboard_key(number),
        leaderboard=leaderboard,
        rows=ordered.rows,
        tables=tuple(heat_tables(ordered, data.published)),
        disclosure=table_disclosure(summaries),
        has_missing=any(row.missing for row in leaderboard.rows),
    )


def _by_path(summaries: Sequence[RunSummary]) -> dict[str, list[RunSummary]]:
    found: dict[str, list[RunSummary]] = {}
    for summary in summaries:
        found.setdefault(summary.result.path, []).append(summary)
    return found


def _is_doubted(summary: RunSummary) -> bool:
    return any(finding.is_integrity for finding in summary.process.findings)
