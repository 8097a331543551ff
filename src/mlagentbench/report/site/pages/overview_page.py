"""The first page: leaderboards with their disclosures, and what could not be read."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mlagentbench.analysis.run_summary import RunSummary, UnreadableRun
from mlagentbench.report.detector_accuracy import DetectorAccuracy, detector_accuracies
from mlagentbench.report.published_results import CAVEAT, SOURCE
from mlagentbench.report.report_data import CopiedRun, ReportData, UnreadableLog
from mlagentbench.report.site.pages.heatmap import HeatTable, heat_tables
from mlagentbench.report.site.rung_chart import RungPicture, RungRow, rung_picture
from mlagentbench.statistics.integrity import TableDisclosure, table_disclosure
from mlagentbench.statistics.leaderboard import AgentStatistics, Leaderboard
from mlagentbench.statistics.tiers.mini_and_hard import MiniAndHard, notes_of
from mlagentbench.statistics.tiers.rank_agreement import AgreementReport

TEMPLATE = "overview.html"


@dataclass(frozen=True)
class LeaderboardView:
    """One leaderboard: agents over all tasks, then task by task."""

    key: str
    leaderboard: Leaderboard
    rows: tuple[AgentStatistics, ...]
    """The agents, best first, then the reference agents."""
    rungs: RungPicture | None
    """How far up the agents' runs got."""
    tables: tuple[HeatTable, ...]
    disclosure: TableDisclosure


@dataclass(frozen=True)
class OverviewView:
    runs: int
    tasks: int
    agents: int
    flagged: int
    leaderboards: tuple[LeaderboardView, ...]
    mini_and_hard: tuple[MiniAndHard, ...]
    tier_notes: tuple[str, ...]
    tier_rungs: RungPicture | None
    """How far up the runs of these agents got, mini above hard."""
    rank_agreement: AgreementReport
    unreadable: tuple[UnreadableRun, ...]
    copies: tuple[CopiedRun, ...]
    replays: tuple[CopiedRun, ...]
    unreadable_logs: tuple[UnreadableLog, ...]
    source: str
    caveat: str
    detectors: tuple[DetectorAccuracy, ...]
    """The measured accuracy of the detectors."""


def overview_view(data: ReportData) -> OverviewView:
    runs = data.collection.runs
    summaries = data.collection.summaries
    by_path = _by_path(summaries)
    return OverviewView(
        runs=len(runs),
        tasks=len({cell.key.task for cell in data.cells}),
        agents=len({(cell.key.agent, cell.key.model) for cell in data.cells}),
        flagged=sum(summary.is_flagged for summary in summaries),
        leaderboards=tuple(
            _leaderboard_view(number, leaderboard, data, by_path)
            for number, leaderboard in enumerate(data.leaderboards, start=1)
        ),
        mini_and_hard=data.mini_and_hard,
        tier_notes=notes_of(data.mini_and_hard),
        tier_rungs=rung_picture(
            [
                RungRow(f"{found.tier}: {one.name}", found.rungs)
                for one in data.mini_and_hard
                for found in one.tiers
            ],
            "share of runs, mean over common tasks",
        ),
        rank_agreement=data.rank_agreement,
        unreadable=data.collection.unreadable,
        copies=data.collection.copies,
        replays=data.collection.replays,
        unreadable_logs=data.collection.unreadable_logs,
        source=SOURCE,
        caveat=CAVEAT,
        detectors=detector_accuracies(),
    )


def in_order(rows: Sequence[AgentStatistics]) -> tuple[AgentStatistics, ...]:
    """Agents by their success, best first, then the reference agents."""
    return tuple(sorted(rows, key=_rank))


def _rank(row: AgentStatistics) -> tuple[bool, float, str]:
    return row.is_reference_agent, -(row.success.mean or 0.0), row.agent


def leaderboard_key(number: int) -> str:
    return f"leaderboard-{number}"


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
        rungs=rung_picture(
            [RungRow(row.name, row.rungs) for row in ordered.rows],
            "share of the agent's runs, mean over tasks",
        ),
        tables=tuple(heat_tables(ordered, data.published)),
        disclosure=table_disclosure(summaries),
    )


def _by_path(summaries: Sequence[RunSummary]) -> dict[str, list[RunSummary]]:
    found: dict[str, list[RunSummary]] = defaultdict(list)
    for summary in summaries:
        found[summary.result.path].append(summary)
    return found
