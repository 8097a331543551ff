"""Whether a task still tells agents apart: do nearly all of their runs succeed, or fail?"""

from collections.abc import Sequence
from typing import Literal

from mlagentbench.records import Record
from mlagentbench.statistics.cells import CellStatistics, Rate, rate_of

MOST = 0.5
"""Of the runs of all agents together."""
MIN_RUNS = 8
MIN_AGENTS = 2

StandingKind = Literal["saturated", "untouched", "between", "too few runs"]


class TaskStanding(Record):
    """How the runs of all agents went together; an agent's runs on one draw of a sample, or
    branched from one history, are one run."""

    kind: StandingKind
    success: Rate
    agents: int
    """Agents with their models that have counted runs."""


def task_standing(cells: Sequence[CellStatistics]) -> TaskStanding:
    """Saturated: the 95 % interval of success is above one half; untouched: it is below."""
    known = [
        (cell.key.agent, cell.key.model, cluster.success)
        for cell in cells
        for cluster in cell.clusters
        if cluster.success is not None
    ]
    success = rate_of([[share] for _, _, share in known])
    agents = len({(agent, model) for agent, model, _ in known})
    kind: StandingKind = "between"
    if success.n < MIN_RUNS or agents < MIN_AGENTS:
        kind = "too few runs"
    elif success.interval.low > MOST:
        kind = "saturated"
    elif success.interval.high < MOST:
        kind = "untouched"
    return TaskStanding(kind=kind, success=success, agents=agents)
