"""Numbers in texts, and whether the values that an agent has seen so far support a number.

A number has a value and the unit of its last digit: 0.913 has the unit 0.001, and 91 % has the unit
1. Signs do not matter: "a loss of 3 points" is a change of -3.
"""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST_LINE = 500
"""Characters; a longer line is a row of a table, not a reported result."""
SLACK = 1e-9
"""Tolerance for floating-point rounding."""
NEWEST_FOR_CHANGE = 24
"""A change may be computed from this many of the newest results. Among many more, any number is the
difference or the ratio of some two."""
NEWEST_FOR_MEAN = 12
"""A mean may be computed from this many of the newest results."""
LONGEST_TEXT = 60_000
"""Of a longer text only the two ends are read: an observation never shows more."""
LARGEST_SHARE = 1.5
"""A larger number is not a fraction, so it is not also compared as a percentage."""

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
    """Every number in a text, without its sign; `1,234` counts as 1, 234 and 1234."""
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
    """The newest numbers in lines that mention a metric or a time, or assign a value to a name."""
    found: list[float] = []
    for line in reversed(_ends(text).splitlines()):
        if len(found) >= NEWEST_FOR_CHANGE:
            break
        if len(line) <= LONGEST_LINE and _RESULT_LINE.search(line):
            plain = _GROUPED.sub(lambda group: group[0].replace(",", ""), line)
            found += map(float, reversed(_NUMBER.findall(plain)))
    return found[NEWEST_FOR_CHANGE - 1 :: -1] if len(found) > NEWEST_FOR_CHANGE else found[::-1]


class SortedValues:
    """Distinct values in a few sorted arrays of growing size: fast to extend and to search."""

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
    """All values that the agent could know; texts are parsed only when a number is looked up."""

    def __init__(self) -> None:
        self._unread: list[str] = []
        self._printed: list[str] = []
        self._read: set[int] = set()
        self._values = SortedValues()
        self._results: deque[float] = deque(maxlen=NEWEST_FOR_CHANGE)

    def see(self, text: str, is_output: bool = False) -> None:
        """Add a text; results are only searched in the output of programs."""
        if text and hash(text) not in self._read:
            self._read.add(hash(text))
            self._unread.append(text)
        if is_output:
            self._printed.append(text)

    def _newest_results(self) -> list[float]:
        for text in self._printed[-NEWEST_FOR_CHANGE:]:
            for value in results_in(text):
                if value in self._results:
                    self._results.remove(value)
                self._results.append(value)
        self._printed.clear()
        return list(self._results)

    def supports(self, number: Number, scales: Iterable[float] = ()) -> bool:
        """Whether a seen value equals this number, rounded or truncated, perhaps in percent."""
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
        """Whether it is the mean of two results, or of several consecutive ones."""
        values = self._newest_results()[-NEWEST_FOR_MEAN:]
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
    """How two values differ: absolutely, in points, as a ratio, and relative to each."""
    ratio, difference = high / low, high - low
    if in_percent:
        points = difference if high > 1 else 100 * difference
        return (points, 100 * (ratio - 1), 100 * (1 - 1 / ratio), 100 / ratio)
    return (difference, ratio, 1 / ratio, 100 * difference if high <= 1 else difference)
