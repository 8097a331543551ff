"""LaTeX tables in the style of booktabs, one file each."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from mlagentbench.report.exports.paper_grids import Grid, grids
from mlagentbench.report.report_data import ReportData
from mlagentbench.untrusted_text import visible

_LATEX_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "⟨": r"$\langle$",
    "⟩": r"$\rangle$",
    '"': "''",
}
TEXT_EM = 39.0
"""The width of an article's text in em of \\footnotesize: 39 at 12 points, 43 at 10 points."""
MOST_HEAD_EM = 8.0
"""A longer name is not written above its column."""
GAP_EM = 0.75
"""Between two columns: twice \\tabcolsep."""
_SIGNS_BY_WIDTH = {
    0.30: "!',.:;[]_`il",
    0.36: " -fj",
    0.42: "()Irst",
    0.48: "cez",
    0.54: '"$*/0123456789^aog{}\\~',
    0.60: "?<>JSbdhknpquvxy",
    0.70: "FLZ",
    0.85: "#%&+=@mwABCDEGHKNOPQRTUVXY±",
}
WIDTHS = {sign: width for width, signs in _SIGNS_BY_WIDTH.items() for sign in signs}
WIDEST = 1.1
LONG_WORD = 30
"""A word with so many signs may need to be broken."""
_LATEX_SPECIAL = re.compile("[" + re.escape("".join(_LATEX_SIGNS)) + "]")


def files(data: ReportData) -> Iterator[tuple[str, bytes]]:
    for grid in grids(data):
        yield f"{grid.name}.tex", latex(grid).encode()


def latex(grid: Grid) -> str:
    """A table in the style of booktabs; \\input it where \\usepackage{booktabs} is.

    It is as wide as the text of an article at most: intervals are below their numbers, long names
    become letters that a note explains, and columns that do not fit become another table.
    """
    columns = _columns(grid)
    labels = max(map(text_em, [grid.head, *(line.label for line in grid.lines)])) + GAP_EM
    parts = _parts(columns, labels)
    tables = [_table(grid, part, number, len(parts)) for number, part in enumerate(parts, start=1)]
    return "\n".join(["% needs \\usepackage{booktabs}", *tables])


@dataclass(frozen=True)
class _Column:
    """A column: its place in the grid, what stands above it, and its width in em."""

    place: int
    head: str
    name: str
    width: float


def _columns(grid: Grid) -> list[_Column]:
    columns = []
    for place, name in enumerate(grid.columns):
        head = _letters(place) if text_em(name) > MOST_HEAD_EM else name
        lines = [part for line in grid.lines for part in _stacked(line.values[place])]
        columns.append(_Column(place, head, name, max(map(text_em, [head, *lines])) + GAP_EM))
    return columns


def _parts(columns: Sequence[_Column], labels: float) -> list[list[_Column]]:
    """The columns of each table, as many as fit beside the labels, spread evenly."""
    parts = _filled(columns, labels, len(columns))
    return _filled(columns, labels, math.ceil(len(columns) / len(parts)))


def _filled(columns: Sequence[_Column], labels: float, most: int) -> list[list[_Column]]:
    parts: list[list[_Column]] = [[]]
    for column in columns:
        used = labels + sum(one.width for one in parts[-1])
        if parts[-1] and (len(parts[-1]) == most or used + column.width > TEXT_EM):
            parts.append([])
        parts[-1].append(column)
    return parts


def _table(grid: Grid, columns: Sequence[_Column], number: int, of: int) -> str:
    title = grid.title if of == 1 else f"{grid.title}; table {number} of {of}"
    lines = [
        "\\begin{table}",
        "\\centering\\footnotesize\\setlength{\\tabcolsep}{3pt}",
        f"\\caption{{{_escaped(title)}}}",
        f"\\begin{{tabular}}{{l{'r' * len(columns)}}}",
        "\\toprule",
        _row([grid.head, *(column.head for column in columns)]),
        "\\midrule",
    ]
    for line in grid.lines:
        if line.is_summary:
            lines.append("\\midrule")
        stacked = [_stacked(line.values[column.place]) for column in columns]
        lines.append(_row([line.label, *(number for number, _ in stacked)]))
        if any(below for _, below in stacked):
            lines.append(_row(["", *(below for _, below in stacked)]))
    lines += ["\\bottomrule", "\\end{tabular}"]
    keys = [f"{one.head}: {one.name}" for one in columns if one.head != one.name]
    lines += [f"\\par\\raggedright {_breakable(note)}" for note in (*keys, *grid.notes)]
    return "\n".join([*lines, "\\end{table}", ""])


def _stacked(value: str) -> tuple[str, str]:
    """A number, and the interval that follows it, which goes below it."""
    number, _, interval = value.partition(" [")
    return number, f"[{interval}" if interval else ""


def _letters(place: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    first, last = divmod(place, len(ascii_uppercase))
    return (_letters(first - 1) if first else "") + ascii_uppercase[last]


def text_em(text: str) -> float:
    """The width of a text in Computer Modern at 8 points, in em; signs it lacks count as wide."""
    return sum(WIDTHS.get(sign, WIDEST) for sign in text)


def _row(texts: Sequence[str]) -> str:
    return " & ".join(map(_escaped, texts)) + r" \\"


def _breakable(text: str) -> str:
    """The text of a note; names that are too long for a line may be broken."""
    escaped = _escaped(text)
    if max(map(len, text.split()), default=0) < LONG_WORD:
        return escaped
    return re.sub(r"([/=(,]|\\_)(?=\S)", r"\1\\allowbreak{}", escaped)


def _escaped(text: str) -> str:
    escaped = _LATEX_SPECIAL.sub(lambda sign: _LATEX_SIGNS[sign[0]], visible(text))
    return re.sub(r"^\[", "{[}", re.sub(r"^-(?=\d)", "$-$", escaped))
