"""The formats that a report can be exported to; a new one is a new file and a line of FORMATS."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.report.exports.csv_tables import csv_files
from mlagentbench.report.exports.latex_tables import latex_files
from mlagentbench.report.exports.markdown_tables import markdown_files
from mlagentbench.report.exports.parquet_tables import parquet_files
from mlagentbench.report.exports.plots import plot_files
from mlagentbench.report.report_data import ReportData


@dataclass(frozen=True)
class ExportFormat:
    """Where a format's files go below the report, and the function that makes them.

    `needs` is a package that the extra called like the format installs.
    """

    folder: str
    files: Callable[[ReportData], Iterable[tuple[str, bytes]]]
    """Each file's name and contents."""
    needs: str | None = None


FORMATS = {
    "csv": ExportFormat("tables", csv_files),
    "parquet": ExportFormat("tables", parquet_files, needs="pyarrow"),
    "latex": ExportFormat("tables", latex_files),
    "markdown": ExportFormat("tables", markdown_files),
    "plots": ExportFormat("plots", plot_files, needs="matplotlib"),
}


def require_formats(names: Collection[str]) -> None:
    """UsageError, before any work is done, when the package for a format is not installed."""
    for name in names:
        package = FORMATS[name].needs
        try:
            if package is not None:
                import_module(package)
        except ImportError as error:
            fix = f"install it with: pip install 'mlagentbench[{name}]'"
            raise UsageError(f"--{name} needs {package}; {fix}") from error


def write_exports(data: ReportData, names: Collection[str], to: Path) -> list[Path]:
    """Write a report in each of these formats below its directory; returns the files."""
    require_formats(names)
    written = []
    for name, export in FORMATS.items():
        if name in names:
            for file_name, contents in export.files(data):
                written.append(to / export.folder / file_name)
                write_atomically(written[-1], contents)
    return written
