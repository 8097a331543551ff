"""The plots of the paper's items: bars for each line, or one stacked bar for each column."""

import io
from typing import TYPE_CHECKING

from mlagentbench.report.exports.paper.paper_items import PaperItem, PaperValue
from mlagentbench.report.exports.plots import (
    SETTINGS,
    WITHOUT_DATES,
    colour,
    new_figure,
    put_legend,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXES = {"percent": "percent", "seconds": "hours", "tokens": "thousand tokens"}
SCALES = {"percent": 100.0, "seconds": 1 / 3600, "tokens": 1e-3}
BAR_HEIGHT = 0.13
"""Inches."""


def is_drawn(item: PaperItem) -> bool:
    """Whether there is anything to draw."""
    return bool(_lines(item))


def drawn_item(item: PaperItem) -> bytes:
    """The plot as SVG; the same values give the same bytes."""
    from matplotlib import rc_context

    contents = io.BytesIO()
    with rc_context(SETTINGS):
        figure = _stacked(item) if item.drawing == "stacked" else _bars(item)
        figure.savefig(contents, format="svg", metadata=WITHOUT_DATES["svg"])
    return contents.getvalue()


def _drawn(item: PaperItem) -> dict[str, dict[str, PaperValue]]:
    """The values of the plot: column to line to value."""
    found: dict[str, dict[str, PaperValue]] = {column: {} for column in item.drawn}
    for one in item.values:
        if one.column in found and one.value is not None:
            found[one.column][one.line] = one
    return found


def _lines(item: PaperItem) -> list[str]:
    known = {line for values in _drawn(item).values() for line in values}
    return [line for line in dict.fromkeys(one.line for one in item.values) if line in known]


def _bars(item: PaperItem) -> "Figure":
    """A group of bars for each line, with the interval of each."""
    columns, lines = _drawn(item), _lines(item)
    height = BAR_HEIGHT * len(lines) * (len(columns) + 1)
    figure, axes = new_figure(6.4, 1.2 + height + 0.1 * len(columns))
    width = 1 / (len(columns) + 1)
    for number, (column, values) in enumerate(columns.items()):
        places = [lines.index(line) + (number - (len(columns) - 1) / 2) * width for line in values]
        lengths = [_scaled(one, one.value or 0.0) for one in values.values()]
        axes.barh(places, lengths, height=0.9 * width, color=colour(number), label=column)
        for place, one in zip(places, values.values(), strict=True):
            if one.interval is not None:
                ends = [_scaled(one, one.interval.low), _scaled(one, one.interval.high)]
                axes.plot(ends, [place, place], color="0.25", linewidth=0.8)
    axes.set_yticks(range(len(lines)), lines)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    units = {one.unit for values in columns.values() for one in values.values()}
    axes.set_xlabel(" ".join(AXES[unit] for unit in units))
    axes.set_title(item.title, loc="left", fontsize=9, wrap=True)
    put_legend(figure, axes, columns=1)
    return figure


def _scaled(one: PaperValue, number: float) -> float:
    return number * SCALES[one.unit]


def _stacked(item: PaperItem) -> "Figure":
    """One bar for each column, made of its lines."""
    columns, lines = _drawn(item), _lines(item)
    figure, axes = new_figure(6.4, 1.6 + 0.35 * len(columns))
    starts = dict.fromkeys(columns, 0.0)
    for number, line in enumerate(lines):
        shares = {
            column: _scaled(values[line], values[line].value or 0.0) if line in values else 0.0
            for column, values in columns.items()
        }
        axes.barh(
            list(columns),
            list(shares.values()),
            left=list(starts.values()),
            color=colour(number),
            label=line,
            edgecolor="white",
        )
        starts = {column: start + shares[column] for column, start in starts.items()}
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("percent of runs")
    axes.set_title(item.title, loc="left", fontsize=9, wrap=True)
    put_legend(figure, axes, columns=4)
    return figure
