"""A report of real runs: every form of it, and Inspect's own metrics, say the same numbers."""

import csv
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from command_line import Run
from inspect_ai.log import read_eval_log
from number_task import write_number_task

from mlagentbench.grading.rungs import RUNGS
from mlagentbench.numeric.number_format import percent_text
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.spec import Measured, ReferenceMeasurements, StarterMeasurements
from mlagentbench.tasks.stored_measurements import write_to_task
from mlagentbench.tasks.task import load_task

pytestmark = pytest.mark.slow

COLUMNS = (
    "success_rate", "score_mean", "normalised_mean", "valid_rate", "paper_success_rate",
    "paper_improvement_mean", "steps_mean", "working_seconds_mean", "tokens_mean",
)  # fmt: skip
"""The columns of the agents' table on a task's page."""
IN_INSPECT = {
    "success_rate": ("success", "rate"),
    "success_low": ("success", "low95"),
    "success_high": ("success", "high95"),
    "score_mean": ("score", "mean"),
    "score_error": ("score", "stderr"),
    "normalised_mean": ("normalised", "mean"),
    "normalised_error": ("normalised", "stderr"),
}


@pytest.fixture(autouse=True)
def home(kept_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))


def measured_task(tmp_path: Path) -> None:
    """The task of numbers with figures, whose bar some runs of the starter reach."""
    task = load_task(str(write_number_task(tmp_path)))
    measured = Measured(
        data=ensure_ready(task, "mini", call=call_task).data.hash,
        trivial={"zero": 2.4},
        starter=StarterMeasurements(mean=1.3, std=0.015, runs=30),
        reference=ReferenceMeasurements(mean=0.08, std=0.0, runs=8, source="ours"),
        bar=1.3,
    )
    write_to_task(task, "mini", measured)


class Figures(HTMLParser):
    """The machine-readable numbers of a page's tables, by their line's heading."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.lines: dict[str, list[str]] = {}
        self._line = ""
        self._in_heading = False
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "th":
            self._in_heading = values.get("scope") == "row"
        elif tag != "a":  # the heading may be a link; marks follow it
            self._in_heading = False
        if tag == "tr":
            self._line = ""
        if tag == "td" and "data-value" in values:
            self.lines.setdefault(self._line, []).append(values["data-value"] or "")

    def handle_data(self, data: str) -> None:
        if self._in_heading:
            self._line += data.strip()


def rows(file: Path) -> dict[str, dict[str, str]]:
    with file.open() as lines:
        return {line["agent"]: line for line in csv.DictReader(lines)}


def test_all_forms_of_a_report_and_inspect_say_the_same(tmp_path: Path, run: Run) -> None:
    measured_task(tmp_path)
    choice = ("--tasks", "./numbers", "--agents", "baseline", "--runs", "3")
    run("run", *choice, "--out", "out")
    (tmp_path / "out" / "logs" / "cut-off.eval").write_bytes(b"PK\x03\x04")
    forms = ("--csv", "--latex", "--markdown", "--parquet", "--bundle")
    printed = run("report", "out", *forms).stdout
    assert "report: out/report/index.html" in printed
    assert "cut-off.eval: cut off, damaged or still being written" in printed
    report = tmp_path / "out" / "report"
    page = next((report / "runs").glob("*.html")).read_text()
    assert 'href="../logs/index.html"' in page
    assert len(list((report / "logs").rglob("*.eval"))) == 1
    cells = rows(report / "tables" / "cells.csv")
    assert 0 < float(cells["baseline"]["success_rate"]) < 1, "a rate of both kinds of runs"

    _as_inspect_says(cells, tmp_path / "out" / "logs")
    _as_pages_say(cells, rows(report / "tables" / "agents.csv"), report)
    _as_parquet_says(cells, report / "tables" / "cells.parquet")
    for file in ("success.tex", "tables.md"):
        text = (report / "tables" / file).read_text()
        # In LaTeX the interval is in the line below.
        [lines] = re.findall(r"^\|? ?numbers .*\n.*$", text, re.MULTILINE)[:1]
        for column in ("success_rate", "success_low", "success_high"):
            assert percent_text(float(cells["baseline"][column])) in lines


def _as_inspect_says(cells: dict[str, dict[str, str]], logs: Path) -> None:
    for file in logs.glob("*_numbers_*.eval"):
        log = read_eval_log(str(file), header_only=True)
        assert log.results is not None
        said = {
            (score.name, name.removeprefix("mlagentbench/")): metric.value
            for score in log.results.scores
            for name, metric in score.metrics.items()
        }
        agent = log.plan.steps[-1].solver.removeprefix("mlagentbench/")
        for column, metric_name in IN_INSPECT.items():
            assert float(cells[agent][column]) == said[metric_name], column


def _as_pages_say(
    cells: dict[str, dict[str, str]], agents: dict[str, dict[str, str]], report: Path
) -> None:
    task_page = Figures(report / "tasks" / "numbers.html").lines
    overview = Figures(report / "index.html").lines
    for agent, cell in cells.items():
        rungs = [f"rung_{rung.replace(' ', '_')}" for rung in reversed(RUNGS)]
        assert task_page[agent] == [cell[column] for column in (*rungs, *COLUMNS)]
        names = ("success", "normalised", "ceiling_share", "valid")
        expected = [agents[agent][f"{name}_mean"] for name in names]
        assert list(map(number, expected)) == list(map(number, overview[agent][: len(names)]))


def number(text: str) -> float | None:
    return float(text) if text else None


def _as_parquet_says(cells: dict[str, dict[str, str]], file: Path) -> None:
    import pyarrow.parquet

    for line in pyarrow.parquet.read_table(file).to_pylist():
        cell = cells[line["agent"]]
        assert list(line) == list(cell)
        for column, value in line.items():
            if isinstance(value, float):
                assert float(cell[column]) == value and math.isfinite(value)
            else:
                assert cell[column] == ("" if value is None else str(value))
