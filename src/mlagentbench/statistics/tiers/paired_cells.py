"""Cells of one agent on one task in two tiers, and what else differs between them."""

from collections.abc import Iterable, Sequence

from mlagentbench.records import Record, Tier
from mlagentbench.statistics.cells import CellStatistics
from mlagentbench.statistics.integrity import CONDITIONS
from mlagentbench.statistics.leaderboard import ROW_CONDITIONS, AgentStatistics, Leaderboard

SHOULD_AGREE = ("task version", *ROW_CONDITIONS)
"""What is named where it differs between the tiers."""


class CellPair(Record):
    """The cells of one agent on one task in two tiers."""

    first: CellStatistics
    second: CellStatistics

    @property
    def cells(self) -> tuple[CellStatistics, CellStatistics]:
        return self.first, self.second

    @property
    def task(self) -> str:
        return self.first.key.task

    @property
    def same_draws(self) -> bool:
        policies = {cell.key.conditions.draw_policy for cell in self.cells}
        return len(policies) == 1

    @property
    def differing(self) -> dict[str, tuple[str, str]]:
        """The conditions that differ besides the data, by their names, in both tiers."""
        conditions = [cell.key.conditions for cell in self.cells]
        texts = {
            name: (CONDITIONS[name](conditions[0]), CONDITIONS[name](conditions[1]))
            for name in SHOULD_AGREE
        }
        return {name: both for name, both in texts.items() if both[0] != both[1]}


def leaderboards_of(leaderboards: Iterable[Leaderboard], tier: Tier) -> list[Leaderboard]:
    return [one for one in leaderboards if one.conditions and one.conditions[0].tier == tier]


def agent_key(cell: CellStatistics) -> str:
    """Shared by the cells of one agent with its settings, model and roles."""
    return cell.key.model_dump_json(include={"agent", "model", "roles"})


def is_known(cell: CellStatistics) -> bool:
    """Whether runs of the cell count and their success is known."""
    known = cell.success.rate is not None and cell.normalised.mean is not None
    return known and not cell.from_measured


def common_cells(first: AgentStatistics, second: AgentStatistics) -> list[CellPair]:
    """The cells on tasks that have counted runs in both rows; none if the agents differ."""
    others = {cell.key.task: cell for cell in second.cells if is_known(cell)}
    return [
        CellPair(first=cell, second=others[cell.key.task])
        for cell in first.cells
        if is_known(cell)
        and cell.key.task in others
        and agent_key(cell) == agent_key(others[cell.key.task])
    ]


def differences_between(pairs: Sequence[CellPair], names: tuple[str, str]) -> tuple[str, ...]:
    """What differs besides the tier, such as "protocol: mini standard, hard rebuild"."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for pair in pairs:
        for condition, texts in pair.differing.items():
            seen = found.setdefault(condition, ({}, {}))
            for text, known in zip(texts, seen, strict=True):
                known[text] = None
    return tuple(
        f"{condition}: {names[0]} {' or '.join(seen[0])}; {names[1]} {' or '.join(seen[1])}"
        for condition, seen in found.items()
    )
