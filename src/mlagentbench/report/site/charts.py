"""Charts for the site, laid out in pixels; the template `charts.html` turns them into SVG.

Colours come from the style sheet by a series' number, for light and dark. Each number also has its
marker and its dash, so that charts can be read without colours.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlagentbench.numeric.number_format import (
    counted,
    duration_text,
    number_text,
    percent_text,
    tokens_text,
)
from mlagentbench.report.site.series import Curve, ModeCounts, TradeOff
from mlagentbench.statistics.curves import Axis

STYLES = 8
"""The number of series styles; further series start over."""
WIDTH, HEIGHT, WIDE, NARROW = 720.0, 340.0, 860.0, 360.0
"""NARROW fits a phone."""
LEFT, RIGHT, TOP, BOTTOM = 56.0, 20.0, 18.0, 46.0
ROW_LEFT, NAME_HEIGHT = 20.0, 20.0
"""The names of rows are above them."""
LETTER = 7.0
"""At least the mean width of a letter in a name."""
ROOM_FOR_TEXT = 18
LEVEL_NAMES = 62.0
"""Room at the right for the names of level rules."""
SMALLEST = 1e-9


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Rule:
    """A reference line over the whole frame, upright or level."""

    at: float
    text: str
    upright: bool
    row: int = 0
    """The row of its text, so that texts of close rules do not overlap."""


@dataclass(frozen=True)
class LineMark:
    d: str
    style: int
    name: str


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    style: int
    name: str
    """Its tooltip."""
    low: float | None = None
    high: float | None = None
    """The ends of its interval on the y axis."""


@dataclass(frozen=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    style: int
    name: str
    text: str = ""
    hatch: str = ""
    """The path of lines over it."""


@dataclass(frozen=True)
class Key:
    """A line of the legend."""

    style: int
    text: str
    hatch: str = ""


@dataclass(frozen=True)
class Chart:
    """Everything that is drawn, in pixels from the upper left corner."""

    name: str
    """A description for screen readers."""
    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    top: float = TOP
    rules: tuple[Rule, ...] = ()
    lines: tuple[LineMark, ...] = ()
    dots: tuple[Dot, ...] = ()
    bars: tuple[Bar, ...] = ()
    keys: tuple[Key, ...] = ()
    keys_are: str = "dots"
    palette: str = "s"
    """What the classes of its bars' colours begin with."""
    right: float = RIGHT
    names: tuple[Tick, ...] = ()
    """The names of rows, by the height of their base line."""

    @property
    def right_edge(self) -> float:
        return self.width - self.right

    @property
    def lower_edge(self) -> float:
        return self.height - BOTTOM


@dataclass(frozen=True)
class Drawing:
    """A chart in two widths: for a page, and for a phone."""

    page: Chart
    phone: Chart


def drawing(draw: Callable[[float], Chart], width: float = WIDTH) -> Drawing:
    """What a function draws in a width, in this one and in that of a phone."""
    return Drawing(draw(width), draw(NARROW))


@dataclass(frozen=True)
class Scale:
    """From values to pixels, on a linear or a logarithmic scale."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: float) -> float:
        share = (self._on(value) - self._on(self.low)) / (self._on(self.high) - self._on(self.low))
        return self.start + share * (self.end - self.start)

    def _on(self, value: float) -> float:
        return math.log10(max(value, SMALLEST)) if self.log else value


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """About this many round numbers from low to high."""
    raw = (high - low) / about
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * size for factor in (1, 2, 2.5, 5, 10) if factor * size >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def plain(value: float) -> str:
    """A tick's number, without floating-point noise."""
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:.3g}"


