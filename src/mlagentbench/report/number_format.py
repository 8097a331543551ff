"""Number formatting shared by terminal, HTML, LaTeX and Markdown.

Machine-readable values use `exact`.
"""

import math

from mlagentbench.numeric.intervals import Interval
from mlagentbench.statistics.cells import Mean, Rate

NOTHING = "-"
"""Written where there is no number."""


def exact(value: float | int | None) -> str:
    """A number in full precision, so that parsing it gives the same number; "" for None."""
    return "" if value is None else repr(value)


def number_text(value: float | None, error: float | None = None) -> str:
    """A number with as many digits as its error supports, else four."""
    if value is None:
        return NOTHING
    if error == 0:
        return f"{number_text(value)} ± 0"
    scale = abs(value) if error is None else error
    digits = 4 if error is None else 2
    places = digits - 1 - math.floor(math.log10(scale)) if scale > 0 else 2
    places = min(max(places, 0), 6)
    plus_minus = "" if error is None else f" ± {error:z,.{places}f}"
    return f"{value:z,.{places}f}{plus_minus}"


def mean_text(mean: Mean) -> str:
    """A mean on its own scale ± its standard error."""
    return number_text(mean.mean, mean.standard_error)


def normalised_text(value: float | None, error: float | None = None) -> str:
    if value is None:
        return NOTHING
    return f"{value:z.2f}" if error is None else f"{value:z.2f} ± {error:z.2f}"


def percent_text(share: float | None, places: int = 1) -> str:
    """A share in percent; the bare number, for columns that say so."""
    return NOTHING if share is None else f"{100 * share:z.{places}f}"


def rate_text(rate: Rate) -> str:
    """Successes of runs with the interval: 3/8 [0.14-0.69]."""
    if rate.n == 0:
        return NOTHING
    return f"{rate.successes}/{rate.n} [{rate.interval.low:z.2f}-{rate.interval.high:z.2f}]"


def interval_text(interval: Interval | None, places: int = 2) -> str:
    """[low, high]; nothing where there is none."""
    if interval is None:
        return ""
    return f"[{interval.low:z.{places}f}, {interval.high:z.{places}f}]"


def percent_interval_text(interval: Interval | None, places: int = 1) -> str:
    """[low, high] in percent; nothing where there is none."""
    if interval is None:
        return ""
    return interval_text(Interval(low=100 * interval.low, high=100 * interval.high), places)


def difference_text(difference: float) -> str:
    """A difference with its sign; what rounds to nothing has none."""
    rounded = f"{difference:z.3f}"
    return rounded if difference < 0 or float(rounded) == 0 else f"+{rounded}"


def p_text(p: float | None) -> str:
    """A p value; very small ones only as such."""
    if p is None:
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:z.2f}"


def tokens_text(tokens: float | None) -> str:
    """A number of tokens in three digits: 950, 12.3k, 1.20M."""
    if tokens is None:
        return NOTHING
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if tokens >= 0.9995 * size:
            return f"{_three_digits(tokens / size)}{unit}"
    return f"{tokens:z.0f}"


def _three_digits(value: float) -> str:
    places = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:z.{places}f}"


def dollars_text(dollars: float | None) -> str:
    if dollars is None:
        return NOTHING
    return f"${dollars:z,.2f}" if dollars >= 0.1 or dollars == 0 else f"${dollars:.2g}"


def duration_text(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    if seconds < 120:
        return f"{seconds:z.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"
