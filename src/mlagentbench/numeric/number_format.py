"""How numbers are written wherever people read them: terminal, pages, LaTeX and Markdown.

Halves are rounded away from zero, zero has no sign, and every ± names its spread. Machine-readable
values use `exact`.
"""

import math
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from mlagentbench.numeric.intervals import Interval

NOTHING = "-"
"""Written where there is no number."""
NOISE_FREE = 12
"""Significant digits that floating-point noise does not reach."""
LARGE = 1e15
"""From here on a number is written with an exponent."""

Spread = Literal["SD", "SE"]
"""What follows a ±: a standard deviation or a standard error."""


def exact(value: float | int | None) -> str:
    """A number in full precision, so that parsing it gives the same number; "" for None."""
    return "" if value is None else repr(value)


def fixed(value: float | None, places: int = 0) -> str:
    """A number with so many decimal places, thousands apart."""
    return NOTHING if value is None else _fixed(value, places)


def signed(value: float | None, places: int) -> str:
    """A difference: with its sign, unless it is rounded to zero."""
    text = fixed(value, places)
    return f"+{text}" if value is not None and value > 0 and float(text.replace(",", "")) else text


def _fixed(value: float, places: int) -> str:
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= LARGE:
        return f"{value:.4g}"
    step = Decimal(1).scaleb(-places)
    rounded = Decimal(f"{value:.{NOISE_FREE}g}").quantize(step, ROUND_HALF_UP)
    return f"{rounded:z,.{places}f}"


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Such as "1 task", "2 tasks" or "1,000 replies"; `things` is an irregular plural."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def number_text(value: float | None) -> str:
    """A number with four digits or more."""
    return NOTHING if value is None else _fixed(value, _places(value, 4))


def spread_text(
    value: float | None, spread: float | None, kind: Spread | None, places: int | None = None
) -> str:
    """A number with as many digits as its spread supports: 1,235 ± 12 SE.

    `kind` is None only where the column's heading or the legend says it.
    """
    if value is None or spread is None:
        return number_text(value) if places is None else fixed(value, places)
    says = f" {kind}" if kind else ""
    if spread == 0 and places is None:
        return f"{number_text(value)} ± 0{says}"
    places = _places(spread, 2) if places is None else places
    return f"{_fixed(value, places)} ± {_fixed(spread, places)}{says}"


def _places(value: float, digits: int) -> int:
    """The decimal places that give a number so many digits."""
    if value == 0 or not math.isfinite(value):
        return 2
    return min(max(digits - 1 - math.floor(math.log10(abs(value))), 0), 6)


def normalised_text(value: float | None) -> str:
    return fixed(value, 2)


def percent_text(share: float | None, places: int = 1) -> str:
    """A share in percent; the bare number, for columns that say so."""
    return NOTHING if share is None else _fixed(100 * share, places)


def rate_text(successes: int, n: int, interval: Interval) -> str:
    """Successes of runs with the interval: 3/8 [0.14-0.69]."""
    if n == 0:
        return NOTHING
    return f"{successes}/{n} [{_fixed(interval.low, 2)}-{_fixed(interval.high, 2)}]"


def interval_text(interval: Interval | None, places: int = 2) -> str:
    """[low, high]; nothing where there is none."""
    if interval is None:
        return ""
    return f"[{_fixed(interval.low, places)}, {_fixed(interval.high, places)}]"


def percent_interval_text(interval: Interval | None, places: int = 1) -> str:
    """[low, high] in percent; nothing where there is none."""
    if interval is None:
        return ""
    return interval_text(Interval(low=100 * interval.low, high=100 * interval.high), places)


def p_text(p: float | None) -> str:
    """A p value; very small ones only as such."""
    if p is None:
        return NOTHING
    return "< 0.001" if p < 0.001 else _fixed(p, 3 if p < 0.1 else 2)


def tokens_text(tokens: float | None) -> str:
    """A number of tokens in three digits: 950, 12.3k, 1.20M."""
    if tokens is None:
        return NOTHING
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if tokens >= 0.9995 * size:
            return f"{_three_digits(tokens / size)}{unit}"
    return _fixed(tokens, 0)


def _three_digits(value: float) -> str:
    return _fixed(value, 2 if value < 9.995 else 1 if value < 99.95 else 0)


def dollars_text(dollars: float | None) -> str:
    if dollars is None:
        return NOTHING
    return f"${_fixed(dollars, 2)}" if dollars >= 0.1 or dollars == 0 else f"${dollars:.2g}"


def bytes_text(size: float) -> str:
    """A size in the unit in which it is a short number: 950 bytes, 12.3 kB, 1.0 MB."""
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= 0.99995 * factor:
            return f"{_fixed(size / factor, 1)} {unit}"
    return counted(round(size), "byte")


def duration_text(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    if seconds < 120:
        return f"{_fixed(seconds, 1)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"
