"""`mlagentbench report`: from run directories to a site, tables and plots.

collect      run directories -> summaries, from the cache where nothing has changed
statistics   summaries -> cells -> leaderboards -> comparisons
site         pages that open from disk; a run's page is rewritten only if the run changed
exports      the same numbers as files
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import write_atomically
from mlagentbench.records import Record
from mlagentbench.report.cache import cached_comparisons
from mlagentbench.report.collect_runs import Progress, collect
from mlagentbench.report.exports.formats import require_formats, write_exports
from mlagentbench.report.inspect_logs import bundle_logs
from mlagentbench.report.publishable import require_publishable
from mlagentbench.report.published_results import published_rows
from mlagentbench.report.report_data import Collection, ReportData
from mlagentbench.report.site.build import MANIFEST, build_site
from mlagentbench.runs.results import SuiteOutcome
from mlagentbench.statistics.cells import cell_statistics
from mlagentbench.statistics.comparison import named_pairs
from mlagentbench.statistics.experimentation_gain import experimentation_gains
from mlagentbench.statistics.leaderboard import leaderboards
from mlagentbench.statistics.tiers.mini_and_hard import mini_and_hard
from mlagentbench.statistics.tiers.rank_agreement import rank_agreement
from mlagentbench.untrusted_text import shown_path, this_command


class ReportRequest(Record):
    """The options of `mlagentbench report`."""

    directories: tuple[Path, ...]
    to: Path | None = None
    formats: frozenset[str] = frozenset()
    """Names of export formats, such as "csv"."""
    primary: str | None = None
    """A pair of agents, as A:B, that is named only now."""
    bundle: bool = False
    publish: bool = False
    """Whether to refuse runs that support no claim about capability."""


@dataclass(frozen=True)
class WrittenReport:
    """A report on disk: what it shows, its first page, and the files with its tables and plots."""

    data: ReportData
    index: Path
    exports: tuple[Path, ...]


def write_report(request: ReportRequest, progress: Progress | None = None) -> WrittenReport:
    """Collect the runs, compute their statistics, write or update the report."""
    require_formats(request.formats)
    collection = collect(request.directories, progress)
    if request.publish:
        require_publishable(collection.summaries)
    to = _report_directory(request.to or _own_directory(collection.outs[0]))
    bundle = bundle_logs(collection.outs, to) if request.bundle else None
    data = report_data(collection, this_command(), bundle, request.primary)
    index = build_site(data, to)
    exports = write_exports(data, request.formats, to)
    return WrittenReport(data=data, index=index, exports=tuple(exports))


def report_suite(outcome: SuiteOutcome) -> str | None:
    """Write the report of runs that have just ended; returns its first page, None without runs."""
    if not outcome.results:
        return None
    return shown_path(write_report(ReportRequest(directories=(outcome.out,))).index)


def report_data(
    collection: Collection, command: str, bundle: str | None = None, primary: str | None = None
) -> ReportData:
    """All numbers of a report."""
    cells = cell_statistics(collection.summaries)
    ranked = leaderboards(cells)
    return ReportData(
        collection=collection,
        cells=tuple(cells),
        leaderboards=tuple(ranked),
        comparisons=cached_comparisons(ranked, named_pairs(primary, ranked), collection.outs),
        experimentation=experimentation_gains(collection.summaries),
        mini_and_hard=mini_and_hard(ranked),
        rank_agreement=rank_agreement(ranked),
        published=published_rows(),
        generated_at=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command,
        logs_bundle=bundle,
    )


def _own_directory(out: Path) -> Path:
    """Where the report of an OUT is by default; runs of others may bring a link in its place."""
    if (out / "report").is_symlink():
        raise UsageError(f"{out / 'report'} is a link; remove it, or name a directory with --to")
    return out / "report"


def _report_directory(to: Path) -> Path:
    """Check that the directory is new, empty or a report already, and mark it as a report."""
    if to.exists() and not to.is_dir():
        raise UsageError(f"--to {to}: is a file; name a directory for the report")
    if to.is_dir() and any(to.iterdir()) and not (to / MANIFEST).is_file():
        raise UsageError(f"--to {to}: holds other files; name a new or empty directory")
    link = next((path for path in to.rglob("*") if path.is_symlink()), None)
    if link is not None:
        raise UsageError(f"--to {to}: {link} is a link; remove it, or name a new directory")
    if not (to / MANIFEST).is_file():
        # An interrupted report can then be written again to the same directory.
        write_atomically(to / MANIFEST, b"{}")
    return to
