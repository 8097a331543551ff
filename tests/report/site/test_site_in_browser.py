"""The report in a real browser, opened from disk: looks, keys, filters, and that all can use it."""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Request,
    ViewportSize,
    expect,
    sync_playwright,
)
from report_records import TASKS, made_report

from mlagentbench.report.report_data import ReportData
from mlagentbench.report.site.build import Frame, build_site
from mlagentbench.report.site.pages import runs_page as runs

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CHECKS = (Path(__file__).parents[2] / "support" / "page_checks.js").read_text()
DESKTOP = ViewportSize(width=1280, height=900)
PHONE = ViewportSize(width=390, height=844)
RUN = "runs/house-price--mini--research-44136fa3--openai_gpt-large--1.html"
KINDS = (
    "index.html",
    "agents.html",
    "process.html",
    "efficiency.html",
    "runs.html",
    "tasks/house-price.html",
    RUN,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is missing; install it: make chromium"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    return made_report(tmp_path_factory.mktemp("made") / "results", TASKS[:3], epochs=5)


@pytest.fixture(scope="module")
def site(report: ReportData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(report, tmp_path_factory.mktemp("site")).parent


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Watched:
    """A page, and everything that it asks for or complains about."""

    def __init__(self, context: BrowserContext, site: Path) -> None:
        self.page: Page = context.new_page()
        self.site = site
        self.complaints: list[str] = []
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", self._requested)

    def _requested(self, request: Request) -> None:
        if not re.match(r"file:|data:", request.url):
            self.complaints.append(f"asked for {request.url}")

    def open(self, address: str) -> Page:
        self.page.goto(f"file://{self.site}/{address}")
        return self.page


@pytest.fixture
def watched(browser: Browser, site: Path) -> Iterator[Watched]:
    context = browser.new_context(viewport=DESKTOP, color_scheme="light")
    context.set_default_timeout(20_000)
    watched = Watched(context, site)
    yield watched
    context.close()
    assert watched.complaints == []


@pytest.fixture
def shots(tmp_path: Path) -> Path:
    folder = Path(os.environ.get("MLAGENTBENCH_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_can_use_every_kind_of_page(
    watched: Watched, scheme: Literal["light", "dark"], shots: Path
) -> None:
    for address in KINDS:
        page = watched.open(address)
        page.emulate_media(color_scheme=scheme)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate(CHECKS) == [], address
        page.reload()
        if address in ("index.html", RUN):
            page.screenshot(path=shots / f"{_kind(address)}-{scheme}.png")


def _kind(address: str) -> str:
    return "run" if address == RUN else address.removesuffix(".html").replace("index", "overview")


def test_the_checks_find_what_is_wrong(watched: Watched) -> None:
    texts = "<p>word</p>" * 20
    watched.page.set_content(
        f"<h1>one</h1><h3 id='a'>three</h3><p id='a' style='color: #999'>grey</p><input>"
        f"<svg><text fill='#ddd'>pale</text></svg><a href='#'></a><table><tr><td>x</table>"
        f"<div style='overflow: auto; width: 9px'>a_long_word</div>{texts}"
    )
    found = "\n".join(watched.page.evaluate(CHECKS))
    for part in (
        "no lang",
        "no title",
        "not one main",
        "id twice: a",
        "heading <h3#a",
        "no label: <input",
        "no name: <svg",
        "nothing to read out: <a",
        "table without headers",
        "cannot be scrolled by keyboard: <div",
        "contrast 2.85: <p#a",
        "contrast 1.36: <text",
    ):
        assert part in found, found


def test_nothing_is_wider_than_a_phone(watched: Watched, shots: Path) -> None:
    watched.page.set_viewport_size(PHONE)
    for address in KINDS:
        page = watched.open(address)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE["width"], address
        if address in ("index.html", RUN):
            page.reload()
            page.screenshot(path=shots / f"{_kind(address)}-phone.png")


def test_keys_show_where_they_are(watched: Watched) -> None:
    for address in ("index.html", "runs.html", RUN):
        page = watched.open(address)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        for _ in range(12):
            page.keyboard.press("Tab")
            outline = page.evaluate(
                "(({outlineStyle, outlineWidth}) => outlineStyle + ' ' + outlineWidth)"
                "(getComputedStyle(document.activeElement))"
            )
            assert outline == "solid 3px", page.evaluate("document.activeElement.outerHTML")


def test_a_filter_a_sort_and_a_run(watched: Watched, report: ReportData) -> None:
    page = watched.open("runs.html")
    shown = page.locator("#runs-shown")
    expect(shown).to_have_text(f"1 to 100 of {len(report.collection.runs)} runs")
    page.get_by_label("Task").select_option("cifar10")
    page.get_by_label("Success").select_option("yes")
    wanted = [
        run
        for run in report.collection.runs
        if run.summary.result.record.disclosure.task == "cifar10"
        and run.summary.result.grade is not None
        and run.summary.result.grade.success
    ]
    expect(page.locator("#runs tbody tr")).to_have_count(len(wanted))
    page.get_by_role("button", name="score", exact=True).click()
    expect(page.locator('th[data-column="score"]')).to_have_attribute("aria-sort", "ascending")
    scores = sorted(
        run.summary.result.grade.score
        for run in wanted
        if run.summary.result.grade is not None and run.summary.result.grade.score is not None
    )
    assert _column(page, "score") == scores
    page.locator("#runs tbody a").first.click()
    expect(page.locator("h1")).to_contain_text("cifar10")


def _column(page: Page, name: str) -> list[float]:
    place = 1 + page.evaluate(
        "(name) => [...document.querySelectorAll('#runs th')]"
        ".findIndex((one) => one.dataset.column === name)",
        name,
    )
    cells = page.locator(f"#runs tbody tr > :nth-child({place})").all()
    return [float(cell.get_attribute("data-value") or "nan") for cell in cells]


def test_the_table_of_runs_works_with_keys_alone(watched: Watched) -> None:
    page = watched.open("runs.html")
    page.keyboard.press("/")
    expect(page.get_by_label("Any words")).to_be_focused()
    page.keyboard.type("react smollm imdb")
    expect(page.locator("#runs tbody tr")).to_have_count(5)
    page.locator('th[data-column="tokens"] button').focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator('th[data-column="tokens"]')).to_have_attribute("aria-sort", "descending")
    tokens = _column(page, "tokens")
    assert tokens == sorted(tokens, reverse=True)
    page.get_by_label("Any words").fill("nobody has done this")
    expect(page.locator("#runs-shown")).to_have_text("No run fits these filters.")
    page.get_by_role("button", name="Clear filters").press("Enter")
    expect(page.locator("#runs tbody tr")).to_have_count(100)


def test_filters_come_with_a_link(watched: Watched) -> None:
    page = watched.open("runs.html#findings=boundary&task=imdb")
    expect(page.get_by_label("Findings")).to_have_value("boundary")
    expect(page.locator("#runs tbody tr").first).to_contain_text("imdb")


def test_ten_thousand_runs_are_shown_by_the_hundred(
    watched: Watched, report: ReportData, tmp_path: Path
) -> None:
    few = report.collection.runs
    many = tuple(replace(few[number % len(few)], name=f"run-{number}") for number in range(10_000))
    data = replace(report, collection=replace(report.collection, runs=many))
    frame = Frame(data.generated_at, data.command, None)
    frame.write(tmp_path, "runs.html", runs.TEMPLATE, view=runs.runs_view(data))
    shutil.copytree(watched.site / "assets", tmp_path / "assets")
    assert (tmp_path / "runs.html").stat().st_size < 4_000_000
    page = watched.page
    page.goto(f"file://{tmp_path}/runs.html")
    expect(page.locator("#runs-shown")).to_have_text("1 to 100 of 10000 runs")
    page.get_by_role("button", name="Next 100").click()
    expect(page.locator("#runs-shown")).to_have_text("101 to 200 of 10000 runs")
    expect(page.locator("#runs tbody tr")).to_have_count(100)
    page.get_by_role("button", name="normalised").click()
    values = _column(page, "normalised")
    assert values == sorted(values)


def test_the_chosen_colours_are_remembered(watched: Watched) -> None:
    page = watched.open("index.html")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Use dark colours").click()
    dark = page.evaluate(ground)
    assert dark != light
    watched.open("process.html")
    assert page.evaluate(ground) == dark
    expect(page.get_by_role("button", name="Use light colours")).to_be_visible()


def test_what_a_run_printed_does_nothing(watched: Watched) -> None:
    page = watched.open(RUN)
    page.get_by_role("button", name="Open all").click()
    expect(page.locator("#step-3 .observation pre")).to_contain_text("</details></pre></li>")
    assert page.title().startswith("house-price")
    assert page.locator("#steps > li").count() == 12


def test_a_finding_leads_to_its_step(watched: Watched) -> None:
    page = watched.open(RUN)
    page.locator("section", has=page.locator("#findings")).get_by_role("link").first.click()
    expect(page.locator("#step-4")).to_be_in_viewport()


def test_a_kind_of_finding_opens_its_examples(watched: Watched) -> None:
    page = watched.open("process.html")
    example = page.locator("#kind-crash li").first
    expect(example).not_to_be_visible()
    page.get_by_role("link", name="crash", exact=True).click()
    expect(example).to_be_visible()
    example.get_by_role("link", name="run 1").click()
    expect(page.locator("h1")).to_contain_text("house-price")


def test_it_reads_without_scripts(browser: Browser, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"file://{site}/runs.html")
    expect(page.locator("noscript table tbody tr")).to_have_count(105)
    page.locator("noscript table a").first.click()
    expect(page.locator("h1")).to_be_visible()
    context.close()
