"""Plots for papers as SVG and PDF: the series of the site, drawn with matplotlib.

The same numbers give the same files: no dates, no random names. Text stays text, so that a paper's
fonts apply to it.
"""

import io
import math
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.grading.rungs import RUNGS
from mlagentbench.numeric.number_format import percent_text
from mlagentbench.report.report_data import ReportData
from mlagentbench.report.site.charts import round_tokens
from mlagentbench.report.site.heat_colours import SCHEMES, shade_colours, shade_of
from mlagentbench.report.site.rung_chart import is_hatched, rung_colours
from mlagentbench.report.site.series import (
    CURVE_TITLES,
    Curve,
    mode_counts,
    profiles,
    score_curve,
    trade_offs,
)
from mlagentbench.statistics.leaderboard import Leaderboard

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WITHOUT_DATES: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
COLOURS = ["#0b6b64", "#b3502e", "#3f5fb0", "#8a6100", "#8b3a83", "#4d6b1f", "#a02c4e", "#5a6570"]
MARKERS = ("o", "s", "^", "D")
DASHES = ("-", "--", ":", "-.")
SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "mlagentbench",
    "pdf.fonttype": 42,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.constrained_layout.use": True,
}
NAME_LETTERS, LEGEND_LETTERS = 36, 80
"""The letters of a name that fit into one line, beside a plot and below it."""
MOST_CURVES = 200
"""Runs of a task whose curves are drawn."""


@dataclass(frozen=True)
class Plot:
    """A figure, and the name of its files."""

    name: str
    figure: "Figure"


def files(data: ReportData) -> Iterator[tuple[str, bytes]]:
    """All plots of a report, each as SVG and as PDF."""
    from matplotlib import rc_context

    with rc_context(SETTINGS):
        for plot in _plots(data):
            for kind, metadata in WITHOUT_DATES.items():
                contents = io.BytesIO()
                plot.figure.savefig(contents, format=kind, metadata=metadata)
                yield f"{plot.name}.{kind}", contents.getvalue()


def _plots(data: ReportData) -> Iterator[Plot]:
    several = len(data.leaderboards) > 1
    for number, leaderboard in enumerate(data.leaderboards, start=1):
        name = f"leaderboard-{number}-" if several else ""
        yield Plot(f"{name}success", _heatmap(leaderboard))
        if any(row.rungs for row in leaderboard.rows):
            yield Plot(f"{name}rungs", _rungs(leaderboard))
        if any(point.tokens for point in trade_offs(leaderboard)):
            yield Plot(f"{name}trade-off", _trade_off(leaderboard))
        if profiles(leaderboard):
            yield Plot(f"{name}profile", _profile(leaderboard))
    summaries = data.collection.summaries
    if any(one.unsuccessful for one in mode_counts(summaries)):
        yield Plot("error-modes", _error_modes(summaries))
    by_task: dict[str, list[RunSummary]] = defaultdict(list)
    for summary in summaries:
        if score_curve(summary, "steps") is not None:
            by_task[summary.result.record.disclosure.task].append(summary)
    for task in sorted(by_task):
        yield Plot(f"scores-{task}", _scores(by_task[task][:MOST_CURVES]))


def new_figure(width: float, height: float) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, figure.add_subplot()


