"""The colours of heatmap cells, with legible text on each of them.

Shades are numbered: 0 is the floor, 10 the full score, -1 to -5 are below the floor. The text is
dark or light, whichever has more contrast with the shade.
"""

from collections.abc import Sequence

from mlagentbench.records import Record

TOP, BOTTOM = 10, -5


class Scheme(Record):
    """The colours of one scheme, as #rrggbb."""

    name: str
    none: str
    """Shade 0."""
    full: str
    """Shade 10."""
    below: str
    """Shade -5."""
    dark_text: str = "#101418"
    light_text: str = "#ffffff"


SCHEMES = (
    Scheme(name="light", none="#f2f6f5", full="#0f766e", below="#c2694a"),
    Scheme(name="dark", none="#232a2e", full="#5fd0c3", below="#b4583a"),
)


def shade_of(share: float | None) -> int | None:
    """The shade of a share; 1 is the full score, negative shares are below the floor."""
    return None if share is None else max(BOTTOM, min(TOP, round(10 * share)))


def heat_class(share: float | None) -> str:
    """The class of a cell with that share."""
    shade = shade_of(share)
    if shade is None:
        return "heat-none"
    return f"heat-{shade}" if shade >= 0 else f"heat-below-{-shade}"


def shade_colours(scheme: Scheme, shade: int) -> tuple[str, str]:
    """Background and text of a shade."""
    end, share = (scheme.full, shade / TOP) if shade >= 0 else (scheme.below, shade / BOTTOM)
    background = _mixed(scheme.none, end, share)
    texts = (scheme.dark_text, scheme.light_text)
    return background, max(texts, key=lambda text: contrast(text, background))


def contrast(one: str, other: str) -> float:
    """The ratio of two colours' luminances, as WCAG 2 defines it."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def heat_css() -> str:
    """A rule for each shade, for both schemes."""
    rules = []
    for shade in range(BOTTOM, TOP + 1):
        (light, light_text), (dark, dark_text) = (
            shade_colours(scheme, shade) for scheme in SCHEMES
        )
        rules.append(
            f".{heat_class(shade / 10)} {{ background-color: light-dark({light}, {dark}); "
            f"color: light-dark({light_text}, {dark_text}); }}\n"
        )
    return "".join(rules)


def _channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _mixed(start: str, end: str, share: float) -> str:
    pairs = zip(_channels(start), _channels(end), strict=True)
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in pairs)


def _luminance(colour: str) -> float:
    return _weighted([_linear(channel / 255) for channel in _channels(colour)])


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def _weighted(rgb: Sequence[float]) -> float:
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]
