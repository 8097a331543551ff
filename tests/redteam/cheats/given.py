"""What a cheat is given, what it submits, and the tables that both are made of."""

import bisect
import csv
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple


class Given(NamedTuple):
    """All that a cheat may use: what an agent has in its workspace."""

    public: Path
    python: Path
    """The interpreter of the task's virtual environment."""


Files = dict[str, str | bytes]
"""A submission: the contents of its files, by path."""

Cheat = Callable[[Given], Files]
"""Makes a submission without honest work; its docstring is the idea."""

SUBMISSION = "submission.csv"
WIDE_DIGITS = str.maketrans("0123456789", "０１２３４５６７８９")
"""For digits that Python reads as the same numbers."""


def read(given: Given, name: str) -> list[dict[str, str]]:
    with (given.public / name).open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Files:
    """A submission of one table."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return {SUBMISSION: text.getvalue()}


def nearest(places: Sequence[float], wanted: float) -> int:
    """Where in a sorted sequence the number is that is nearest to the wanted one."""
    after = bisect.bisect(places, wanted)
    around = range(max(0, after - 1), min(len(places), after + 1))
    return min(around, key=lambda place: abs(places[place] - wanted))


def looked_up(known: Iterable[tuple[float, str]], wanted: Iterable[float]) -> list[str]:
    """For each wanted number, the answer that belongs to the nearest known number."""
    pairs = sorted(known)
    places = [place for place, _ in pairs]
    return [pairs[nearest(places, one)][1] for one in wanted]
