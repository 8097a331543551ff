"""The picture of rungs: a bar an agent, stacked by how far up its runs got.

The highest rung is at the left, so that the bar's length up to a rung is the share of runs that
reach it. Colours get darker with the rungs (on a dark page: lighter), and runs without a valid
submission are hatched, so that the picture can be read without colours.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlagentbench.grading.rungs import RUNGS, shown_shares
from mlagentbench.numeric.number_format import percent_text
from mlagentbench.records import Rung
from mlagentbench.report.site.charts import (
    BOTTOM,
    NAME_HEIGHT,
    RIGHT,
    ROW_LEFT,
    WIDE,
    Bar,
    Chart,
    Drawing,
    Key,
    Scale,
    Tick,
    drawing,
    short_name,
)
from mlagentbench.report.site.heat_colours import SCHEMES, Scheme, contrast

PALETTE = "rung-"
"""The class of a rung's colour is this and its number."""
COLOURS = {
    "light": ("#f4f1ec", "#dde4e2", "#a3cac4", "#68aca4", "#24776f", "#083f3a"),
    "dark": ("#20262a", "#39434a", "#2d5c57", "#3f8f86", "#7fd0c5", "#d6f7f2"),
}
"""From the lowest rung to the highest, in each scheme."""
BAR_HEIGHT = 24.0
HATCH_STEP = 6.0
"""Pixels between the lines of the hatch."""
ROOM_FOR_NUMBER, ROOM_FOR_PERCENT = 22.0, 42.0


@dataclass(frozen=True)
class RungRow:
    """A name with the share of runs on each rung; empty shares are not drawn."""

    name: str
    shares: Mapping[Rung, float]


@dataclass(frozen=True)
class RungPicture:
    """The picture, and the rows of the table that says the same."""

    drawing: Drawing
    rows: tuple[RungRow, ...]
    rungs: tuple[Rung, ...] = tuple(reversed(RUNGS))


def rung_picture(rows: Sequence[RungRow], of: str) -> RungPicture | None:
    """The picture of all rows that are known; None without any. `of` says whose shares they are."""
    known = tuple(row for row in rows if row.shares)
    if not known:
        return None
    return RungPicture(drawing(lambda width: rung_chart(known, of, width), WIDE), known)


def rung_chart(rows: Sequence[RungRow], of: str, width: float = WIDE) -> Chart:
    row_height, top = NAME_HEIGHT + 34.0, 4.0
    x = Scale(0.0, 1.0, ROW_LEFT, width - RIGHT)
    bars: list[Bar] = []
    names = []
    for number, row in enumerate(rows):
        y = top + row_height * number + NAME_HEIGHT
        names.append(Tick(y - 6, short_name(row.name, width)))
        bars += _bars(row, x, y)
    return Chart(
        name=f"{of} by the highest rung that they reach; the table below has the numbers",
        x_title=of,
        y_title="",
        width=width,
        left=ROW_LEFT,
        top=top,
        height=top + row_height * len(rows) + BOTTOM,
        x_ticks=tuple(Tick(x.place(at), f"{100 * at:.0f} %") for at in (0, 0.25, 0.5, 0.75, 1)),
        y_ticks=(),
        names=tuple(names),
        bars=tuple(bars),
        keys=tuple(_key(rung) for rung in reversed(RUNGS)),
        keys_are="bars",
        palette=PALETTE,
    )


def _bars(row: RungRow, x: Scale, y: float) -> Iterator[Bar]:
    start = 0.0
    for rung, share in shown_shares(row.shares):
        left, length = x.place(start), x.place(share) - x.place(0.0)
        percent = percent_text(share, 0)
        text = f"{percent} %" if length >= ROOM_FOR_PERCENT else percent
        yield Bar(
            x=left,
            y=y,
            width=length,
            height=BAR_HEIGHT,
            style=RUNGS.index(rung),
            name=f"{row.name}: {rung} {percent_text(share)} %",
            text=text if length >= ROOM_FOR_NUMBER else "",
            hatch=hatch(left, y, length, BAR_HEIGHT) if is_hatched(rung) else "",
        )
        start += share


def _key(rung: Rung) -> Key:
    return Key(RUNGS.index(rung), rung, hatch(5, 1, 16, 12) if is_hatched(rung) else "")


def is_hatched(rung: Rung) -> bool:
    return rung == "invalid"


def hatch(left: float, top: float, width: float, height: float) -> str:
    """The path of diagonal lines that fill a rectangle."""
    parts = []
    offset = HATCH_STEP / 2
    while offset < width + height:
        low, high = max(0.0, offset - height), min(offset, width)
        start, end = top + offset - low, top + offset - high
        parts.append(f"M{left + low:.1f} {start:.1f}L{left + high:.1f} {end:.1f}")
        offset += HATCH_STEP
    return "".join(parts)


def rung_colours(scheme: Scheme, rung: Rung) -> tuple[str, str]:
    """Background and text of a rung."""
    ground = COLOURS[scheme.name][RUNGS.index(rung)]
    return ground, max(
        (scheme.dark_text, scheme.light_text), key=lambda text: contrast(text, ground)
    )


def rung_css() -> str:
    """A rule for each rung, for both schemes."""
    rules = []
    for number, rung in enumerate(RUNGS):
        (light, light_text), (dark, dark_text) = (rung_colours(one, rung) for one in SCHEMES)
        rules.append(
            f".{PALETTE}{number} {{ --s: light-dark({light}, {dark}); "
            f"--on: light-dark({light_text}, {dark_text}); }}\n"
        )
    return "".join(rules)
