"""CSV files with every number in full precision."""

from collections.abc import Iterator

from mlagentbench.report.exports.data_frames import TABLES
from mlagentbench.report.report_data import ReportData


def files(data: ReportData) -> Iterator[tuple[str, bytes]]:
    for table in TABLES:
        text = table.frame(data).to_csv(index=False, lineterminator="\n")
        yield f"{table.name}.csv", text.encode()
