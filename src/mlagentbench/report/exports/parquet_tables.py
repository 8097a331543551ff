"""Parquet files with every number in full precision."""

import io
from collections.abc import Iterator

from mlagentbench.report.exports.data_frames import TABLES
from mlagentbench.report.report_data import ReportData


def files(data: ReportData) -> Iterator[tuple[str, bytes]]:
    for table in TABLES:
        contents = io.BytesIO()
        table.frame(data).to_parquet(contents, index=False)
        yield f"{table.name}.parquet", contents.getvalue()
