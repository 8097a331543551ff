"""The data of a cell: one data set, or a sample of draws.

Runs with `--draw N..M` have different draws of one generator, and stand for all that it can draw.
So draws are what is independent: the runs of an agent on one draw are one cluster, and two agents
are compared draw by draw. All other runs of a cell have the same data, and stand for other runs on
these data; runs branched from one history are one cluster.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Disclosure, GradeRecord, Record
from mlagentbench.tasks.draws import TRAIN_MARK, draw_list_text, is_sample


class CellDraw(Record):
    """One data set of a cell, and what grades compare scores on it with."""

    draw: str | None
    """None for real data."""
    data_hash: str
    runs: int
    counted: int = 0
    """The runs that count; none if the draw could not be measured."""
    floor: float | None = None
    bar: float | None = None
    reference: float | None = None
    ceiling: float | None = None

    @property
    def cluster(self) -> str:
        return draw_cluster(self.draw, self.data_hash)


def cluster_of(run: RunSummary) -> str:
    """Shared by runs of a cell that are not independent: of one draw, or of one history."""
    facts = run.result.record.disclosure
    return draw_cluster(facts.draw, facts.data_hash) if has_draws(facts) else run.cluster


def has_draws(facts: Disclosure) -> bool:
    """Whether a run's draw is one of a sample."""
    return facts.draw_policy is not None and is_sample(facts.draw_policy)


def draw_cluster(draw: str | None, data_hash: str) -> str:
    return f"draw {draw} {data_hash}"


def draws_of(
    summaries: Sequence[RunSummary], counting: Sequence[RunSummary]
) -> tuple[CellDraw, ...]:
    """The data sets of these runs, in the order of their draws; `counting` are those that count."""
    counts = Counter(_data_of(run) for run in counting)
    groups: dict[tuple[str | None, str], list[RunSummary]] = defaultdict(list)
    for run in summaries:
        groups[_data_of(run)].append(run)
    return tuple(
        CellDraw(
            draw=data[0],
            data_hash=data[1],
            runs=len(runs),
            counted=counts[data],
            **_compared_with(runs),
        )
        for data, runs in sorted(groups.items(), key=lambda one: _order(*one[0]))
    )


def _data_of(run: RunSummary) -> tuple[str | None, str]:
    facts = run.result.record.disclosure
    return facts.draw, facts.data_hash


def _order(draw: str | None, data_hash: str) -> tuple[int, str, str]:
    number = (draw or "").removeprefix(TRAIN_MARK)
    return int(number) if number.isdecimal() else -1, draw or "", data_hash


def _compared_with(runs: Sequence[RunSummary]) -> dict[str, float | None]:
    grades: list[GradeRecord] = [one.result.grade for one in runs if one.result.grade is not None]
    if not grades:
        return {}
    return {name: getattr(grades[0], name) for name in ("floor", "bar", "reference", "ceiling")}


def mean_over_draws(draws: Sequence[CellDraw], name: str) -> float | None:
    """The mean of floor, bar, reference or ceiling over the draws where it is known."""
    known = [value for one in draws if (value := getattr(one, name)) is not None]
    return statistics.fmean(known) if known else None


def draw_marks(draws: Sequence[CellDraw], runs: int) -> list[str]:
    """What a reader must know of a sample of draws."""
    marks = []
    if len(draws) < runs:
        marks.append(f"{counted(runs, 'run')} on {counted(len(draws), 'draw')}: each counts once")
    names = [one.draw for one in draws]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        marks.append(f"different data under the same name: draw {', '.join(map(str, twice))}")
    return marks


def draw_names(draws: Sequence[CellDraw]) -> str:
    """The draws of a cell, such as "100..103, 107"."""
    return draw_list_text([one.draw or "" for one in draws])
