"""What an agent reaches in mini and in hard, side by side, over the tasks that it has in both.

Each tier keeps its own numbers: none of them mixes runs of two tiers. A row of a hard leaderboard
is shown beside the row of the same agent in mini that is most like it: the same draws, then the
fewest other differences, then the most common tasks.
"""

from collections import defaultdict
from collections.abc import Sequence

from mlagentbench.records import Record, Rung, Tier
from mlagentbench.runs.failure_causes import GREYED_ABOVE
from mlagentbench.statistics.cell_marks import agent_with_model
from mlagentbench.statistics.cells import CellStatistics
from mlagentbench.statistics.leaderboard import (
    AgentStatistics,
    Leaderboard,
    SuiteMean,
    suite_mean,
    suite_rate,
    suite_rungs,
)
from mlagentbench.statistics.tiers.paired_cells import (
    CellPair,
    common_cells,
    differences_between,
    leaderboards_of,
)


class TierStatistics(Record):
    """What an agent reached in one tier, over the common tasks."""

    tier: Tier
    data: str
    """Such as "draws 100..107"."""
    runs: int
    counted: int
    missing: int
    greyed: bool
    success: SuiteMean
    normalised: SuiteMean
    ceiling_share: SuiteMean
    """Over the common tasks whose ceiling is known in both tiers."""
    rungs: dict[Rung, float]


class MiniAndHard(Record):
    """One agent with its model in both tiers."""

    agent: str
    model: str
    is_reference_agent: bool
    tasks: tuple[str, ...]
    """Those with counted runs in both tiers."""
    mini: TierStatistics
    hard: TierStatistics
    notes: tuple[str, ...]
    """What differs besides the tier, and which tasks have a ceiling if not all do."""

    @property
    def name(self) -> str:
        """The agent with its model, in one line."""
        return agent_with_model(self.agent, self.model)

    @property
    def tiers(self) -> tuple[TierStatistics, TierStatistics]:
        return self.mini, self.hard


def mini_and_hard(leaderboards: Sequence[Leaderboard]) -> tuple[MiniAndHard, ...]:
    """All agents with counted runs of one task in both tiers, best in hard first."""
    mini = [row for one in leaderboards_of(leaderboards, "mini") for row in one.rows]
    found = []
    for row in (row for one in leaderboards_of(leaderboards, "hard") for row in one.rows):
        pairs = [common for other in mini if (common := common_cells(other, row))]
        if pairs:
            found.append(_side_by_side(row, min(pairs, key=_unlikeness)))
    return tuple(sorted(found, key=_rank))


def notes_of(agents: Sequence[MiniAndHard]) -> tuple[str, ...]:
    """What every table of these agents says beside them; what is true of all is said once."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in agents:
        tasks = f"common tasks: {', '.join(one.tasks)}"
        data = f"data: mini, {one.mini.data}; hard, {one.hard.data}"
        for note in (tasks, data, *one.notes):
            found[note].append(one.name)
    every = len(agents)
    return tuple(
        note if len(names) == every else f"{', '.join(names)}: {note}"
        for note, names in found.items()
    )


def _unlikeness(pairs: Sequence[CellPair]) -> tuple[bool, int, int]:
    differing = {name for pair in pairs for name in pair.differing}
    return not all(pair.same_draws for pair in pairs), len(differing), -len(pairs)


def _rank(one: MiniAndHard) -> tuple[bool, float, str, str]:
    return one.is_reference_agent, -(one.hard.success.mean or 0.0), one.agent, one.model


def _side_by_side(row: AgentStatistics, pairs: Sequence[CellPair]) -> MiniAndHard:
    with_ceiling = [
        pair for pair in pairs if all(cell.ceiling_share.mean is not None for cell in pair.cells)
    ]
    mini, hard = (
        _tier([pair.cells[place] for pair in pairs], [pair.cells[place] for pair in with_ceiling])
        for place in (0, 1)
    )
    notes = differences_between(pairs, ("mini", "hard"))
    if 0 < len(with_ceiling) < len(pairs):
        known = ", ".join(pair.task for pair in with_ceiling)
        notes = (*notes, f"ceiling known in both tiers: {known}")
    return MiniAndHard(
        agent=row.agent,
        model=row.model,
        is_reference_agent=row.is_reference_agent,
        tasks=tuple(pair.task for pair in pairs),
        mini=mini,
        hard=hard,
        notes=notes,
    )


def _tier(
    cells: Sequence[CellStatistics], with_ceiling: Sequence[CellStatistics]
) -> TierStatistics:
    runs, missing = sum(cell.runs for cell in cells), sum(cell.missing for cell in cells)
    tier = cells[0].key.conditions.tier
    return TierStatistics(
        tier=tier,
        data=cells[0].data_description.removeprefix(f"{tier}, "),
        runs=runs,
        counted=sum(cell.counted for cell in cells),
        missing=missing,
        greyed=missing / runs > GREYED_ABOVE,
        success=suite_rate(cells, "success"),
        normalised=suite_mean([cell.normalised for cell in cells]),
        ceiling_share=suite_mean([cell.ceiling_share for cell in with_ceiling]),
        rungs=suite_rungs(cells),
    )
