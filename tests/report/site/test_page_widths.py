"""Every page with the paper's 13 tasks, 5 agents with long names and 8 runs: nothing is cut off.

Measured in a real browser at the widths of a desktop and of a phone, and as printed on A4.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from generated_runs import LONG_NAMED, PAPER_TASKS, generate_paper_set
from playwright.sync_api import Browser, Page, expect, sync_playwright

from mlagentbench.report.report import ReportRequest, write_report
from mlagentbench.report.report_data import CollectedRun, ReportData

CHROMIUM = shutil.which("chromium")
WIDTHS = (Path(__file__).parents[2] / "support" / "page_widths.js").read_text()
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
A4 = 717
"""A4 without chromium's margins, in CSS pixels."""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is missing; install it: make chromium"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    out = tmp_path_factory.mktemp("paper") / "out"
    assert generate_paper_set(out) == (4 * 13 + 3) * 8
    return write_report(ReportRequest(directories=(out,))).data


@pytest.fixture(scope="module")
def site(report: ReportData) -> Path:
    return report.collection.outs[0] / "report"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


def _kind(run: CollectedRun) -> str:
    """An agent and how its run ended; the pages of such runs are alike."""
    result = run.summary.result
    end = "missing" if result.grade is None else str(result.grade.valid)
    return f"{result.record.disclosure.agent} {result.record.disclosure.model} {end}"


def _addresses(site: Path, report: ReportData) -> list[str]:
    """All pages, but of runs that are alike only one."""
    alike = {_kind(run): f"runs/{run.name}.html" for run in report.collection.runs}
    others = [str(file.relative_to(site)) for file in sorted(site.rglob("*.html"))]
    return [one for one in others if not one.startswith("runs/")] + sorted(alike.values())


def test_nothing_is_cut_off(page: Page, site: Path, report: ReportData) -> None:
    addresses = _addresses(site, report)
    agents = [one for one in addresses if one.startswith("agents/")]
    assert len(agents) == len(LONG_NAMED) + len(("nop", "baseline"))
    assert len(addresses) >= 5 + len(PAPER_TASKS) + len(agents) + 12
    wrong = {}
    for address in addresses:
        page.goto(f"file://{site}/{address}")
        page.evaluate(OPEN_ALL)
        for width, printed in ((1300, False), (400, False), (A4, True)):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(media="print" if printed else "screen")
            if found := page.evaluate(WIDTHS, printed):
                wrong[f"{address} at {width}"] = found[:5]
    page.emulate_media(media="screen")
    assert wrong == {}


def test_the_measurement_finds_what_is_cut_off(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.set_content(
        "<div style='overflow: auto; width: 90px'><p style='width: 200px'>scrolls</p></div>"
        "<table><tr><td style='max-width: 40px'>a_word_wider_than_its_cell</table>"
        "<div style='overflow: hidden; height: 9px'>one<br>two</div>"
        "<svg width=40 height=20><text x=30 y=9>beyond</text></svg>"
        "<p style='width: 500px; white-space: nowrap'>" + "wider than the page " * 9 + "</p>"
    )
    found = "\n".join(page.evaluate(WIDTHS, True))
    page.close()
    for part in (
        "the page is", "shows 90 of 200", "outside of its td", "in height: <div",
        "outside of its svg", "outside of the page: <p", "texts were checked",
    ):  # fmt: skip
        assert part in found, found


def test_one_missing_run_of_eight_leaves_the_colour(page: Page, site: Path) -> None:
    page.set_viewport_size({"width": 1300, "height": 900})
    page.goto(f"file://{site}/index.html")
    cell = page.locator("[data-table=success] td.greyed", has_text="1 of 8 missing").first
    shade = re.search(r"heat-\d+", cell.get_attribute("class") or "")
    assert shade is not None
    ground = "(node) => getComputedStyle(node).backgroundColor"
    whole = page.locator(f"td.{shade[0]}:not(.greyed), .swatch.{shade[0]}").first
    assert cell.evaluate(ground) == whole.evaluate(ground)


def test_a_cell_leads_to_its_runs_and_a_name_to_its_agent(page: Page, site: Path) -> None:
    page.set_viewport_size({"width": 1300, "height": 900})
    page.goto(f"file://{site}/index.html")
    link = page.locator("[data-table=success] tbody tr").nth(1).locator("td a").first
    wanted = parse_qs((link.get_attribute("href") or "").partition("#")[2])
    link.click()
    expect(page.locator("#runs tbody tr")).to_have_count(8)
    for row in page.locator("#runs tbody tr").all():
        texts = row.locator("th, td").all_text_contents()
        assert texts[:3] == [*wanted["task"], *wanted["agent"], *wanted["model"]]
    page.locator("#runs tbody td a").first.click()
    page.locator("h1 a").click()
    expect(page.locator("h1")).to_contain_text(wanted["model"][0])
    tables = page.locator(".table-box")
    expect(tables.first.locator("tbody tr")).to_have_count(13)
    expect(tables.last.locator("tbody tr")).to_have_count(13 * 8)


def test_a_run_page_begins_with_the_answer_and_ends_with_the_disclosure(
    page: Page, site: Path, report: ReportData
) -> None:
    scored = next(
        run
        for run in report.collection.runs
        if run.summary.result.grade is not None
        and run.summary.result.grade.valid
        and run.summary.result.record.disclosure.task == "house-price"
    )
    page.goto(f"file://{site}/runs/{scored.name}.html")
    titles = page.locator("h2").all_text_contents()
    assert titles[:3] == ["Answer", "Score", "Story"]
    assert titles[-1] == "What this run discloses"
    answer = page.locator("section", has=page.locator("#answer"))
    expect(answer).to_contain_text("Submitted submission.csv")
    expect(answer.locator("pre").first).to_contain_text("id,y")
    expect(answer.locator("pre").last).to_have_text("done")
    scale = page.locator("section", has=page.locator("#score")).locator(".on-page")
    assert scale.locator(".rule-text").all_text_contents() == ["floor", "bar", "reference"]
