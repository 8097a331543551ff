"""A report's figures as files for other programs and for papers.

CSV and Parquet hold every number with all its digits; LaTeX and Markdown show them as the pages do.
"""

import csv
import io
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.records import Record
from mlagentbench.report.exports.paper_tables import Grid, grids
from mlagentbench.report.exports.tables import TABLES, ExportTable
from mlagentbench.report.report_data import ReportData
from mlagentbench.report.text import visible

ExportFormat = Literal["csv", "parquet", "latex", "markdown"]
NEEDS_PYARROW = "--parquet needs pyarrow; install it with: pip install 'mlagentbench[parquet]'"
_LATEX_SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "±": r"$\pm$", '"': "''", "|": r"\textbar{}",
    "⟨": r"$\langle$", "⟩": r"$\rangle$",
}  # fmt: skip
_LATEX_SPECIAL = re.compile("[" + re.escape("".join(_LATEX_SIGNS)) + "]")


def write_exports(data: ReportData, formats: frozenset[ExportFormat], folder: Path) -> list[Path]:
    """Write the tables in each of these formats; gives back the files."""
    require_formats(formats)
    writers: dict[ExportFormat, Callable[[ReportData], Iterator[tuple[str, bytes]]]] = {
        "csv": _csv_files,
        "parquet": _parquet_files,
        "latex": _latex_files,
        "markdown": _markdown_files,
    }
    written = []
    for name, write in writers.items():
        if name in formats:
            for file_name, contents in write(data):
                write_atomically(folder / file_name, contents)
                written.append(folder / file_name)
    return written


def require_formats(formats: frozenset[ExportFormat]) -> None:
    """UsageError, before any work is done, when a format cannot be written here."""
    if "parquet" in formats:
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise UsageError(NEEDS_PYARROW) from error


def _csv_files(data: ReportData) -> Iterator[tuple[str, bytes]]:
    for table in TABLES:
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(table.row.model_fields), lineterminator="\n")
        writer.writeheader()
        writer.writerows(row.model_dump() for row in table.rows(data))
        yield f"{table.name}.csv", text.getvalue().encode()


def _parquet_files(data: ReportData) -> Iterator[tuple[str, bytes]]:
    import pyarrow
    from pyarrow import parquet

    for table in TABLES:
        rows = [row.model_dump() for row in table.rows(data)]
        columns = pyarrow.Table.from_pylist(rows, schema=_schema(table))
        buffer = io.BytesIO()
        parquet.write_table(columns, buffer)
        yield f"{table.name}.parquet", buffer.getvalue()


def _schema(table: ExportTable) -> Any:
    import pyarrow

    kinds = {
        str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()
    }  # fmt: skip
    return pyarrow.schema(
        [(name, kinds[_plain_type(table.row, name)]) for name in table.row.model_fields]
    )


def _plain_type(row: type[Record], field: str) -> type:
    """The type of a column; every column may have gaps."""
    annotation = row.model_fields[field].annotation
    if get_origin(annotation) in (Union, types.UnionType):
        [annotation] = [one for one in get_args(annotation) if one is not type(None)]
    if not isinstance(annotation, type):
        raise TypeError(f"{row.__name__}.{field}: {annotation} is no type of a column")
    return annotation


def _latex_files(data: ReportData) -> Iterator[tuple[str, bytes]]:
    for grid in grids(data):
        yield f"{grid.name}.tex", latex(grid).encode()


def _markdown_files(data: ReportData) -> Iterator[tuple[str, bytes]]:
    yield "tables.md", "\n".join(map(markdown, grids(data))).encode()


def latex(grid: Grid) -> str:
    """A table in the style of booktabs; \\input it where \\usepackage{booktabs} is."""
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{_escaped(grid.title)}}}",
        f"\\begin{{tabular}}{{l{'r' * len(grid.columns)}}}",
        "\\toprule",
        _latex_row("task", grid.columns),
        "\\midrule",
    ]
    for line in grid.lines:
        if line.is_summary:
            lines.append("\\midrule")
        lines.append(_latex_row(line.label, line.values))
    lines += ["\\bottomrule", "\\end{tabular}"]
    lines += [f"\\par\\footnotesize {_escaped(note)}" for note in grid.notes]
    return "\n".join([*lines, "\\end{table}", ""])


def _latex_row(label: str, values: tuple[str, ...]) -> str:
    return " & ".join(map(_escaped, (label, *values))) + r" \\"


def _escaped(text: str) -> str:
    escaped = _LATEX_SPECIAL.sub(lambda sign: _LATEX_SIGNS[sign[0]], visible(text))
    return re.sub(r"^\[", "{[}", re.sub(r"^-(?=\d)", "$-$", escaped))


def markdown(grid: Grid) -> str:
    """A table with its title above and its notes below."""
    head = ("task", *grid.columns)
    lines = [f"**{_markdown_text(grid.title)}**", "", _markdown_row(head)]
    lines.append("|---" + "|---:" * len(grid.columns) + "|")
    lines += [_markdown_row((line.label, *line.values)) for line in grid.lines]
    return "\n".join([*lines, "", *(f"- {_markdown_text(note)}" for note in grid.notes), ""])


def _markdown_row(texts: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_markdown_text, texts))} |"


def _markdown_text(text: str) -> str:
    """The text as it is: nothing in it makes a cell, a tag, a link or an emphasis."""
    escaped = re.sub(r"([\\|*_`<>])", r"\\\1", " ".join(visible(text).split()))
    return escaped.replace("](", r"]\(")
