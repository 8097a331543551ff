"""What counted runs cost: time, steps, tokens and money, and what a success costs."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mlagentbench.analysis.run_summary import RoleUsage, RunSummary
from mlagentbench.report.report_data import ReportData
from mlagentbench.report.site.charts import Drawing, drawing, trade_off_chart
from mlagentbench.report.site.pages.overview_page import in_order, leaderboard_key
from mlagentbench.report.site.series import TradeOff, by_agent, trade_offs
from mlagentbench.runs.failure_causes import cause_of
from mlagentbench.statistics.leaderboard import AgentStatistics

TEMPLATE = "efficiency.html"


@dataclass(frozen=True)
class TimeUse:
    """Means over an agent's counted runs; None if unknown for any run."""

    name: str
    runs: int
    steps: float
    wall: float
    working: float
    model: float | None
    scripts: float | None
    harness: float | None


class RoleTokens(RoleUsage):
    """What the model in a role used in all counted runs of an agent together."""

    name: str


@dataclass(frozen=True)
class EfficiencyLeaderboard:
    key: str
    name: str
    chart: Drawing | None
    rows: tuple[AgentStatistics, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class EfficiencyView:
    leaderboards: tuple[EfficiencyLeaderboard, ...]
    times: tuple[TimeUse, ...]
    roles: tuple[RoleTokens, ...]


def efficiency_view(data: ReportData) -> EfficiencyView:
    summaries = data.collection.summaries
    groups = by_agent(one for one in summaries if cause_of(one.result).verdict == "counts")
    leaderboards = []
    for number, leaderboard in enumerate(data.leaderboards, start=1):
        rows = in_order(leaderboard.rows)
        points = trade_offs(leaderboard.model_copy(update={"rows": rows}))
        leaderboards.append(
            EfficiencyLeaderboard(
                key=leaderboard_key(number),
                name=leaderboard.name,
                chart=_chart(points),
                rows=rows,
                notes=leaderboard.notes,
            )
        )
    return EfficiencyView(
        leaderboards=tuple(leaderboards),
        times=tuple(_time_use(name, runs) for name, runs in groups.items()),
        roles=tuple(one for name, runs in groups.items() for one in _role_tokens(name, runs)),
    )


def _chart(points: Sequence[TradeOff]) -> Drawing | None:
    if not any(one.tokens for one in points):
        return None
    return drawing(partial(trade_off_chart, points))


def _time_use(name: str, summaries: Sequence[RunSummary]) -> TimeUse:
    used = [summary.efficiency for summary in summaries]
    return TimeUse(
        name=name,
        runs=len(used),
        steps=statistics.fmean(one.steps for one in used),
        wall=statistics.fmean(one.wall_seconds for one in used),
        working=statistics.fmean(one.working_seconds for one in used),
        model=_mean_if_known(one.model_seconds for one in used),
        scripts=_mean_if_known(one.script_seconds for one in used),
        harness=_mean_if_known(one.harness_seconds for one in used),
    )


def _mean_if_known(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else statistics.fmean(value or 0.0 for value in known)


def _role_tokens(name: str, summaries: Sequence[RunSummary]) -> list[RoleTokens]:
    by_role: dict[str, list[RoleUsage]] = defaultdict(list)
    for summary in summaries:
        for usage in summary.efficiency.roles:
            by_role[usage.role].append(usage)
    amounts = RoleUsage.model_fields.keys() - {"role"}
    return [
        RoleTokens(
            name=name,
            role=role,
            **{field: _sum_if_known(getattr(one, field) for one in used) for field in amounts},
        )
        for role, used in sorted(by_role.items())
    ]


def _sum_if_known(values: Iterable[float | None]) -> Any:
    known = list(values)
    return None if None in known else sum(value or 0 for value in known)
