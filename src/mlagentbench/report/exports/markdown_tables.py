"""Markdown tables, all in one file."""

import re
from collections.abc import Iterator

from mlagentbench.report.exports.paper_grids import Grid, grids
from mlagentbench.report.report_data import ReportData
from mlagentbench.untrusted_text import visible


def files(data: ReportData) -> Iterator[tuple[str, bytes]]:
    yield "tables.md", "\n".join(map(markdown, grids(data))).encode()


def markdown(grid: Grid) -> str:
    """A table with its title above and its notes below."""
    head = (grid.head, *grid.columns)
    lines = [f"**{_escaped(grid.title)}**", "", _row(head)]
    lines.append("|---" + "|---:" * len(grid.columns) + "|")
    lines += [_row((line.label, *line.values)) for line in grid.lines]
    return "\n".join([*lines, "", *(f"- {_escaped(note)}" for note in grid.notes), ""])


def _row(texts: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_escaped, texts))} |"


def _escaped(text: str) -> str:
    """The text with its Markdown signs escaped, so that it makes no cell, tag, link or emphasis."""
    escaped = re.sub(r"([\\|*_`<>])", r"\\\1", " ".join(visible(text).split()))
    return escaped.replace("](", r"]\(")
