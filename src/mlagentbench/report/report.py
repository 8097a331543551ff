"""`mlagentbench report`: from run directories to a site, tables and plots.

collect      run directories -> summaries, from the cache where nothing has changed
figures      summaries -> cells -> leaderboards -> comparisons
site         pages that open from disk; a run's page is written again only if the run changed
exports      the same figures as files
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.records import Record
from mlagentbench.report.cached_comparisons import comparisons_of
from mlagentbench.report.collect import Progress, collect
from mlagentbench.report.exports.plots import require_matplotlib, write_plots
from mlagentbench.report.exports.write import ExportFormat, require_formats, write_exports
from mlagentbench.report.inspect_logs import bundle_logs
from mlagentbench.report.published import published_rows
from mlagentbench.report.report_data import Collection, ReportData
from mlagentbench.report.site.build import MANIFEST, build_site
from mlagentbench.report.text import shown_path, this_command
from mlagentbench.runs.results import SuiteOutcome
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.leaderboard import leaderboards

TABLES_FOLDER, PLOTS_FOLDER = "tables", "plots"


class ReportRequest(Record):
    """What a person asked for."""

    directories: tuple[Path, ...]
    to: Path | None = None
    formats: frozenset[ExportFormat] = frozenset()
    bundle: bool = False
    plots: bool = False


@dataclass(frozen=True)
class WrittenReport:
    """A report on disk: what it shows, its first page, and the files with its tables and plots."""

    data: ReportData
    index: Path
    exports: tuple[Path, ...]


def chosen_formats(
    *, csv: bool, parquet: bool, latex: bool, markdown: bool
) -> frozenset[ExportFormat]:
    chosen: dict[ExportFormat, bool] = {
        "csv": csv, "parquet": parquet, "latex": latex, "markdown": markdown
    }  # fmt: skip
    return frozenset(name for name, wanted in chosen.items() if wanted)


def write_report(request: ReportRequest, progress: Progress | None = None) -> WrittenReport:
    """Collect the runs, compute their figures, write the report or bring it up to date."""
    require_formats(request.formats)
    if request.plots:
        require_matplotlib()
    collection = collect(request.directories, progress)
    to = _place(request.to or collection.outs[0] / "report")
    bundle = bundle_logs(collection.outs, to) if request.bundle else None
    data = report_data(collection, this_command(), bundle)
    index = build_site(data, to)
    exports = write_exports(data, request.formats, to / TABLES_FOLDER)
    if request.plots:
        exports += write_plots(data, to / PLOTS_FOLDER)
    return WrittenReport(data=data, index=index, exports=tuple(exports))


def report_suite(outcome: SuiteOutcome) -> str | None:
    """Write the report of runs that have just ended; its first page, or None without runs."""
    if not outcome.results:
        return None
    return shown_path(write_report(ReportRequest(directories=(outcome.out,))).index)


def report_data(collection: Collection, command: str, bundle: str | None = None) -> ReportData:
    """All figures of a report."""
    cells = cell_statistics(collection.summaries)
    ranked = leaderboards(cells)
    return ReportData(
        collection=collection,
        cells=tuple(cells),
        leaderboards=tuple(ranked),
        comparisons=comparisons_of(ranked, collection.outs),
        published=published_rows(),
        generated_at=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command,
        logs_bundle=bundle,
    )


def _place(to: Path) -> Path:
    """The report's directory: new, empty, or a report already."""
    if to.exists() and not to.is_dir():
        raise UsageError(f"--to {to}: is a file; name a directory for the report")
    if to.is_dir() and any(to.iterdir()) and not (to / MANIFEST).is_file():
        raise UsageError(f"--to {to}: holds other files; name a new or empty directory")
    if not (to / MANIFEST).is_file():
        write_atomically(
            to / MANIFEST, b"{}"
        )  # so that a report that is stopped can be gone on with
    return to
