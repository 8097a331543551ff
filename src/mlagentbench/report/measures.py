"""The measures of tables over tasks and agents, for the site and for papers."""

from collections.abc import Callable
from dataclasses import dataclass

from mlagentbench.numeric.intervals import Interval
from mlagentbench.numeric.number_format import (
    NOTHING,
    interval_text,
    normalised_text,
    percent_interval_text,
    percent_text,
)
from mlagentbench.report.published_results import PublishedRow
from mlagentbench.statistics.cells import CellStatistics, Mean, Rate
from mlagentbench.statistics.leaderboard import AgentStatistics, Leaderboard, SuiteMean


@dataclass(frozen=True)
class Measure:
    """How a measure is named and explained, and which statistics it shows."""

    key: str
    title: str
    caption: str
    """The title of a table in a paper."""
    explanation: str
    of_cell: Callable[[CellStatistics], Rate | Mean]
    over_tasks: Callable[[AgentStatistics], SuiteMean]
    published_percent: Callable[[PublishedRow], float] | None = None
    is_percent: bool = True

    def text(self, value: float | None, places: int = 1) -> str:
        return percent_text(value, places) if self.is_percent else normalised_text(value)

    def interval(self, interval: Interval | None, places: int = 1) -> str:
        """[low, high]; nothing where there is none."""
        if self.is_percent:
            return percent_interval_text(interval, places)
        return interval_text(interval)

    def with_interval(self, value: float | None, interval: Interval | None) -> str:
        if value is None:
            return NOTHING
        return f"{self.text(value)} {self.interval(interval)}".rstrip()


MEASURES = (
    Measure(
        key="success",
        title="Success rate",
        caption="Success rate in percent: runs that reach the bar",
        explanation=(
            "Share of runs that reach the bar, with the 95 % Wilson interval and the number of "
            "successes among counted runs."
        ),
        of_cell=lambda cell: cell.success,
        over_tasks=lambda row: row.success,
    ),
    Measure(
        key="normalised",
        title="Normalised score",
        caption="Normalised score: 0 = floor, 1 = reference",
        explanation=(
            "0 is the floor, 1 the reference. Mean over runs with its 95 % t interval; below five "
            "runs, the individual values."
        ),
        of_cell=lambda cell: cell.normalised,
        over_tasks=lambda row: row.normalised,
        is_percent=False,
    ),
    Measure(
        key="ceiling-share",
        title="Share of the way to the ceiling",
        caption="Share of the way to the ceiling in percent: 0 = floor, 100 = ceiling",
        explanation=(
            "0 % is the floor, 100 % the ceiling, the best possible score; in generated tiers, of "
            "tasks with a known ceiling. Mean over runs with its 95 % t interval; below five runs, "
            "the individual values."
        ),
        of_cell=lambda cell: cell.ceiling_share,
        over_tasks=lambda row: row.ceiling_share,
    ),
    Measure(
        key="paper-success",
        title="Success rate by the paper's rule",
        caption=(
            "Success rate in percent by the paper's rule: more than 10 % better than the starter"
        ),
        explanation=(
            "Share of runs more than 10 % better than the starter. Columns in italics are "
            "published numbers from other data and other runs."
        ),
        of_cell=lambda cell: cell.paper_success,
        over_tasks=lambda row: row.paper_success,
        published_percent=lambda row: row.success_percent,
    ),
    Measure(
        key="paper-improvement",
        title="Improvement over the starter, as the paper counts it",
        caption="Improvement over the starter in percent, mean over valid submissions",
        explanation=(
            "Mean over runs with a valid submission. Columns in italics are published numbers from "
            "other data and other runs."
        ),
        of_cell=lambda cell: cell.paper_improvement,
        over_tasks=lambda row: row.paper_improvement,
        published_percent=lambda row: row.improvement_percent,
    ),
)


def measures_of(leaderboard: Leaderboard) -> list[Measure]:
    """The measures of a leaderboard: without ceilings, there is no share of the way to them."""
    has_ceiling = any(row.ceiling_share.mean is not None for row in leaderboard.rows)
    return [one for one in MEASURES if has_ceiling or one.key != "ceiling-share"]
