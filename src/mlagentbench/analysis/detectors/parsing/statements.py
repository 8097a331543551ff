"""Numbers that an agent states as results: numbers beside a metric in an asserted clause.

docs/evaluation/codebook.md defines a claim. In doubt there is none: a clause that may be a goal, a
setting or a guess is not a claim.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice

from mlagentbench.analysis.detectors.parsing import claim_words as words
from mlagentbench.analysis.detectors.parsing.numbers import Number

LONGEST_CLAUSE = 600
"""Characters; longer texts are not sentences."""

MOST_CLAIMS = 200
"""Per reply; a reply that states more is repeating an output."""

_MAY_CLAIM = re.compile(r"\.\d|\d\s?(?:%|per ?cent\b)", re.IGNORECASE)
_CLAUSE_END = re.compile(
    r"\n|[.!](?=\s|$|[\"')\]])|;|:(?=\s+(?:(?-i:[A-Z][a-z])|$))|\?|\s(?:but|while|whereas)\s",
    re.IGNORECASE,
)
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_NUMBER = re.compile(
    rf"""(?<![\w.,/@#\\^-])(?<!\d:)
    (?P<digits>{_DIGITS}\.\d+|\.\d+|{_DIGITS})
    (?P<exponent>e[-+]?\d{{1,3}})?
    (?P<percent>\s?(?:%|percent\b|per\ cent\b))?
    (?P<kilo>k\b|\ ?thousand\b)?
    (?!\.?\d|(?!(?:x|ms|us|s|secs?|min|h)\b)[\w/\\]|,\d|-\w|:\d)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SIGNED = re.compile(r"(?<=[\s=(:\[])[-+−–](?=\.?\d)|(?<=\A)[-+−–](?=\.?\d)")
_RANGE_AFTER = re.compile(r"\s?(?:[-–—]|\.\.\.?)\s?\.?\d")
_TO_NUMBER = re.compile(r"\s?%?\s+to\s+\.?\d", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\b", re.IGNORECASE)
_RANGE_BEFORE = re.compile(r"\d%?\s?(?:[-–—]|\.\.\.?)\s?\Z|(?:±|\+/-|\+-)\s?\Z")
_BETWEEN = re.compile(r"\bbetween\b", re.IGNORECASE)


@dataclass(frozen=True)
class Statement:
    """A number that is stated as a result, and how it may have been derived."""

    number: Number
    clause: str
    written: str
    is_time: bool
    is_change: bool
    is_mean: bool
    is_error: bool
    """An error rate may have been seen as one minus an accuracy."""


@cache
def metric_pattern(metric: str) -> re.Pattern[str]:
    """Any metric word, or the name of the task's own metric."""
    own = [re.escape(metric.strip())] if metric.strip() else []
    return re.compile(
        rf"(?<![\w])(?:{'|'.join([*own, words.METRIC_WORDS])})(?![\w])", re.IGNORECASE
    )


def statements(text: str, metric: str = "") -> Iterator[Statement]:
    """All claims in an agent's prose."""
    pattern = metric_pattern(metric)
    found = (claim for clause in clauses(text) for claim in _in_clause(clause, pattern))
    return islice(found, MOST_CLAIMS)


def clauses(text: str) -> Iterator[str]:
    """The clauses of a text that contain a number with a decimal point or a percent sign."""
    for line in text.splitlines():
        if not _MAY_CLAIM.search(line):
            continue
        place = 0
        for end in _CLAUSE_END.finditer(f"{line}\n"):
            part = line[place : end.end()] if end[0] == "?" else line[place : end.start()]
            place = end.end()
            if len(part) <= LONGEST_CLAUSE and _MAY_CLAIM.search(part):
                yield part


@lru_cache(maxsize=4096)
def _in_clause(clause: str, metric: re.Pattern[str]) -> tuple[Statement, ...]:
    """The claims of one clause; cached, because each reply repeats the plan."""
    return tuple(_claims(clause, metric))


def _claims(clause: str, metric: re.Pattern[str]) -> Iterator[Statement]:
    if not metric.search(clause):
        return
    plain = words.NO_METRIC.sub(lambda found: " " * len(found[0]), clause)
    places = [found.span() for found in metric.finditer(plain)]
    if not places or words.NOT_ASSERTED.search(clause):
        return
    if words.INSTRUCTION.match(clause) and not words.RESULT.search(clause):
        return
    settings = [found.span() for found in words.SETTING.finditer(clause)]
    settings = [one for one in settings if not any(_overlap(one, place) for place in places)]
    signless = _SIGNED.sub(" ", clause)
    for found in _NUMBER.finditer(signless):
        number = _claimed(found)
        if number is None or _is_no_result(signless, found):
            continue
        if settings and not _belongs_to_metric(found, places, settings):
            continue
        yield _statement(signless, found, number)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _claimed(found: re.Match[str]) -> Number | None:
    """The number, if it has a decimal point or a percent sign."""
    digits, percent = found["digits"].replace(",", ""), found["percent"] is not None
    if "." not in digits and not percent:
        return None
    exponent = int((found["exponent"] or "e0")[1:]) + (3 if found["kilo"] else 0)
    if abs(exponent) > 100 or len(digits) > 40:
        return None
    decimals = len(digits.partition(".")[2])
    scale = 10.0**exponent
    return Number(value=float(digits) * scale, unit=10.0**-decimals * scale, is_percent=percent)


def _is_no_result(clause: str, found: re.Match[str]) -> bool:
    """Whether it is part of a range, a bound, or an amount of something else."""
    before, after = clause[max(0, found.start() - 60) : found.start()], clause[found.end() :][:60]
    return bool(
        _RANGE_AFTER.match(after)
        or _RANGE_BEFORE.search(before)
        or _BETWEEN.search(before)
        or (_TO_NUMBER.match(after) and not _FROM.search(before))
        or words.BOUND_BEFORE.search(before)
        or words.OTHER_UNIT.match(after)
    )


def _belongs_to_metric(
    found: re.Match[str], metrics: list[tuple[int, int]], settings: list[tuple[int, int]]
) -> bool:
    """Whether a metric word is nearer than a setting word."""
    return _distance(found, metrics) < _distance(found, settings)


def _distance(found: re.Match[str], places: list[tuple[int, int]]) -> float:
    """In characters; words after the number count as farther away than words before it."""
    return min(
        found.start() - end if end <= found.start() else 2.0 * (start - found.end()) + 4.0
        for start, end in places
    )


def _statement(clause: str, found: re.Match[str], number: Number) -> Statement:
    before, after = clause[: found.start()], clause[found.end() :]
    if words.ROUGH_BEFORE.search(before[-40:]):
        number = Number(
            value=number.value,
            unit=max(5 * number.unit, 0.05 * number.value),
            is_percent=number.is_percent,
        )
    tail = before[-80:]
    is_change = words.CHANGE_BEHIND.match(after) or words.CHANGE_BEFORE.search(tail)
    if not is_change and not words.LEVEL_BEFORE.search(tail):
        is_change = words.CHANGE.search(clause)
    return Statement(
        number=number,
        clause=clause.strip(),
        written=found[0].strip(),
        is_time=words.TIME_UNIT.match(after) is not None,
        is_change=is_change is not None,
        is_mean=words.MEAN.search(clause) is not None,
        is_error=words.ERROR.search(clause) is not None,
    )
