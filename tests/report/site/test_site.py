"""The report's pages: what they say, how large they are, and that no run can speak through them."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_records import AGENTS, HOSTILE, TASKS, made_collection, made_report, write_run

from mlagentbench.analysis.judge.judge import current_judgements, journal_hash, store_judgement
from mlagentbench.analysis.judge.rubric import RUBRIC, Evidence, JudgeReport, Vote, majority
from mlagentbench.numeric.number_format import exact
from mlagentbench.records import BranchPoint, GradeRecord, Outcome
from mlagentbench.report.detector_accuracy import DetectorAccuracy
from mlagentbench.report.report import report_data
from mlagentbench.report.report_data import CollectedRun, Collection, ReportData
from mlagentbench.report.site.build import build_site
from mlagentbench.report.site.pages import overview_page as overview
from mlagentbench.report.site.pages import process_page as process
from mlagentbench.runs.results import find_run


class Page(HTMLParser):
    """What a browser would find on a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.ids: list[str] = []
        self.values: list[str] = []
        self.text = ""
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("href", "src"):
                self.addresses.append(value or "")
            elif name.startswith("on"):
                self.handlers.append(name)
            elif name == "id":
                self.ids.append(value or "")
            elif name == "data-value":
                self.values.append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    directory = tmp_path_factory.mktemp("made") / "results"
    return made_report(directory, TASKS[:2], epochs=3)