def _heatmap(leaderboard: Leaderboard) -> "Figure":
    """Success rates, agents against tasks, with the numbers in the cells."""
    from matplotlib.patches import Rectangle

    rows = [row for row in leaderboard.rows if row.cells]
    names = [wrapped(row.name, NAME_LETTERS) for row in rows]
    tasks = leaderboard.tasks
    figure, axes = new_figure(3.2 + 0.5 * len(tasks), 1.8 + 0.6 * len(rows))
    rates = [
        [
            next((cell.success.rate for cell in row.cells if cell.key.task == task), None)
            for task in tasks
        ]
        for row in rows
    ]
    for y, line in enumerate(rates):
        for x, rate in enumerate(line):
            ground, ink = ("white", "black") if rate is None else _shades(rate)
            axes.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, color=ground, linewidth=0))
            text = percent_text(rate, 0)
            axes.text(x, y, text, ha="center", va="center", color=ink)
    axes.set_xlim(-0.5, len(tasks) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xticks(range(len(tasks)), tasks, rotation=45, ha="right")
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    axes.set_title("success rate in %", loc="left", fontsize=9)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return figure


def _rungs(leaderboard: Leaderboard) -> "Figure":
    """Stacked bars: how far up each agent's runs got, the highest rung first."""
    rows = [row for row in leaderboard.rows if row.rungs]
    figure, axes = new_figure(7.4, 1.8 + 0.5 * len(rows))
    starts = [0.0 for _ in rows]
    names = [wrapped(row.name, NAME_LETTERS) for row in rows]
    for rung in reversed(RUNGS):
        shares = [row.rungs[rung] for row in rows]
        ground, ink = rung_colours(SCHEMES[0], rung)
        hatch = "////" if is_hatched(rung) else None
        bars = axes.barh(
            names, shares, left=starts, color=ground, edgecolor="0.35", linewidth=0.6, label=rung,
            hatch=hatch,
        )  # fmt: skip
        texts = [percent_text(share, 0) if share >= 0.04 else "" for share in shares]
        box = {"facecolor": ground, "edgecolor": "none", "pad": 1.0} if hatch else None
        axes.bar_label(bars, texts, label_type="center", color=ink, fontsize=8, bbox=box)
        starts = [start + share for start, share in zip(starts, shares, strict=True)]
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel(
        "share of runs by the highest rung that they reach, mean over tasks (in bars: %)"
    )
    put_legend(figure, axes, columns=3)
    return figure


def _shades(rate: float) -> tuple[str, str]:
    return shade_colours(SCHEMES[0], shade_of(rate) or 0)


def _trade_off(leaderboard: Leaderboard) -> "Figure":
    """Tokens a run against the success rate; agents without a model are at the left."""
    figure, axes = new_figure(5.2, 4.0)
    points = trade_offs(leaderboard)
    used = [point.tokens for point in points if point.tokens > 0]
    first = 10.0 ** math.floor(math.log10(min(used)))
    least = first / 3
    for number, point in enumerate(points):
        x = point.tokens if point.tokens > 0 else least
        if point.interval is not None:
            axes.plot([x, x], [point.interval.low, point.interval.high], color=colour(number))
        marker = MARKERS[number % len(MARKERS)]
        axes.plot([x], [point.rate], marker, color=colour(number), label=point.name)
    axes.set_xscale("log")
    axes.set_xlim(least / 2, max(used) * 3)
    ticks = [10.0**power for power in range(12) if first <= 10.0**power < max(used) * 3]
    free = [least] if len(used) < len(points) else []
    labels = ["none" for _ in free] + [round_tokens(tick) for tick in ticks]
    axes.set_xticks([*free, *ticks], labels)
    axes.minorticks_off()
    axes.set_ylim(-0.04, 1.04)
    axes.set_xlabel("tokens a run")
    axes.set_ylabel("success rate")
    put_legend(figure, axes)
    return figure


def _profile(leaderboard: Leaderboard) -> "Figure":
    figure, axes = new_figure(5.2, 4.0)
    for number, curve in enumerate(profiles(leaderboard)):
        _draw_curve(axes, curve, DASHES[number % len(DASHES)], color=colour(number))
    axes.set_xlabel("normalised score of at least")
    axes.set_ylabel("share of runs, mean over tasks")
    put_legend(figure, axes)
    return figure


def _draw_curve(axes: "Axes", curve: Curve, *style: str, **options: Any) -> None:
    xs, ys = [point.x for point in curve.points], [point.y for point in curve.points]
    axes.step(xs, ys, *style, where="post", label=curve.name, **options)


def _error_modes(summaries: Sequence[RunSummary]) -> "Figure":
    """Stacked bars: the first cause of each unsuccessful run, as a share of an agent's runs."""
    agents = [one for one in mode_counts(summaries) if one.unsuccessful]
    figure, axes = new_figure(7.4, 1.8 + 0.6 * len(agents))
    starts = [0.0 for _ in agents]
    names = [wrapped(agent.name, NAME_LETTERS) for agent in agents]
    for number, (mode, _) in enumerate(agents[0].first):
        shares = [dict(agent.first)[mode] / agent.runs for agent in agents]
        axes.barh(names, shares, left=starts, color=colour(number), label=mode, edgecolor="white")
        starts = [start + share for start, share in zip(starts, shares, strict=True)]
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of runs, by the first cause of failure")
    put_legend(figure, axes, columns=4)
    return figure


def _scores(summaries: Sequence[RunSummary]) -> "Figure":
    """The score of the workspace against each resource that runs use."""
    from matplotlib.figure import Figure

    curves = {axis: [score_curve(one, axis) for one in summaries] for axis in CURVE_TITLES}
    known = {axis: list(filter(None, found)) for axis, found in curves.items() if any(found)}
    names = sorted({curve.name for found in known.values() for curve in found})
    colours = dict(zip(names, cycle(COLOURS), strict=False))
    figure = Figure(figsize=(3.0 * len(known), 3.4))
    for place, (axis, found) in enumerate(known.items(), start=1):
        axes = figure.add_subplot(1, len(known), place)
        for curve in found:
            _draw_curve(axes, curve, color=colours[curve.name], alpha=0.7)
        axes.axhline(0, color="0.6", linestyle=":", linewidth=1)
        axes.locator_params(axis="x", nbins=5)
        axes.axhline(1, color="0.6", linestyle=":", linewidth=1)
        axes.set_xlabel(CURVE_TITLES[axis] + (", seconds" if axis == "seconds" else ""))
        if place == 1:
            axes.set_ylabel("normalised score")
            put_legend(figure, axes)
    return figure


def put_legend(figure: "Figure", axes: "Axes", columns: int = 2) -> None:
    """Below the figure, where it covers nothing; long names are below each other."""
    handles, names = axes.get_legend_handles_labels()
    lines = dict(zip(names, handles, strict=True))
    if any(len(name) > NAME_LETTERS for name in lines):
        columns = 1
    texts = [wrapped(name, LEGEND_LETTERS) for name in lines]
    figure.legend(lines.values(), texts, loc="outside lower left", ncols=columns)


def wrapped(name: str, letters: int) -> str:
    """A name in as many lines as it needs, of about so many letters."""
    return "\n".join(textwrap.wrap(name, letters))


def colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]
