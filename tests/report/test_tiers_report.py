"""Agents in several tiers, in the text report, on the site and in exports."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright
from pyarrow import parquet
from report_records import AGENTS, TASKS, MadeAgent, made_summary
from written_reports import table, written

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.cli.report_printing import print_report
from mlagentbench.numeric.number_format import exact
from mlagentbench.records import Tier
from mlagentbench.report.report import WrittenReport

BASELINE, RESEARCH, REACT, TINY = AGENTS[1], AGENTS[3], *AGENTS[5:]
CHROMIUM = shutil.which("chromium")
WIDTHS = (Path(__file__).parents[1] / "support" / "page_widths.js").read_text()
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
DRAWN = {"draw": "9f86d081", "draw_policy": "9f86d081"}
FACTS: Mapping[Tier, Mapping[str, Any]] = {
    "mini": DRAWN,
    "hard": DRAWN | {"protocol": "rebuild", "rebuild_draws": 3},
    "full": {"draw": None, "draw_policy": None, "generator": None, "profile": "cpu"},
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "140")


def runs(tier: Tier, agent: MadeAgent, scores: Sequence[float], task: int = 0) -> list[RunSummary]:
    """Runs of an agent on a task in a tier, with these normalised scores."""
    scale = TASKS[task]
    found = []
    for epoch, normalised in enumerate(scores, start=1):
        made, counts = made_summary(scale, agent, epoch), made_summary(scale, BASELINE, 1)
        assert counts.result.grade is not None
        worth = {
            "score": scale.score(normalised),
            "normalised": normalised,
            "success": normalised >= 0.5,
            "rung": "success" if normalised >= 0.5 else "above the floor",
            "ceiling_share": None if scale.ceiling is None else normalised / scale.ceiling,
        }
        told = {**FACTS[tier], "tier": tier, "data_hash": f"{tier} {scale.name}"}
        facts = made.result.record.disclosure.model_copy(update=told)
        path = f"{made.result.path}-{tier}"
        result = made.result.model_copy(
            update={
                "path": path,
                "outcome": counts.result.outcome,
                "record": made.result.record.model_copy(update={"disclosure": facts}),
                "grade": counts.result.grade.model_copy(update=worth),
            }
        )
        place = {"result": result, "cluster": f"results/{path}", "points": ()}
        found.append(made.model_copy(update=place))
    return found


MINI_AND_HARD = [
    *runs("mini", REACT, [0.9, 0.7]),
    *runs("mini", REACT, [0.6, 0.4], task=1),
    *runs("hard", REACT, [0.5, 0.1]),
    *runs("hard", REACT, [0.2, 0.4], task=1),
    *runs("mini", TINY, [0.1, 0.2]),
]
"""Success 75 % and 25 %, normalised 0.65 and 0.30 of the first agent; the other is only in mini."""
BY_TIER: Sequence[tuple[Tier, int, Sequence[float]]] = (
    ("hard", 0, (0.2, 0.5, 0.1)),
    ("full", 0, (0.9, 0.6, 0.3)),
    ("hard", 1, (0.2, 0.5, 0.1)),
    ("full", 1, (0.2, 0.5, 0.1)),
)
HARD_AND_FULL = [
    one
    for tier, task, scores in BY_TIER
    for agent, score in zip((RESEARCH, REACT, TINY), scores, strict=True)
    for one in runs(tier, agent, [score], task)
]
"""Two of three pairs agree on the first task, so tau is 1/3; on the second it is 1."""


def text_of(report: WrittenReport, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    print_report(report)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_mini_and_hard_are_in_the_text_and_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = written(tmp_path, MINI_AND_HARD)
    lines = text_of(report, capsys)
    shown = lines[lines.index("mini and hard") :]
    of_mini, of_hard = (
        next(line for line in shown if line.startswith(f"{tier}: react "))
        for tier in ("mini", "hard")
    )
    assert of_mini.startswith("mini: react 4/4 75 [")
    assert of_hard.startswith("hard: react 4/4 25 [")
    assert " 0.65 [" in of_mini and " 0.30 [" in of_hard
    assert "mini: react 0 0 25 75 0 0" in shown and "hard: react 0 0 75 25 0 0" in shown
    assert {"common tasks: cifar10, house-price", "fresh draws: mini none; hard 3"} < set(shown)
    assert "data: mini, draw 9f86d081; hard, draw 9f86d081" in shown
    assert not [line for line in shown if "smollm2" in line], "it has no runs in hard"
    print_report(report, as_json=True)
    [told] = json.loads(capsys.readouterr().out)["mini_and_hard"]
    assert told["mini"]["normalised"]["mean"] == pytest.approx(0.65)
    assert told["hard"]["success"]["mean"] == pytest.approx(0.25)


def test_mini_and_hard_are_on_the_site_and_in_exports(tmp_path: Path) -> None:
    report = written(tmp_path, MINI_AND_HARD)
    [found] = report.data.mini_and_hard
    mini, hard = table(tmp_path, "mini_and_hard")
    assert (mini["tier"], hard["tier"], mini["tasks"], hard["runs"]) == ("mini", "hard", "2", "4")
    for line, tier in ((mini, found.mini), (hard, found.hard)):
        assert line["success_mean"] == exact(tier.success.mean)
        assert line["normalised_mean"] == exact(tier.normalised.mean)
        assert line["ceiling_share_mean"] == exact(tier.ceiling_share.mean)
        assert tier.normalised.on_these_tasks is not None
        assert line["normalised_low"] == exact(tier.normalised.on_these_tasks.low)
        assert line["rung_success"] == exact(tier.rungs["success"])
        assert line["common_tasks"] == "cifar10 house-price"
    tables = tmp_path / "site" / "tables"
    schema = parquet.read_schema(tables / "mini_and_hard.parquet")
    assert str(schema.field("normalised_low").type) == "double"
    markdown = (tables / "tables.md").read_text()
    name = "react with anthropic/opus-like"
    assert f"| measure | {name}, mini | {name}, hard |" in markdown
    assert "| success | 75.0 | 25.0 |" in markdown
    assert (tables / "mini-and-hard.tex").is_file()
    assert "\nabove the floor & 25.0 & 75.0" in (tables / "mini-and-hard-rungs.tex").read_text()

    page = (tmp_path / "site" / "index.html").read_text()
    section = page.partition('id="mini-and-hard"')[2].partition("</section>")[0]
    assert page.index('id="leaderboard-2"') < page.index('id="mini-and-hard"')
    assert "<strong>75.0 %</strong>" in section and "<strong>25.0 %</strong>" in section
    assert section.index(f"mini: {name}") < section.index(f"hard: {name}")
    assert "protocol: mini standard; hard rebuild" in section and "smollm2" not in section
    assert "rank-agreement" not in page


def test_rank_agreement_is_in_the_text_on_the_site_and_in_exports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = written(tmp_path, HARD_AND_FULL)
    lines = text_of(report, capsys)
    assert "house-price 3 0.33" in lines and "cifar10 3 1.00" in lines
    assert "mean over 2 tasks 3 0.67" in lines
    assert any(line.startswith("Weak evidence: 3 agents on 2 tasks. ") for line in lines)
    over_all, *tasks = table(tmp_path, "rank_agreement")
    assert over_all["task"] == "" and float(over_all["tau"]) == pytest.approx(2 / 3)
    assert (over_all["agents"], over_all["tasks"]) == ("3", "2")
    assert {one["task"]: float(one["tau"]) for one in tasks} == pytest.approx(
        {"cifar10": 1, "house-price": 1 / 3}
    )
    tables = tmp_path / "site" / "tables"
    assert "| house-price | 0.33 | 3 |" in (tables / "tables.md").read_text()
    assert "Weak evidence" in (tables / "rank-agreement.tex").read_text()
    assert str(parquet.read_schema(tables / "rank_agreement.parquet").field("tau").type) == "double"
    page = (tmp_path / "site" / "index.html").read_text()
    section = page.partition('id="rank-agreement"')[2].partition("</section>")[0]
    assert "<strong>0.33</strong>" in section and "<strong>0.67</strong>" in section
    assert "Weak evidence: 3 agents on 2 tasks" in section
    print_report(report, as_json=True)
    told = json.loads(capsys.readouterr().out)["rank_agreement"]
    assert told["agreements"][0]["tau"] == pytest.approx(2 / 3) and told["lacking"] == ""


def test_with_too_few_agents_only_the_site_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = [one for one in HARD_AND_FULL if one.result.record.disclosure.agent != "research"]
    report = written(tmp_path, two)
    assert "rank agreement" not in " ".join(text_of(report, capsys)).lower()
    assert table(tmp_path, "rank_agreement") == []
    assert "Rank agreement" not in (tmp_path / "site" / "tables" / "tables.md").read_text()
    page = (tmp_path / "site" / "index.html").read_text()
    section = page.partition('id="rank-agreement"')[2].partition("</section>")[0]
    assert "of at least three agents in both tiers" in section
    assert "cifar10 has 2, house-price has 2." in section and "<table" not in section


@pytest.mark.parametrize("tiers", [("mini",), ("hard",), ("full",), ("mini", "full")])
def test_nothing_is_shown_without_both_tiers(
    tiers: Sequence[Tier], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = written(
        tmp_path,
        [one for tier in tiers for agent in AGENTS[3:] for one in runs(tier, agent, [0.2])],
    )
    text = "\n".join(text_of(report, capsys))
    page = (tmp_path / "site" / "index.html").read_text()
    exported = (tmp_path / "site" / "tables" / "tables.md").read_text()
    for shown in (text, page, exported):
        assert "ank agreement" not in shown and "ini and hard" not in shown
    assert table(tmp_path, "mini_and_hard") == table(tmp_path, "rank_agreement") == []
    assert not list((tmp_path / "site" / "tables").glob("mini-and-hard*"))


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is missing; install it: make chromium")
def test_nothing_of_several_tiers_is_cut_off(tmp_path: Path) -> None:
    written(tmp_path, [*MINI_AND_HARD, *HARD_AND_FULL])
    with sync_playwright() as playwright:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        page = browser.new_page()
        page.goto(f"file://{tmp_path}/site/index.html")
        page.evaluate(OPEN_ALL)
        assert page.locator("#mini-and-hard, #rank-agreement").count() == 2
        for width, printed in ((1300, False), (400, False), (717, True)):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(media="print" if printed else "screen")
            assert page.evaluate(WIDTHS, printed) == []
        browser.close()
