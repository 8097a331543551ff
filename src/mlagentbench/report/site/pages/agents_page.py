"""The agents page: differences, performance profiles, pass@k, best-of-k, and best seen."""

from dataclasses import dataclass

from mlagentbench.report.report_data import ReportData
from mlagentbench.report.site.charts import HEIGHT, Drawing, curve_chart, drawing
from mlagentbench.report.site.pages.overview_page import in_order, leaderboard_key
from mlagentbench.report.site.series import profiles
from mlagentbench.statistics.cells import CellStatistics
from mlagentbench.statistics.comparison import Comparison
from mlagentbench.statistics.experimentation_gain import GainReport
from mlagentbench.statistics.leaderboard import AgentStatistics, Leaderboard
from mlagentbench.statistics.pass_at_k import BestOf

TEMPLATE = "agents.html"


@dataclass(frozen=True)
class ManyTries:
    """What an agent gains from several attempts at a task."""

    name: str
    task: str
    cell: CellStatistics
    best_of: tuple[BestOf, ...]


@dataclass(frozen=True)
class AgentsLeaderboard:
    key: str
    name: str
    comparisons: tuple[Comparison, ...]
    profile: Drawing | None
    most_tries: tuple[int, ...]
    """Every k for which some agent has a pass@k."""
    pass_rows: tuple[ManyTries, ...]
    best_of_rows: tuple[ManyTries, ...]
    seen_rows: tuple[ManyTries, ...]
    """Agents with graded steps: the best step against the submission."""


@dataclass(frozen=True)
class AgentsView:
    leaderboards: tuple[AgentsLeaderboard, ...]
    experimentation: GainReport


def agents_view(data: ReportData) -> AgentsView:
    pairs = zip(data.leaderboards, data.comparisons, strict=True)
    return AgentsView(
        tuple(
            _leaderboard(number, leaderboard, comparisons)
            for number, (leaderboard, comparisons) in enumerate(pairs, start=1)
        ),
        data.experimentation,
    )


def _leaderboard(
    number: int, leaderboard: Leaderboard, comparisons: tuple[Comparison, ...]
) -> AgentsLeaderboard:
    rows = in_order(leaderboard.rows)
    tries = [_tries(row, cell) for row in rows if not row.is_reference_agent for cell in row.cells]
    with_pass = [one for one in tries if len(one.cell.pass_at) > 1]
    counts = sorted({k for one in with_pass for k in one.cell.pass_at})
    return AgentsLeaderboard(
        key=leaderboard_key(number),
        name=leaderboard.name,
        comparisons=comparisons,
        profile=_profile(leaderboard.model_copy(update={"rows": rows})),
        most_tries=tuple(counts),
        pass_rows=tuple(with_pass),
        best_of_rows=tuple(one for one in tries if one.best_of),
        seen_rows=tuple(one for one in tries if one.cell.best_seen.n),
    )


def _tries(row: AgentStatistics, cell: CellStatistics) -> ManyTries:
    return ManyTries(row.name, cell.key.task, cell, cell.best_of)


def _profile(leaderboard: Leaderboard) -> Drawing | None:
    curves = profiles(leaderboard)
    if not curves:
        return None
    return drawing(
        lambda width: curve_chart(
            "Performance profile: share of runs with at least a normalised score, a line per agent",
            curves,
            "normalised score of at least",
            "share of runs, mean over tasks",
            size=(width, HEIGHT),
        )
    )
