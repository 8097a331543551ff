"""What a plan can take at most, said before it starts: runs, hours, model calls, dollars.

Hours follow from the runs' limits, calls from their steps and from how often an agent asks again
for a reply that it cannot read. Dollars are bounded only by --max-cost; otherwise they are an
estimate from the tokens that the paper used.
"""

from collections.abc import Iterator

from mlagentbench.launch.presets.preset import PAPER_STEPS
from mlagentbench.launch.request import Cell, SuiteRequest, prices_of
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.models.model_choice import NO_MODEL
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Record

PAPER_TOKENS = 6_000_000 / 13
"""A run's tokens: a pass over the paper's 13 tasks with GPT-4-turbo took about 6 million (Huang et
al., ICML 2024)."""


class Estimate(Record):
    """What the runs of a request take at most; None is unknown."""

    cells: str
    """What the runs are made of: tasks, agents, models, runs of each."""
    hours: float | None
    """By the limits on time, one run after the other."""
    jobs: int
    actions: int | None
    """Of runs that use a model."""
    calls: int | None
    """Of main models; those of other roles, and a provider's retries, come on top."""
    unbounded: tuple[str, ...] = ()
    """The agents whose calls are not bounded by their actions."""
    dollars: float | None = None
    """None without prices."""
    dollars_are_bounded: bool = False

    def lines(self) -> Iterator[str]:
        """For people, one thing a line."""
        yield f"plan: {self.cells}"
        if self.hours is not None:
            side_by_side = f"; {self.jobs} at a time: {self.hours / self.jobs:,.1f} h"
            yield (
                f"time: at most {self.hours:,.1f} h by the limits of the runs"
                f"{side_by_side if self.jobs > 1 else ''}"
            )
        if self.actions:
            yield f"model calls: {self._calls}; editing, reading and logs ask besides"
        if self.dollars is not None:
            yield f"dollars: {self._dollars}"

    @property
    def _calls(self) -> str:
        actions = counted(self.actions or 0, "action")
        if self.calls is None:
            return f"not bounded for {', '.join(self.unbounded)} ({actions})"
        return f"at most {self.calls:,} for {actions}, asking again included"

    @property
    def _dollars(self) -> str:
        if self.dollars_are_bounded:
            return f"at most ${self.dollars:,.2f}, by --max-cost"
        return (
            f"about ${self.dollars:,.2f} at the paper's {PAPER_TOKENS:,.0f} tokens for "
            f"{PAPER_STEPS} actions, counted as input; --max-cost bounds a run"
        )


def estimate(request: SuiteRequest) -> Estimate:
    """What the runs of a request take at most."""
    limits = [
        (cell, request.settings.limits(request.settings.task(cell.task).spec))
        for cell in request.cells
    ]
    asking = [(cell, limit) for cell, limit in limits if cell.model != NO_MODEL]
    unbounded = {cell.info.name for cell, _ in asking if cell.info.replies_per_step is None}
    seconds = [limit.get("time") for _, limit in limits]
    steps = [limit.get("steps") for _, limit in asking]
    known_steps = [int(one) for one in steps if one is not None]
    actions = request.runs * sum(known_steps) if len(known_steps) == len(steps) else None
    known_seconds = [one for one in seconds if one is not None]
    all_limited = len(known_seconds) == len(seconds)
    dollars, bounded = _dollars(request, asking)
    return Estimate(
        cells=_cells(request),
        hours=request.runs * sum(known_seconds) / 3600 if all_limited else None,
        jobs=request.jobs or 1,
        actions=actions,
        calls=None if unbounded or actions is None else request.runs * sum(map(_calls, asking)),
        unbounded=tuple(sorted(unbounded)),
        dollars=dollars,
        dollars_are_bounded=bounded,
    )


def _cells(request: SuiteRequest) -> str:
    """Such as "13 tasks, mini tier; 4 agents; 2 models; 8 runs each"."""
    agents = {cell.agent.model_dump_json() for cell in request.cells}
    models = {cell.model for cell in request.cells} - {NO_MODEL}
    tasks = {cell.task for cell in request.cells}
    parts = [
        f"{counted(len(tasks), 'task')}, {request.settings.tier} tier",
        counted(len(agents), "agent"),
        counted(len(models), "model"),
        f"{counted(request.runs, 'run')} each",
    ]
    return "; ".join(parts)


def _calls(cell_and_limits: tuple[Cell, BudgetLimits]) -> int:
    cell, limits = cell_and_limits
    retries = cell.agent.settings.get("retries")
    per_step = (cell.info.replies_per_step or 1) if retries is None else 1 + int(retries)
    return int(limits.get("steps") or 0) * per_step + cell.info.spare_replies


def _dollars(
    request: SuiteRequest, asking: list[tuple[Cell, BudgetLimits]]
) -> tuple[float | None, bool]:
    """The dollars of all runs, and whether they are a bound."""
    prices = prices_of(request)
    if prices is None:
        return None, False
    most = [limits.get("cost") for _, limits in asking]
    bounds = [one for one in most if one is not None]
    if len(bounds) == len(most):
        return request.runs * sum(bounds), True
    tokens = {
        cell.model: PAPER_TOKENS * (limits.get("steps") or PAPER_STEPS) / PAPER_STEPS
        for cell, limits in asking
    }
    each = [tokens[cell.model] * prices[cell.model].input / 1e6 for cell, _ in asking]
    return request.runs * sum(each), False