def curve_chart(
    name: str,
    curves: Sequence[Curve],
    x_title: str,
    y_title: str,
    *,
    axis: Axis | None = None,
    levels: Sequence[tuple[float, str]] = (),
    styles: Sequence[int] | None = None,
    start: float | None = None,
    size: tuple[float, float] = (WIDTH, HEIGHT),
    dotted: bool = False,
    hold: bool = False,
) -> Chart:
    """Step functions: each value holds until the next; with `hold`, the last one to the right edge.

    `levels` are horizontal reference lines.
    """
    width, height = size
    right = LEVEL_NAMES if levels else RIGHT
    xs = [point.x for curve in curves for point in curve.points]
    ys = [point.y for curve in curves for point in curve.points] + [at for at, _ in levels]
    x = Scale(*_span(xs, start), LEFT, width - right)
    y = Scale(*_span(ys, None), height - BOTTOM, TOP)
    chosen = styles or [number % STYLES for number in range(len(curves))]
    lines, dots = [], []
    for curve, style in zip(curves, chosen, strict=True):
        end = f"H{x.end:.1f}" if hold else ""
        lines.append(LineMark(_steps(curve, x, y) + end, style, curve.name))
        if dotted:
            dots += [
                Dot(x.place(p.x), y.place(p.y), style, f"{plain(p.x)}: {p.y:.3f}")
                for p in curve.points
            ]
    return Chart(
        name=name,
        x_title=x_title,
        y_title=y_title,
        width=width,
        height=height,
        right=right,
        x_ticks=tuple(
            Tick(x.place(at), axis_text(at, axis))
            for at in nice_ticks(x.low, x.high, 5 if width >= WIDTH else 3)
            if axis != "steps" or at == round(at)
        ),
        y_ticks=tuple(Tick(y.place(at), plain(at)) for at in nice_ticks(y.low, y.high, 4)),
        rules=tuple(Rule(y.place(at), text, upright=False) for at, text in levels),
        lines=tuple(lines),
        dots=tuple(dots),
        keys=tuple(Key(style, curve.name) for style, curve in zip(chosen, curves, strict=True)),
        keys_are="lines",
    )


def axis_text(value: float, axis: Axis | None) -> str:
    match axis:
        case "seconds":
            return f"{value:g} s" if value < 120 else duration_text(value)
        case "tokens":
            return round_tokens(value)
        case "dollars":
            return f"${plain(value)}"
        case _:
            return plain(value)


def round_tokens(value: float) -> str:
    """A round number of tokens, without trailing zeros."""
    return re.sub(r"\.0+(?=[kMG])", "", tokens_text(value))


def short_name(name: str, width: float) -> str:
    """A name shortened to fit into a chart; the table below has it in full."""
    letters = round((width - ROW_LEFT - RIGHT) / LETTER)
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def _span(values: Sequence[float], start: float | None) -> tuple[float, float]:
    low = min(values, default=0.0) if start is None else start
    high = max(values, default=1.0)
    if high - low < 1e-12:
        room = abs(high) * 0.1 or 0.5
        return (low if start is not None else low - room), high + room
    room = 0.06 * (high - low)
    return (low if start is not None else low - room), high + room


def _steps(curve: Curve, x: Scale, y: Scale) -> str:
    """The path of a step function."""
    parts: list[str] = []
    for point in curve.points:
        at, height = f"{x.place(point.x):.1f}", f"{y.place(point.y):.1f}"
        parts.append(f"H{at}V{height}" if parts else f"M{at} {height}")
    return "".join(parts)


def trade_off_chart(points: Sequence[TradeOff], width: float = WIDTH) -> Chart:
    """Tokens per run (log scale) against the success rate; a column at the left for no tokens."""
    used = [point.tokens for point in points if point.tokens > 0]
    low = 10.0 ** math.floor(math.log10(min(used))) if used else 1e3
    high = max(10.0 ** math.ceil(math.log10(max(used))) if used else 1e4, low * 10)
    free = 0.15 * width if any(point.tokens == 0 for point in points) else 0.0
    x = Scale(low, high, LEFT + free, width - RIGHT, log=True)
    y = Scale(0.0, 1.0, HEIGHT - BOTTOM, TOP)
    ticks = [Tick(LEFT + free / 2, "none")] if free else []
    decades = range(round(math.log10(low)), round(math.log10(high)) + 1)
    ticks += [Tick(x.place(10.0**power), round_tokens(10.0**power)) for power in decades]
    dots = []
    for number, point in enumerate(points):
        at = x.place(point.tokens) if point.tokens > 0 else LEFT + free / 2
        ends = point.interval
        dots.append(
            Dot(
                x=at,
                y=y.place(point.rate),
                style=number % STYLES,
                name=f"{point.name}: {tokens_text(point.tokens)} tokens, "
                f"{percent_text(point.rate)} %",
                low=None if ends is None else y.place(ends.low),
                high=None if ends is None else y.place(ends.high),
            )
        )
    return Chart(
        name="Success rate against tokens per run, for each agent",
        x_title="tokens per run (log scale)",
        y_title="success rate",
        width=width,
        x_ticks=tuple(ticks),
        y_ticks=tuple(Tick(y.place(at), f"{100 * at:.0f} %") for at in (0, 0.25, 0.5, 0.75, 1)),
        dots=tuple(dots),
        keys=tuple(Key(number % STYLES, point.name) for number, point in enumerate(points)),
    )


