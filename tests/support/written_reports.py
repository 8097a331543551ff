"""A whole report of made-up runs: its data, pages and tables."""

import csv
from collections.abc import Sequence
from pathlib import Path

from report_records import write_run

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.report.exports.formats import write_exports
from mlagentbench.report.report import WrittenReport, report_data
from mlagentbench.report.report_data import CollectedRun, Collection
from mlagentbench.report.site.build import build_site

FORMATS = ("csv", "parquet", "markdown", "latex")


def written(top: Path, summaries: Sequence[RunSummary]) -> WrittenReport:
    collected = []
    for number, summary in enumerate(summaries):
        write_run(top / "results", summary)
        place = top / "results" / summary.result.path
        collected.append(CollectedRun(f"run-{number}", place, str(number), summary))
    collection = Collection(outs=(top / "results",), runs=tuple(collected))
    data = report_data(collection, "mlagentbench report results")
    exports = write_exports(data, FORMATS, top / "site")
    return WrittenReport(data, build_site(data, top / "site"), tuple(exports))


def table(top: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((top / "site" / "tables" / f"{name}.csv").open()))
