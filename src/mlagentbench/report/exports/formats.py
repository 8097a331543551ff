"""The formats that a report can be exported to; a new one is a file and a row of FORMATS."""

from collections.abc import Collection
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.plugins import Registry

if TYPE_CHECKING:
    from mlagentbench.report.report_data import ReportData


@dataclass(frozen=True)
class ExportFormat:
    """A format: its option of `report`, where its files go, and what makes them."""

    name: str
    description: str
    """The help of its option."""
    folder: str
    """Below the report."""
    module: str
    """Has the function `files(data: ReportData)`, which yields each file's name and contents."""
    needs: str | None = None
    """A package that an extra installs."""
    extra: str = ""
    """That extra, if it is not called like the format."""


_HERE = "mlagentbench.report.exports"
FORMATS = Registry(
    "export format",
    ExportFormat("csv", "Tables with all digits.", "tables", f"{_HERE}.csv_tables"),
    ExportFormat(
        "parquet", "The same, as Parquet.", "tables", f"{_HERE}.parquet_tables", needs="pyarrow"
    ),
    ExportFormat("latex", "Tables for a paper.", "tables", f"{_HERE}.latex_tables"),
    ExportFormat("markdown", "Tables for a README.", "tables", f"{_HERE}.markdown_tables"),
    ExportFormat("plots", "Plots as SVG and PDF.", "plots", f"{_HERE}.plots", needs="matplotlib"),
    ExportFormat(
        "paper",
        "Each table and plot of the paper.",
        "paper",
        f"{_HERE}.paper.paper_export",
        needs="matplotlib",
        extra="plots",
    ),
)


def require_formats(names: Collection[str]) -> None:
    """UsageError, before any work is done, when the package for a format is not installed."""
    for name in names:
        package = FORMATS[name].needs
        try:
            if package is not None:
                import_module(package)
        except ImportError as error:
            extra = FORMATS[name].extra or name
            fix = f"install it with: pip install 'mlagentbench[{extra}]'"
            raise UsageError(f"--{name} needs {package}; {fix}") from error


def write_exports(data: "ReportData", names: Collection[str], to: Path) -> list[Path]:
    """Write a report in each of these formats below its directory; returns the files."""
    require_formats(names)
    written = []
    for name, export in FORMATS.items():
        if name in names:
            for file_name, contents in import_module(export.module).files(data):
                written.append(to / export.folder / file_name)
                write_atomically(written[-1], contents)
    return written
