"""What plots show, as numbers: the site draws them as SVG, and `--plots` for papers."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from mlagentbench.analysis.findings import ErrorMode
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.numeric.intervals import Interval
from mlagentbench.statistics.cell_marks import agent_text, agent_with_model
from mlagentbench.statistics.curves import Axis, ScoreCurve, mean_curve, run_curve
from mlagentbench.statistics.leaderboard import Leaderboard

CURVE_TITLES: dict[Axis, str] = {
    "steps": "steps",
    "seconds": "the run's own clock",
    "tokens": "tokens",
    "dollars": "dollars",
}
"""What a score is drawn against, as a reader calls it."""
ERROR_MODES: tuple[ErrorMode, ...] = get_args(ErrorMode)


@dataclass(frozen=True)
class Point:
    x: float
    y: float


@dataclass(frozen=True)
class Curve:
    """A named line; a step function holds its value until its next point."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class TradeOff:
    """What an agent with its model spends on a run, and how often that is enough."""

    name: str
    tokens: float
    rate: float
    interval: Interval | None
    is_reference_agent: bool


@dataclass(frozen=True)
class ModeCounts:
    """How many unsuccessful runs of an agent show each error mode, and where it came first."""

    name: str
    unsuccessful: int
    runs: int
    first: tuple[tuple[ErrorMode, int], ...]
    """By the first cause in time: each run once."""
    held: tuple[tuple[ErrorMode, int], ...]
    """A run counts for every mode that it shows."""


def who_ran(summary: RunSummary) -> str:
    facts = summary.result.record.disclosure
    return agent_with_model(agent_text(facts.agent, facts.agent_settings), facts.model)


def trade_offs(leaderboard: Leaderboard) -> list[TradeOff]:
    """Tokens a run against the mean success rate; agents that use no tokens stand at 0."""
    found = []
    for row in leaderboard.rows:
        if row.success.mean is not None and row.counted and row.tokens is not None:
            found.append(
                TradeOff(
                    name=row.name,
                    tokens=row.tokens / row.counted,
                    rate=row.success.mean,
                    interval=row.success.on_these_tasks,
                    is_reference_agent=row.is_reference_agent,
                )
            )
    return found


def profiles(leaderboard: Leaderboard) -> list[Curve]:
    """For each row, the share of tasks and runs with at least a normalised score."""
    return [
        Curve(row.name, tuple(Point(at.at_least, at.share) for at in row.profile))
        for row in leaderboard.rows
        if row.profile
    ]


def score_curve(summary: RunSummary, axis: Axis) -> Curve | None:
    """The normalised score of the workspace as it stood, against what had been used by then."""
    found = run_curve(summary, axis)
    return None if found is None else _curve(who_ran(summary), found)


def mean_score_curves(
    summaries: Iterable[RunSummary],
    axis: Axis,
    of_run: Callable[[ScoreCurve], ScoreCurve] = lambda curve: curve,
) -> list[Curve]:
    """For each agent, the mean over its runs whose steps were graded, `of_run` applied first."""
    groups: dict[str, list[ScoreCurve]] = {}
    for summary in summaries:
        found = run_curve(summary, axis)
        if found is not None:
            groups.setdefault(who_ran(summary), []).append(of_run(found))
    return [
        _curve(f"{name}, mean of {len(curves)}" if len(curves) > 1 else name, mean_curve(curves))
        for name, curves in groups.items()
    ]


def _curve(name: str, found: ScoreCurve) -> Curve:
    return Curve(name, tuple(Point(point.used, point.normalised) for point in found.points))


def mode_counts(summaries: Iterable[RunSummary]) -> list[ModeCounts]:
    """The error modes of each agent's unsuccessful runs."""
    groups: dict[str, list[RunSummary]] = {}
    for summary in summaries:
        groups.setdefault(who_ran(summary), []).append(summary)
    return [_mode_counts(name, groups[name]) for name in sorted(groups)]


def _mode_counts(name: str, summaries: Sequence[RunSummary]) -> ModeCounts:
    shown = [one.process for one in summaries if one.process.error_modes]
    first = Counter(process.first_cause for process in shown)
    held = Counter(mode for process in shown for mode in {one.mode for one in process.error_modes})
    return ModeCounts(
        name=name,
        unsuccessful=len(shown),
        runs=len(summaries),
        first=tuple((mode, first[mode]) for mode in ERROR_MODES),
        held=tuple((mode, held[mode]) for mode in ERROR_MODES),
    )
