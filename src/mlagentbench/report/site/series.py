"""The numbers behind the plots: the site draws them as SVG, `--plots` with matplotlib."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from mlagentbench.analysis.findings import ErrorMode
from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.numeric.intervals import Interval
from mlagentbench.statistics.cell_marks import agent_of, agent_with_model
from mlagentbench.statistics.curves import Axis, ProfilePoint, ScoreCurve, mean_curve, run_curve
from mlagentbench.statistics.leaderboard import Leaderboard

CURVE_TITLES: dict[Axis, str] = {
    "steps": "steps",
    "seconds": "the run's own clock",
    "tokens": "tokens",
    "dollars": "dollars",
}
"""The x axes of score curves, with their titles."""
PROFILE_WINDOW = (-0.5, 1.5)
"""The normalised scores that performance profiles are drawn for."""
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


@dataclass(frozen=True)
class ModeCounts:
    """The error modes of an agent's unsuccessful runs."""

    name: str
    unsuccessful: int
    runs: int
    first: tuple[tuple[ErrorMode, int], ...]
    """Runs by their first error mode; each run counts once."""
    held: tuple[tuple[ErrorMode, int], ...]
    """Runs by all of their error modes; a run can count several times."""


def agent_of_summary(summary: RunSummary) -> str:
    """The agent with its model, as in the rows of leaderboards."""
    record = summary.result.record
    return agent_with_model(agent_of(record), record.disclosure.model)


def by_agent(summaries: Iterable[RunSummary]) -> dict[str, list[RunSummary]]:
    """The runs of each agent with its model, sorted by name."""
    groups: dict[str, list[RunSummary]] = defaultdict(list)
    for summary in summaries:
        groups[agent_of_summary(summary)].append(summary)
    return dict(sorted(groups.items()))


def trade_offs(leaderboard: Leaderboard) -> list[TradeOff]:
    """Tokens a run against the mean success rate; agents without a model are at 0."""
    return [
        TradeOff(row.name, row.tokens / row.counted, row.success.mean, row.success.on_these_tasks)
        for row in leaderboard.rows
        if row.success.mean is not None and row.counted and row.tokens is not None
    ]


def profiles(leaderboard: Leaderboard) -> list[Curve]:
    """For each row, the share of runs that reach each normalised score of the window."""
    return [
        Curve(row.name, tuple(_falling(row.profile))) for row in leaderboard.rows if row.profile
    ]


def _falling(profile: Sequence[ProfilePoint]) -> Iterator[Point]:
    """The profile as a line that holds each value until its next point.

    A profile's share holds up to its point and falls right behind it. Scores outside of the window
    only change where the line begins and ends.
    """
    low, high = PROFILE_WINDOW
    shares = [point.share for point in profile if point.at_least >= low] + [0.0]
    inside = [point.at_least for point in profile if point.at_least >= low]
    yield Point(low, shares[0])
    for level, share in zip(inside, shares[1:], strict=True):
        if level < high:
            yield Point(level, share)
    yield Point(high, next((one.share for one in profile if one.at_least >= high), 0.0))


def score_curve(summary: RunSummary, axis: Axis) -> Curve | None:
    """The normalised score after each graded step, against what had been used by then."""
    found = run_curve(summary, axis)
    return None if found is None else _curve(agent_of_summary(summary), found)


def mean_score_curves(
    summaries: Iterable[RunSummary],
    axis: Axis,
    of_run: Callable[[ScoreCurve], ScoreCurve] = lambda curve: curve,
) -> list[Curve]:
    """For each agent, the mean over its runs whose steps were graded, `of_run` applied first."""
    means = []
    for agent, runs in by_agent(summaries).items():
        curves = [of_run(found) for run in runs if (found := run_curve(run, axis)) is not None]
        if curves:
            name = f"{agent}, mean of {len(curves)}" if len(curves) > 1 else agent
            means.append(_curve(name, mean_curve(curves)))
    return means


def _curve(name: str, found: ScoreCurve) -> Curve:
    return Curve(name, tuple(Point(point.used, point.normalised) for point in found.points))


def mode_counts(summaries: Iterable[RunSummary]) -> list[ModeCounts]:
    """The error modes of each agent's unsuccessful runs."""
    return [_mode_counts(name, runs) for name, runs in by_agent(summaries).items()]


def _mode_counts(name: str, summaries: Sequence[RunSummary]) -> ModeCounts:
    failed = [one.process for one in summaries if one.process.error_modes]
    first = Counter(process.first_cause for process in failed)
    held = Counter(mode for process in failed for mode in {one.mode for one in process.error_modes})
    return ModeCounts(
        name=name,
        unsuccessful=len(failed),
        runs=len(summaries),
        first=tuple((mode, first[mode]) for mode in ERROR_MODES),
        held=tuple((mode, held[mode]) for mode in ERROR_MODES),
    )
