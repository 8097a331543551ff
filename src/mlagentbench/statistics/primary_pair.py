"""The pair of agents that a study is about: its p value needs no correction if it was named first.

`run --primary A:B` stores the pair in every run that it begins, so a report can tell a pair that
was named before its runs from one that was chosen when the results were known.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from mlagentbench.records import Pair
from mlagentbench.statistics.cell_marks import agent_with_model
from mlagentbench.statistics.cells import CellStatistics

BEFORE = "named before the runs"
PARTLY = "named after some of the runs"
AFTER = "named after the runs"


def find_pair(text: str, rows: Sequence[tuple[str, str]]) -> Pair | None:
    """The two rows that A:B names, each an agent and its model; None if it names none.

    A row is named in full ("react with openai/gpt-6-sol"), or by its agent or its model where no
    other row has the same. Names may contain colons.
    """
    names = _names(rows)
    for place in (place for place, sign in enumerate(text) if sign == ":"):
        first, second = names.get(_plain(text[:place])), names.get(_plain(text[place + 1 :]))
        if first is not None and second is not None and first != second:
            return first, second
    return None


def no_such_pair(text: str, rows: Iterable[tuple[str, str]]) -> str:
    """Why A:B names no pair, and what can be named."""
    known = "; ".join(dict.fromkeys(agent_with_model(*row) for row in rows))
    if not known:
        return f"--primary {text}: all agents are reference agents, which are no part of a pair"
    return f"--primary {text}: expected A:B, two different agents of: {known}"


def _names(rows: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Every name that stands for one row only, and that row's full name."""
    distinct = list(dict.fromkeys(rows))
    counts = Counter(part for row in distinct for part in row)
    short = {
        _plain(part): agent_with_model(*row)
        for row in distinct
        for part in row
        if counts[part] == 1
    }
    return short | {_plain(full): full for row in distinct for full in [agent_with_model(*row)]}


def _plain(name: str) -> str:
    """Spaces make no difference: settings can be written with or without them."""
    return "".join(name.split())


def when_named(pair: Pair, cells: Iterable[CellStatistics], named_now: Pair | None) -> str:
    """When this pair was named, by the runs of the cells that are compared; empty if it was not."""
    named = {None if one is None else frozenset(one) for cell in cells for one in cell.primary}
    if named == {frozenset(pair)}:
        return BEFORE
    if frozenset(pair) in named:
        return PARTLY
    return AFTER if named_now is not None and frozenset(named_now) == frozenset(pair) else ""