@pytest.fixture(scope="module")
def site(report: ReportData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(report, tmp_path_factory.mktemp("site")).parent


def run_of(report: ReportData, agent: str = "research") -> CollectedRun:
    """The first run of an agent, which has a journal if it is research."""
    return next(
        run for run in report.collection.runs if run.summary.result.record.disclosure.agent == agent
    )


def run_page(site: Path, run: CollectedRun) -> Page:
    return Page(site / "runs" / f"{run.name}.html")


def test_every_link_leads_to_a_file_of_the_site(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) == 5 + 2 + 7 + 2 * 7 * 3
    for file in pages:
        for address in Page(file).addresses:
            assert not re.match(r"(?i)(https?:)?//|javascript:", address), (file, address)
            path, _, _ = address.partition("#")
            if path and path != "data:,":
                assert (file.parent / path).resolve().is_file(), (file, address)


def test_ids_are_unique(site: Path) -> None:
    for file in site.rglob("*.html"):
        ids = Page(file).ids
        assert len(ids) == len(set(ids)), file


def test_the_overview_has_every_figure_exactly(site: Path, report: ReportData) -> None:
    values = Page(site / "index.html").values
    for leaderboard in report.leaderboards:
        for row in leaderboard.rows:
            assert exact(row.success.mean) in values
            assert exact(row.normalised.mean) in values
            for cell in row.cells:
                assert exact(cell.success.rate) in values
                assert exact(cell.normalised.mean) in values
                assert exact(cell.paper_improvement.mean) in values


def test_pages_say_how_far_up_runs_got(site: Path, report: ReportData) -> None:
    overview = (site / "index.html").read_text()
    for row in report.leaderboards[0].rows:
        for rung, share in row.rungs.items():
            assert rung in overview
            assert f'data-value="{exact(share)}"' in overview
        assert f'data-value="{exact(row.ceiling_share.mean)}"' in overview
    assert "How far up the runs got" in (site / "tasks" / "house-price.html").read_text()
    for run in report.collection.runs:
        grade = run.summary.result.grade
        page = (site / "runs" / f"{run.name}.html").read_text()
        shown = "unknown" if grade is None else grade.rung
        assert f'<p class="card-figure small">{shown}</p>' in page
        if grade is not None and grade.ceiling_share is not None:
            assert f'value="{exact(grade.ceiling_share)}"' in page


def test_the_overview_names_reference_agents_published_rows_and_unreadable_runs(site: Path) -> None:
    text = Page(site / "index.html").text
    assert "reference agent" in text
    assert "as published" in text
    assert "PMLR 235" in text
    assert "line 7: the journal is damaged: <b>bad</b> JSON" in text


def test_missing_runs_are_shown_with_bounds_and_grey(tmp_path: Path) -> None:
    collection = made_collection(tmp_path / "results", TASKS[:1], AGENTS[3:4], epochs=6)
    runs = [_failed(run) if place < 2 else run for place, run in enumerate(collection.runs)]
    data = report_data(replace(collection, runs=tuple(runs)), "x")
    build_site(data, tmp_path / "site")
    html = (tmp_path / "site" / "index.html").read_text()
    [cell] = data.cells
    assert cell.missing >= 2
    assert f"{cell.missing} of 6 missing" in html
    assert re.search(r'class="heat-\d+ greyed"', html)
    assert "bounds [" in html


def _failed(run: CollectedRun) -> CollectedRun:
    failed = Outcome(kind="failed", cause="model", detail="503")
    result = run.summary.result.model_copy(update={"outcome": failed, "grade": None})
    return replace(run, summary=run.summary.model_copy(update={"result": result}))


def test_a_run_page_shows_steps_plan_changes_diffs_and_pinned_findings(
    site: Path, report: ReportData
) -> None:
    page = run_page(site, run_of(report))
    assert [one for one in page.ids if one.startswith("step-")] == [
        f"step-{n}" for n in range(1, 13)
    ]
    assert "+ model = Boosting(5)" in page.text
    assert "- 1. Read train.py. Not done." in page.text
    assert "+ 1. Read train.py. Done." in page.text
    assert "could not be used: json" in page.text
    assert "#step-4" in page.addresses
    assert page.text.count("train.py ended with exit code 1") == 2
    assert "public: for development, no claim about capability" in page.text


def test_what_a_run_printed_cannot_become_part_of_the_page(site: Path, report: ReportData) -> None:
    page = run_page(site, run_of(report))
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert page.handlers == []
    assert "<script>document.title = 'owned'</script>" in page.text
    assert "</details></pre></li>" in page.text
    assert "⟨U+001B⟩[31mred⟨U+001B⟩[0m ⟨U+202E⟩gnp.exe⟨U+202C⟩ nul:⟨U+0000⟩" in page.text
    assert not set("\x00\x1b\u202e") & set(page.text)
    assert "\x1b" in HOSTILE


def test_a_run_without_its_journal_still_has_a_page(site: Path, report: ReportData) -> None:
    page = run_page(site, run_of(report, "react"))
    assert "The journal cannot be shown" in page.text


def test_objects_that_are_gone_are_said_to_be(tmp_path: Path) -> None:
    report = made_report(tmp_path / "results", TASKS[:1], AGENTS[3:4], epochs=1)
    for file in (tmp_path / "results" / "objects").glob("??/*"):
        file.unlink()
    site = build_site(report, tmp_path / "site").parent
    page = run_page(site, run_of(report))
    assert "What changed in the workspace is not known" in page.text
    assert "validation MAE=52150.9" in page.text


def test_a_damaged_object_costs_the_page_one_file(tmp_path: Path) -> None:
    report = made_report(tmp_path / "results", TASKS[:1], AGENTS[3:4], epochs=1)
    is_listing = re.compile(rb'\["[^"]+","(file|directory|link)"')
    files = (tmp_path / "results" / "objects").glob("??/*")
    for file in [file for file in files if not is_listing.match(file.read_bytes())]:
        file.chmod(0o644)
        file.write_bytes(file.read_bytes() + b"x")
    site = build_site(report, tmp_path / "site").parent
    page = run_page(site, run_of(report))
    assert "train.py unknown: " in " ".join(page.text.split())
    assert "is damaged: its bytes are not those that were stored" in page.text
    assert "What changed in the workspace is not known" not in page.text
    assert "validation MAE=52150.9" in page.text


def test_a_long_run_stays_readable(tmp_path: Path) -> None:
    report = made_report(tmp_path / "results", TASKS[:1], AGENTS[5:6], epochs=1)
    run = run_of(report, "react")
    write_run(tmp_path / "results", run.summary, steps=1000, long_output=1_000_000)
    site = build_site(report, tmp_path / "site").parent
    page = run_page(site, run)
    assert page.ids.count("step-1000") == 1
    left_out = re.search(r"([\d,]+) characters left out; the whole text: (\S+)\]", page.text)
    assert left_out is not None
    assert int(left_out[1].replace(",", "")) > 900_000
    assert Path(left_out[2]).stat().st_size > 990_000
    assert (site / "runs" / f"{run.name}.html").stat().st_size < 6_000_000


def test_only_changed_runs_are_written_again(report: ReportData, tmp_path: Path) -> None:
    site = build_site(report, tmp_path).parent
    first, second, third, *others = report.collection.runs
    written = {file.name: file.stat().st_mtime_ns for file in (site / "runs").iterdir()}
    (site / "runs" / f"{second.name}.html").unlink()
    changed = replace(first, fingerprint="another")
    collection = replace(report.collection, runs=(changed, second, *others))
    build_site(replace(report, collection=collection), tmp_path)
    again = {file.name: file.stat().st_mtime_ns for file in (site / "runs").iterdir()}
    differing = {name for name in again if again[name] != written.get(name)}
    assert differing == {f"{first.name}.html", f"{second.name}.html"}
    assert f"{third.name}.html" not in again
    assert len(again) == len(written) - 1


def test_a_damaged_manifest_writes_all_again(report: ReportData, tmp_path: Path) -> None:
    site = build_site(report, tmp_path).parent
    (site / "manifest.json").write_text('{"torn')
    build_site(report, tmp_path)
    assert len(json.loads((site / "manifest.json").read_text())) == len(report.collection.runs)


def test_the_table_of_runs_holds_all_runs_as_data(site: Path, report: ReportData) -> None:
    html = (site / "runs.html").read_text()
    found = re.search(r'<script type="application/json" id="runs-data">(.*?)</script>', html)
    assert found is not None
    assert "<" not in found[1]
    data = json.loads(found[1])
    at = {name: place for place, name in enumerate(data["columns"])}
    for row, run in zip(data["rows"], report.collection.runs, strict=True):
        grade = run.summary.result.grade
        assert row[at["page"]] == run.name
        assert row[at["normalised"]] == (
            grade.normalised if isinstance(grade, GradeRecord) else None
        )


def test_tasks_say_when_they_are_saturated_or_untouched(tmp_path: Path) -> None:
    for skill, word in ((3.0, "Saturated:"), (-3.0, "Untouched:")):
        agents = [replace(agent, skill=skill) for agent in AGENTS[5:7]]
        report = made_report(tmp_path / word / "results", TASKS[:1], agents, epochs=5)
        site = build_site(report, tmp_path / word / "site").parent
        assert word in Page(site / "tasks" / "house-price.html").text
        one_run = made_report(tmp_path / word / "one", TASKS[:1], agents[:1], epochs=1)
        site = build_site(one_run, tmp_path / word / "one-site").parent
        assert word not in Page(site / "tasks" / "house-price.html").text


def test_what_a_judge_says_stands_apart(tmp_path: Path) -> None:
    report = made_report(tmp_path / "results", TASKS[:1], AGENTS[3:4], epochs=1)
    site = build_site(report, tmp_path / "site").parent
    run = run_of(report)
    assert "Opinions of" not in run_page(site, run).text
    directory = find_run(run.directory)
    vote = Vote(
        seed=1,
        answer="yes",
        why="It <b>never</b> tested.",
        evidence=(Evidence(step=4, quote="KeyError"),),
    )
    verdicts = tuple(majority(question.id, (vote, vote, vote)) for question in RUBRIC)
    store_judgement(
        directory,
        JudgeReport(
            model="openai/judge",
            prompt_version=1,
            prompt_hash="0",
            journal_hash="0",
            at="2026-11-16",
            seeds=(1, 2, 3),
            verdicts=verdicts,
            answered_by=("a colleague",),
        ).model_copy(update={"journal_hash": journal_hash(directory)}),
    )
    judged = replace(run, fingerprint="judged", judgements=tuple(current_judgements(directory)))
    collection = replace(report.collection, runs=(judged,))
    build_site(replace(report, collection=collection), tmp_path / "site")
    page = run_page(site, run)
    assert "Opinions of openai/judge (answered by a colleague)" in page.text
    assert "It <b>never</b> tested." in page.text
    process = Page(site / "process.html")
    assert "What judges say" in process.text
    assert f"runs/{run.name}.html#judge-1" in process.addresses


def test_measured_figures_of_detectors_stand_below_the_tables(
    report: ReportData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = DetectorAccuracy(
        name="edit-never-run",
        positives=41,
        recall=40 / 41,
        low=0.874,
        high=0.996,
        false_alarms_per_1000_steps=0.25,
        false_alarms_per_1000_steps_high=1.4,
        natural_steps=4000,
    )
    for page in (overview, process):
        monkeypatch.setattr(page, "detector_accuracies", lambda: (measured,))
    site = build_site(replace(report, collection=Collection(outs=(), runs=())), tmp_path).parent
    first = Page(site / "index.html")
    assert repr(40 / 41) in first.values
    assert "on 4,000 natural steps" in first.text
    assert "index.html#detectors" in Page(site / "process.html").addresses


def test_a_bundle_of_logs_is_linked(report: ReportData, tmp_path: Path) -> None:
    run = run_of(report)
    only = replace(report.collection, runs=(run,))
    site = build_site(replace(report, collection=only), tmp_path).parent
    assert f"mlagentbench view {report.collection.outs[0]}" in run_page(site, run).text
    bundled = replace(report, collection=only, logs_bundle="logs/index.html")
    build_site(bundled, tmp_path)
    assert "../logs/index.html" in run_page(site, run).addresses


def test_a_run_page_shows_the_family_and_what_branches_gained(tmp_path: Path) -> None:
    [parent, child, grandchild, *_] = made_collection(tmp_path / "results", TASKS[:1]).runs
    runs = (parent, _branched(child, parent, 2), _branched(grandchild, child, 5))
    collection = Collection(outs=(tmp_path / "results",), runs=runs)
    build_site(report_data(collection, "mlagentbench report"), tmp_path / "site")
    pages = {one.name: Page(tmp_path / "site" / "runs" / f"{one.name}.html") for one in runs}
    for page in pages.values():
        assert "family" in page.ids
    top = pages[parent.name]
    assert f"../runs/{grandchild.name}.html" in top.addresses
    assert "branched after step 5; observation edited (abcdef)" in top.text
    assert "n = 1" in top.text
    assert f"../runs/{parent.name}.html" in pages[grandchild.name].addresses
    alone = Collection(outs=collection.outs, runs=runs[1:])
    build_site(report_data(alone, "mlagentbench report"), tmp_path / "site")
    orphan = Page(tmp_path / "site" / "runs" / f"{child.name}.html")
    assert f"{parent.summary.result.path} (not in this report)" in orphan.text


def _branched(run: CollectedRun, parent: CollectedRun, step: int) -> CollectedRun:
    point = BranchPoint(run=parent.summary.result.path, step=step, edited="abcdef0123")
    result = run.summary.result
    record = result.record.model_copy(update={"branched_from": point})
    changed = result.model_copy(update={"record": record})
    return replace(run, summary=run.summary.model_copy(update={"result": changed}))
