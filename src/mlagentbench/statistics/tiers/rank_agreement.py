"""Whether hard and full rank agents alike: Kendall's tau-b of their mean scores, task by task.

Reference agents are left out: floor and reference put them in the same order by definition. Scores
are compared only within one leaderboard, so each tier has its own data and conditions. There is no
interval: a few agents on a few tasks give none that covers what it promises.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Record
from mlagentbench.statistics.cell_marks import agent_with_model
from mlagentbench.statistics.cells import CellStatistics
from mlagentbench.statistics.leaderboard import Leaderboard
from mlagentbench.statistics.tiers.paired_cells import (
    CellPair,
    agent_key,
    is_known,
    leaderboards_of,
)

FEWEST_AGENTS = 3
EQUAL_PLACES = 9
"""Scores that agree in so many decimal places are tied: the rest is floating-point noise."""


class TaskAgreement(Record):
    """The agreement on one task."""

    task: str
    agents: tuple[str, ...]
    """Those with counted runs in both tiers."""
    tau: float | None
    """None if all agents are tied in one of the tiers."""
    note: str = ""


class RankAgreement(Record):
    """The agreement of a hard and a full leaderboard."""

    hard: str
    full: str
    """The leaderboards' names."""
    tau: float | None
    """The mean over the tasks that have one."""
    tasks: tuple[TaskAgreement, ...]
    """Those with counted runs of at least three agents in both tiers."""
    too_few: dict[str, int]
    """The number of agents with counted runs in both tiers, of tasks with fewer of them."""

    @property
    def agents(self) -> int:
        """How many different agents there are, on all tasks together."""
        # Agents that differ only in the models of their roles have one name.
        most: Counter[str] = Counter()
        for task in self.tasks:
            most |= Counter(task.agents)
        return most.total()

    @property
    def tasks_with_tau(self) -> int:
        return sum(task.tau is not None for task in self.tasks)

    @property
    def caution(self) -> str:
        """How little this shows."""
        fewest = min(len(task.agents) for task in self.tasks)
        agents, tasks = counted(self.agents, "agent"), counted(len(self.tasks), "task")
        return (
            f"Weak evidence: {agents} on {tasks}. {fewest} agents in random order agree fully in "
            f"1 of {math.factorial(fewest):,} cases. So few allow no honest interval, and tau "
            "ignores how uncertain the agents' scores are."
        )


class AgreementReport(Record):
    """The agreement of all pairs of a hard and a full leaderboard."""

    agreements: tuple[RankAgreement, ...] = ()
    lacking: str = ""
    """What is missing, if there are runs in both tiers but too few for any agreement."""


def rank_agreement(leaderboards: Sequence[Leaderboard]) -> AgreementReport:
    """The agreement of all pairs of a hard and a full leaderboard with enough agents."""
    hard, full = (leaderboards_of(leaderboards, "hard"), leaderboards_of(leaderboards, "full"))
    if not hard or not full:
        return AgreementReport()
    every = [_agreement(first, second) for first in hard for second in full]
    found = tuple(one for one in every if one.tasks)
    return AgreementReport(agreements=found, lacking="" if found else _lacking(every))


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b; None if all values of one side are tied."""
    from scipy.stats import kendalltau

    sides = [[round(value, EQUAL_PLACES) for value in values] for values in (first, second)]
    if any(len(set(side)) < 2 for side in sides):
        return None
    return float(kendalltau(*sides, variant="b").statistic)


def _agreement(hard: Leaderboard, full: Leaderboard) -> RankAgreement:
    pairs: dict[str, list[CellPair]] = defaultdict(list)
    for pair in _closest_pairs(_cells_of(hard), _cells_of(full)):
        pairs[pair.task].append(pair)
    tasks = tuple(
        _on_task(task, of_task)
        for task, of_task in sorted(pairs.items())
        if len(of_task) >= FEWEST_AGENTS
    )
    known = [task.tau for task in tasks if task.tau is not None]
    return RankAgreement(
        hard=hard.name,
        full=full.name,
        tau=statistics.fmean(known) if known else None,
        tasks=tasks,
        too_few={
            task: len(of_task)
            for task, of_task in sorted(pairs.items())
            if len(of_task) < FEWEST_AGENTS
        },
    )


def _cells_of(leaderboard: Leaderboard) -> dict[tuple[str, str], list[CellStatistics]]:
    """The cells with counted runs by agent and task; several if an agent has several rows."""
    found: dict[tuple[str, str], list[CellStatistics]] = defaultdict(list)
    for row in leaderboard.rows:
        for cell in row.cells:
            if is_known(cell) and not row.is_reference_agent:
                found[agent_key(cell), cell.key.task].append(cell)
    return found


def _closest_pairs(
    hard: Mapping[tuple[str, str], Sequence[CellStatistics]],
    full: Mapping[tuple[str, str], Sequence[CellStatistics]],
) -> Iterator[CellPair]:
    """One pair for each agent and task: that whose conditions differ least, of the most runs."""
    for place in sorted(hard.keys() & full.keys()):
        pairs = [CellPair(first=one, second=two) for one in hard[place] for two in full[place]]
        yield min(pairs, key=_unlikeness)


def _unlikeness(pair: CellPair) -> tuple[int, int]:
    return len(pair.differing), -sum(cell.counted for cell in pair.cells)


def _on_task(task: str, pairs: Sequence[CellPair]) -> TaskAgreement:
    scores = [[pair.cells[place].normalised.mean or 0.0 for pair in pairs] for place in (0, 1)]
    tau = kendall_tau(*scores)
    return TaskAgreement(
        task=task,
        agents=tuple(agent_with_model(one.first.key.agent, one.first.key.model) for one in pairs),
        tau=tau,
        note="" if tau is not None else "all agents are tied in one of the tiers",
    )


def _lacking(agreements: Sequence[RankAgreement]) -> str:
    most: dict[str, int] = {}
    for one in agreements:
        for task, agents in one.too_few.items():
            most[task] = max(agents, most.get(task, 0))
    has = ", ".join(f"{task} has {agents}" for task, agents in sorted(most.items()))
    return (
        "The rank agreement of hard and full needs a task with counted runs of at least three "
        f"agents in both tiers, besides reference agents; {has or 'no task has any'}."
    )