@dataclass(frozen=True)
class DotRow:
    """A name with its values."""

    name: str
    values: tuple[float, ...]


def dot_rows_chart(
    name: str,
    rows: Sequence[DotRow],
    x_title: str,
    rules: Sequence[tuple[float, str]],
    *,
    log: bool = False,
    width: float = WIDE,
) -> Chart:
    """Values as dots, a row for each name, with vertical reference lines."""
    left, row_height, top = ROW_LEFT, NAME_HEIGHT + 22.0, 26.0 + 15.0 * min(len(rules), 4)
    height = top + row_height * len(rows) + BOTTOM
    values = [value for row in rows for value in row.values] + [at for at, _ in rules]
    log = log and min(values, default=0.0) > 0
    low, high = (min(values), max(values) * 1.0001) if log else _span(values, None)
    x = Scale(low, high, left + (8 if log else 0), width - RIGHT - (8 if log else 0), log)
    dots, ticks, names = [], [], []
    for number, row in enumerate(rows):
        middle = top + row_height * number + NAME_HEIGHT + 8
        ticks.append(Tick(middle, ""))
        names.append(Tick(middle - 13, short_name(row.name, width)))
        dots += [
            Dot(x.place(value), middle, number % STYLES, f"{row.name}: {number_text(value)}")
            for value in row.values
        ]
    at_x = _log_ticks(low, high) if log else nice_ticks(low, high, 5 if width >= WIDTH else 3)
    return Chart(
        name=name,
        x_title=x_title,
        y_title="",
        width=width,
        left=left,
        top=top,
        height=height,
        x_ticks=tuple(Tick(x.place(at), plain(at)) for at in at_x),
        y_ticks=tuple(ticks),
        names=tuple(names),
        rules=tuple(
            Rule(x.place(at), text, upright=True, row=number % 4)
            for number, (at, text) in enumerate(sorted(rules))
        ),
        dots=tuple(dots),
    )


def _log_ticks(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    numbers = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5)]
    return [number for number in numbers if low <= number <= high] or [low, high]


def mode_chart(counts: Sequence[ModeCounts], width: float = WIDE) -> Chart:
    """Stacked bars: the first cause of each unsuccessful run, as a share of the agent's runs."""
    left, row_height, top = ROW_LEFT, NAME_HEIGHT + 34.0, 4.0
    height = top + row_height * len(counts) + BOTTOM
    x = Scale(0.0, 1.0, left, width - RIGHT)
    bars, names = [], []
    for number, agent in enumerate(counts):
        y = top + row_height * number + NAME_HEIGHT
        names.append(Tick(y - 6, short_name(agent.name, width)))
        start = 0.0
        for style, (mode, count) in enumerate(agent.first):
            share = count / agent.runs
            length = x.place(share) - x.place(0.0)
            if count:
                name = f"{agent.name}: {mode} in {count} of {counted(agent.runs, 'run')}"
                text = str(count) if length >= ROOM_FOR_TEXT else ""
                bars.append(Bar(x.place(start), y, length, 24, style % STYLES, name, text))
            start += share
    modes = [mode for mode, _ in counts[0].first] if counts else []
    return Chart(
        name="First cause of failure, as a share of each agent's runs",
        x_title="share of the agent's runs",
        y_title="",
        width=width,
        left=left,
        top=top,
        height=height,
        x_ticks=tuple(Tick(x.place(at), f"{100 * at:.0f} %") for at in (0, 0.25, 0.5, 0.75, 1)),
        y_ticks=(),
        names=tuple(names),
        bars=tuple(bars),
        keys=tuple(Key(style % STYLES, mode) for style, mode in enumerate(modes)),
        keys_are="bars",
    )
