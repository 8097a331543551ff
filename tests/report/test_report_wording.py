"""What every table and page of a report has in common: words beside numbers."""

import re
from html import unescape
from pathlib import Path

import pytest
from report_records import AGENTS, MadeTask, made_report

from mlagentbench.report.exports.formats import write_exports
from mlagentbench.report.report_data import ReportData
from mlagentbench.report.site.build import build_site

SLIPS = re.compile(r"(?<![\d.,])1 (runs|tasks|steps|agents|copies|replays)\b|-0\.0+(?!\d)|≤\s+-\s")
BABYLM = MadeTask("babylm", "perplexity", "lower", 60.0, 20.0)
"""The paper publishes improvements of -0.0 on it."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    """One run of one agent on one task, which is where plurals and signs go wrong."""
    return made_report(tmp_path_factory.mktemp("alone"), [BABYLM], [AGENTS[5]], epochs=1)


def test_no_page_says_one_runs_or_minus_zero(alone: ReportData, tmp_path: Path) -> None:
    build_site(alone, tmp_path)
    for page in tmp_path.rglob("*.html"):
        text = unescape(
            re.sub(r"<(script|style).*?</\1>|<[^>]+>", "", page.read_text(), flags=re.S)
        )
        assert SLIPS.search(text) is None, page


def test_no_table_says_one_runs_or_minus_zero(alone: ReportData, tmp_path: Path) -> None:
    for file in write_exports(alone, ("latex", "markdown", "paper"), tmp_path):
        if file.suffix in (".tex", ".md"):
            text = file.read_text().replace("$", "")
            assert SLIPS.search(text) is None, file
