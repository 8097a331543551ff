"""`report --paper`: a file for each table and plot of the paper, in three forms.

PAPER/index.md     what each file is
PAPER/NAME.csv     every value in full precision, one a line
PAPER/NAME.md      the table
PAPER/NAME.svg     the plot
"""

import csv
import io
from collections.abc import Iterator

from mlagentbench.numeric.number_format import (
    NOTHING,
    duration_text,
    exact,
    percent_interval_text,
    percent_text,
    tokens_text,
)
from mlagentbench.report.exports.markdown_tables import markdown
from mlagentbench.report.exports.paper.paper_items import PaperItem, PaperValue, Unit, paper_items
from mlagentbench.report.exports.paper.paper_plots import drawn_item, is_drawn
from mlagentbench.report.exports.paper_grids import Grid, GridLine
from mlagentbench.report.report_data import ReportData

COLUMNS = ("source", "unit", "value", "low", "high", "runs", "missing")
UNITS: dict[Unit, str] = {"percent": "share", "seconds": "seconds", "tokens": "tokens"}


def files(data: ReportData) -> Iterator[tuple[str, bytes]]:
    items = list(paper_items(data))
    for item in items:
        yield f"{item.name}.csv", _csv(item).encode()
        yield f"{item.name}.md", markdown(_grid(item)).encode()
        if is_drawn(item):
            yield f"{item.name}.svg", drawn_item(item)
    yield "index.md", _index(items).encode()


def _csv(item: PaperItem) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((item.head.replace(" ", "_"), "column", *COLUMNS))
    for one in item.values:
        low, high = (one.interval.low, one.interval.high) if one.interval else (None, None)
        numbers = (exact(one.value), exact(low), exact(high))
        is_ours = one.source == "runs"
        counts = (one.runs, one.missing) if is_ours else ("", "")
        writer.writerow((one.line, one.column, one.source, UNITS[one.unit], *numbers, *counts))
    return text.getvalue()


def _grid(item: PaperItem) -> Grid:
    columns = tuple(dict.fromkeys((*item.drawn, *(one.column for one in item.values))))
    lines: dict[str, dict[str, PaperValue]] = {}
    for one in item.values:
        lines.setdefault(one.line, {})[one.column] = one
    return Grid(
        name=item.name,
        title=item.title,
        head=item.head,
        columns=columns,
        lines=tuple(
            GridLine(
                line,
                tuple(_text(values.get(column)) for column in columns),
                is_summary=any(one.is_summary for one in values.values()),
            )
            for line, values in lines.items()
        ),
        notes=item.notes,
    )


def _text(one: PaperValue | None) -> str:
    if one is None or one.value is None:
        return NOTHING
    if one.unit == "percent":
        return f"{percent_text(one.value)} % {percent_interval_text(one.interval)}".rstrip()
    return duration_text(one.value) if one.unit == "seconds" else tokens_text(one.value)


def _index(items: list[PaperItem]) -> str:
    lines = ["# The paper's tables and plots, from these runs", ""]
    lines += ["Values, table and plot of each item; docs/reproduce.md explains them.", ""]
    for item in items:
        kinds = ("csv", "md", "svg") if is_drawn(item) else ("csv", "md")
        links = ", ".join(f"[{kind}]({item.name}.{kind})" for kind in kinds)
        lines.append(f"- {item.title}: {links}")
    return "\n".join([*lines, ""])
