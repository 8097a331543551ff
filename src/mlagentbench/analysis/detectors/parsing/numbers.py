"""Numbers in texts, and what supports a number: the values that an agent has seen so far.

A number has a value and a unit, that of its last digit: 0.913 is 0.913 in units of 0.001, and 91 %
is 91 in units of 1. Signs do not matter: "a loss of 3 points" is a change of -3.
"""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST_LINE = 500
"""Characters; what is longer is a table's row, not a result that is told to a reader."""
SLACK = 1e-9
"""For what binary fractions do to decimal ones."""
PARTNERS = 24
"""So many results, the newest, can be what a change was computed from. Of many more, any number at
all is a difference or a ratio of some two."""
TOGETHER = 12
"""So many results, the newest, can be what a mean was computed from."""
LONGEST_TEXT = 60_000
"""Of a longer text only the two ends are looked at: an observation never shows more."""
LARGEST_SHARE = 1.5
"""A larger number is no share of one, so nothing a hundred times as large can be the same."""

_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_RESULT_LINE = re.compile(
    r"accura|\bacc\b|error|loss|score|\bm[as]p?e\b|rms|smape|\bf1|auc|precision|recall|\biou|dice"
    r"|perplex|\br2\b|correl|valid|\btest\b|metric|time|second|speed|\d ?(?:ms|us|s)\b"
    r"|[a-z)]\s?[=:]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Number:
    """A number as it is written."""

    value: float
    unit: float
    is_percent: bool = False


def values_in(text: str) -> set[float]:
    """Every number in a text, without its sign; digits joined by commas also one by one."""
    text = _ends(text)
    values = set(map(float, _NUMBER.findall(text)))
    grouped = _GROUPED.findall(text) if "," in text else ()
    values.update(float(found.replace(",", "")) for found in grouped)
    return values


def _ends(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    half = LONGEST_TEXT // 2
    return f"{text[:half]}\n{text[-half:]}"


def results_in(text: str) -> list[float]:
    """The newest numbers in lines that speak of a metric or a time, or give a name a value."""
    found: list[float] = []
    for line in reversed(_ends(text).splitlines()):
        if len(found) >= PARTNERS:
            break
        if len(line) <= LONGEST_LINE and _RESULT_LINE.search(line):
            plain = _GROUPED.sub(lambda group: group[0].replace(",", ""), line)
            found += map(float, reversed(_NUMBER.findall(plain)))
    return found[PARTNERS - 1 :: -1] if len(found) > PARTNERS else found[::-1]


class SortedValues:
    """Distinct values, sorted in a few arrays of growing size: cheap to add to and to search."""

    def __init__(self) -> None:
        self._known: set[float] = set()
        self._runs: list[list[float]] = []

    def add(self, values: set[float]) -> None:
        new = sorted(values - self._known)
        if not new:
            return
        self._known.update(new)
        while self._runs and len(self._runs[-1]) <= 2 * len(new):
            new = sorted(self._runs.pop() + new)
        self._runs.append(new)

    def has_near(self, value: float, margin: float) -> bool:
        """Whether there is one at most `margin` away."""
        low = value - margin
        for run in self._runs:
            place = bisect_left(run, low)
            if place < len(run) and run[place] <= value + margin:
                return True
        return False


class SeenNumbers:
    """All values that the agent could know; texts are only read when a number is asked about."""

    def __init__(self) -> None:
        self._unread: list[str] = []
        self._printed: list[str] = []
        self._read: set[int] = set()
        self._values = SortedValues()
        self._results: deque[float] = deque(maxlen=PARTNERS)

    def see(self, text: str, is_output: bool = False) -> None:
        """Take note of a text; results are only looked for in what programs printed."""
        if text and hash(text) not in self._read:
            self._read.add(hash(text))
            self._unread.append(text)
        if is_output:
            self._printed.append(text)

    def _newest_results(self) -> list[float]:
        for text in self._printed[-PARTNERS:]:
            for value in results_in(text):
                if value in self._results:
                    self._results.remove(value)
                self._results.append(value)
        self._printed.clear()
        return list(self._results)

    def supports(self, number: Number, scales: Iterable[float] = ()) -> bool:
        """Whether a value was seen that is this number, rounded or cut, perhaps in percent."""
        for text in self._unread:
            self._values.add(values_in(text))
        self._unread.clear()
        in_percent = number.is_percent or number.value > LARGEST_SHARE
        return any(
            self._values.has_near(number.value * scale, number.unit * scale * (1 + SLACK))
            for scale in (1.0, 0.01 if in_percent else 100.0, *scales)
        )

    def explains_change(self, number: Number) -> bool:
        """Whether it is a difference, a ratio or a percentage change of two results."""
        values = sorted(value for value in self._newest_results() if value > 0)
        margin = number.unit * (1 + SLACK)
        return any(
            abs(number.value - change) <= margin
            for place, low in enumerate(values)
            for high in values[place + 1 :]
            for change in _changes(low, high, number.is_percent)
        )

    def explains_mean(self, number: Number) -> bool:
        """Whether it is the mean of two results, or of several that stand together."""
        values = self._newest_results()[-TOGETHER:]
        margin = number.unit * (1 + SLACK)
        for place, first in enumerate(values):
            total = first
            for count, value in enumerate(values[place + 1 :], start=2):
                total += value
                for mean in (total / count, (first + value) / 2):
                    if any(abs(number.value - mean * scale) <= margin for scale in (1.0, 100.0)):
                        return True
        return False


def _changes(low: float, high: float, in_percent: bool) -> tuple[float, ...]:
    """What two values differ by: absolutely, in points, as a ratio, and relative to each."""
    ratio, difference = high / low, high - low
    if in_percent:
        points = difference if high > 1 else 100 * difference
        return (points, 100 * (ratio - 1), 100 * (1 - 1 / ratio), 100 / ratio)
    return (difference, ratio, 1 / ratio, 100 * difference if high <= 1 else difference)
