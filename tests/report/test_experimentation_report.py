"""The experimentation gain in the text report, on the site and in exports."""

import json
from pathlib import Path

import pytest
from report_records import AGENTS, TASKS, made_summary
from written_reports import table, written

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.cli.report_printing import print_report

REACT = next(one for one in AGENTS if one.name == "react" and one.skill > 0.5)
REBUILT = {"protocol": "rebuild", "rebuild_draws": 3}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))


def run(task: int, epoch: int, normalised: float, *, execution: bool) -> RunSummary:
    """A run whose grade is known, with or without executions."""
    scale = TASKS[task]
    made = made_summary(scale, REACT, epoch)
    facts = made.result.record.disclosure.model_copy(update={**REBUILT, "execution": execution})
    grade = made_summary(scale, AGENTS[1], 1).result.grade
    assert grade is not None
    worth = {"normalised": normalised, "success": normalised >= 0.5}
    path = f"{made.result.path}{'' if execution else '-without'}"
    result = made.result.model_copy(
        update={
            "path": path,
            "outcome": made_summary(scale, AGENTS[1], 1).result.outcome,
            "record": made.result.record.model_copy(update={"disclosure": facts}),
            "grade": grade.model_copy(update={"score": scale.score(normalised), **worth}),
        }
    )
    return made.model_copy(update={"result": result, "cluster": f"results/{path}", "points": ()})


PAIRS = [
    run(0, 1, 0.9, execution=True),
    run(0, 1, 0.3, execution=False),
    run(0, 2, 0.7, execution=True),
    run(0, 2, 0.5, execution=False),
    run(1, 1, 0.4, execution=True),
    run(1, 1, 0.3, execution=False),
    run(1, 2, 0.2, execution=False),
]
"""Differences 0.6 and 0.2 on the first task, 0.1 on the second; the last run has no pair."""


def test_the_gain_is_in_the_text_on_the_site_and_in_exports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    report = written(tmp_path, PAIRS)
    print_report(report)
    text = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in text.splitlines()]
    name = "react with anthropic/opus-like"
    assert f"{name} house-price 2 0.80 0.40 +0.40 [-2.14, 2.94] 2, 1" in lines
    assert f"{name} cifar10 1 0.40 0.30 +0.10 0, 0" in lines
    assert f"{name} mean over tasks 3 0.60 0.35 +0.25 2, 1" in lines
    assert "unpaired for the experimentation gain: 1 run" in lines
    assert any("2-without: no run with executions has the same" in line for line in lines)
    assert "mini, public draw: for development, no execution, 50 steps" in text

    over_all, *tasks = table(tmp_path, "experimentation_gain")
    assert over_all["task"] == "" and float(over_all["gain"]) == pytest.approx(0.25)
    gains = {row["task"]: float(row["gain"]) for row in tasks}
    assert gains == pytest.approx({"house-price": 0.4, "cifar10": 0.1})
    counts = {row["task"]: (row["pairs"], row["clusters"]) for row in tasks}
    assert counts == {"house-price": ("2", "2"), "cifar10": ("1", "1")}
    assert [row["execution"] for row in table(tmp_path, "unpaired_runs")] == ["False"]
    assert {row["execution"] for row in table(tmp_path, "runs")} == {"True", "False"}
    cells = {(row["agent"], row["execution"]) for row in table(tmp_path, "cells")}
    assert cells == {("react", "True"), ("react, no execution", "False")}
    markdown = (tmp_path / "site" / "tables" / "tables.md").read_text()
    assert "| house-price | 0.80 | 0.40 | +0.40 [-2.14, 2.94] | 2, 1 | 2 |" in markdown
    assert (tmp_path / "site" / "tables" / "experimentation-gain.tex").exists()

    page = (tmp_path / "site" / "agents.html").read_text()
    section = page.partition('id="experimentation"')[2]
    assert "<strong>+0.40</strong>" in section and "mean over tasks" in section
    assert "1 run without a pair" in section and "2-without" in section

    print_report(report, as_json=True)
    told = json.loads(capsys.readouterr().out)["experimentation"]
    assert told["gains"][0]["gain"] == pytest.approx(0.25) and len(told["unpaired"]) == 1


def test_nothing_is_shown_without_runs_that_had_no_execution(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = written(tmp_path, [one for one in PAIRS if one.result.record.disclosure.execution])
    print_report(report)
    assert "experimentation" not in capsys.readouterr().out
    assert "xperimentation" not in (tmp_path / "site" / "agents.html").read_text()
    assert table(tmp_path, "experimentation_gain") == table(tmp_path, "unpaired_runs") == []
    assert "xperimentation gain" not in (tmp_path / "site" / "tables" / "tables.md").read_text()


def test_runs_without_a_pair_are_named_where_there_is_no_gain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = written(tmp_path, [one for one in PAIRS if not one.result.record.disclosure.execution])
    print_report(report)
    text = capsys.readouterr().out
    assert "unpaired for the experimentation gain: 4 runs" in text and "gain [95 %]" not in text
