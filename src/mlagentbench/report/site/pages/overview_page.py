"""The first page: every board with its tables, what they disclose, and what could not be read."""

from collections.abc import Sequence
from dataclasses import dataclass

from mlagentbench.analysis.run_summary import RunSummary, UnreadableRun
from mlagentbench.report.detector_accuracy import DetectorFigure, detector_figures
from mlagentbench.report.published import CAVEAT, SOURCE
from mlagentbench.report.report_data import CopiedRun, ReportData, UnreadableLog
from mlagentbench.report.site.pages.heatmap import HeatTable, heat_tables
from mlagentbench.statistics.integrity import TableDisclosure, table_disclosure
from mlagentbench.statistics.leaderboard import AgentFigures, Board

TEMPLATE = "overview.html"


@dataclass(frozen=True)
class BoardView:
    """One board: who stands where, then task by task."""

    key: str
    board: Board
    rows: tuple[AgentFigures, ...]
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
    boards: tuple[BoardView, ...]
    unreadable: tuple[UnreadableRun, ...]
    copies: tuple[CopiedRun, ...]
    replays: tuple[CopiedRun, ...]
    unreadable_logs: tuple[UnreadableLog, ...]
    source: str
    caveat: str
    detectors: tuple[DetectorFigure, ...]
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
        boards=tuple(
            _board_view(number, board, data, by_path)
            for number, board in enumerate(data.boards, start=1)
        ),
        unreadable=data.collection.unreadable,
        copies=data.collection.copies,
        replays=data.collection.replays,
        unreadable_logs=data.collection.unreadable_logs,
        source=SOURCE,
        caveat=CAVEAT,
        detectors=detector_figures(),
    )


def in_order(rows: Sequence[AgentFigures]) -> tuple[AgentFigures, ...]:
    """Agents by their success, best first, then the rows to measure them by."""
    return tuple(
        sorted(rows, key=lambda row: (row.is_ruler, -(row.success.mean or 0.0), row.agent))
    )


def board_key(number: int) -> str:
    return f"board-{number}"


def _board_view(
    number: int, board: Board, data: ReportData, by_path: dict[str, list[RunSummary]]
) -> BoardView:
    ordered = board.model_copy(update={"rows": in_order(board.rows)})
    paths = [path for row in board.rows for cell in row.cells for path in cell.paths]
    summaries = [summary for path in dict.fromkeys(paths) for summary in by_path.get(path, [])]
    return BoardView(
        key=board_key(number),
        board=board,
        rows=ordered.rows,
        tables=tuple(heat_tables(ordered, data.published)),
        disclosure=table_disclosure(summaries),
        has_missing=any(row.missing for row in board.rows),
    )


def _by_path(summaries: Sequence[RunSummary]) -> dict[str, list[RunSummary]]:
    found: dict[str, list[RunSummary]] = {}
    for summary in summaries:
        found.setdefault(summary.result.path, []).append(summary)
    return found


def _is_doubted(summary: RunSummary) -> bool:
    return any(finding.is_integrity for finding in summary.process.findings)
