"""Every table of a report carries the marks of its rows: terminal, Markdown, LaTeX and pages."""

import csv
import re
from html import unescape
from pathlib import Path

import pytest
from generated_runs import TASKS, generate_runs
from made_runs import on_measured_data, row, run, runs_of
from typer.testing import CliRunner

from mlagentbench.cli import app
from mlagentbench.records import GradeRecord
from mlagentbench.report.report import ReportRequest, WrittenReport, write_report
from mlagentbench.runs.results import run_directories
from mlagentbench.statistics.cells import CellStatistics, cell_statistics
from mlagentbench.statistics.leaderboard import leaderboards

ON_TWO = "research with lab/small: on 2 of 3 tasks only"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three agents on three tasks; one lacks a task, and some runs were lost."""
    out = tmp_path_factory.mktemp("marked") / "out"
    generate_runs(out, epochs=3, tasks=3, agents=3)
    for directory in run_directories(out):
        path = directory.relative.as_posix()
        if f"/{TASKS[2]}/" in f"/{path}" and "research" in path and "small" in path:
            for file in (directory.run_json, directory.journal, directory.grades):
                file.unlink()
        elif path.endswith("/3") and "react" in path:
            directory.grades.unlink()
    return out


@pytest.fixture(scope="module")
def written(out: Path, tmp_path_factory: pytest.TempPathFactory) -> WrittenReport:
    to = tmp_path_factory.mktemp("report")
    formats = frozenset(("csv", "markdown", "latex", "paper"))
    return write_report(ReportRequest(directories=(out,), to=to, formats=formats))


def test_the_terminal_says_them_below_its_rows(out: Path, tmp_path: Path) -> None:
    said = CliRunner().invoke(app, ["report", str(out), "--to", str(tmp_path / "site")]).output
    assert ON_TWO in said


def test_markdown_and_latex_say_them(written: WrittenReport) -> None:
    by_agents = re.compile(r"success|improvement|normalised|time|tokens|categories|compared|tables")
    files = [
        file
        for file in written.exports
        if file.suffix in (".md", ".tex")
        and by_agents.search(file.stem)
        and "published" not in file.stem
    ]
    assert len(files) >= 10
    for file in files:
        assert ON_TWO in " ".join(file.read_text().split()), file


def test_pages_say_them(written: WrittenReport) -> None:
    for page in ("index.html", "efficiency.html"):
        text = unescape((written.index.parent / page).read_text())
        assert "on 2 of 3 tasks only" in text, page


def test_the_efficiency_page_has_one_sum_of_costs(written: WrittenReport) -> None:
    """Agents, roles and the table for programs agree; lost runs are left out."""
    html = (written.index.parent / "efficiency.html").read_text()
    [by_agent, _, by_role] = re.findall(r"<tbody>(.*?)</tbody>", html, re.S)
    costs = {}
    for line in re.findall(r"<tr.*?</tr>", by_role, re.S):
        name = re.sub(r"<[^>]+>", "", re.findall(r'<th scope="row">(.*?)</th>', line)[0])
        costs[name] = float(re.findall(r'data-value="(.*?)"', line)[-1])
    [leaderboard] = written.data.leaderboards
    rows = [one for one in leaderboard.rows if not one.is_reference_agent]
    assert [one.missing for one in rows].count(3) == 1
    for one in rows:
        assert one.cost is not None and costs[one.name] == pytest.approx(one.cost)
        assert f'data-value="{one.cost!r}"' in by_agent
    agents = next(file for file in written.exports if file.name == "agents.csv")
    lines = list(csv.DictReader(agents.read_text().splitlines()))
    assert sorted(
        float(line["cost"]) for line in lines if line["model"] != "none"
    ) == pytest.approx(sorted(costs.values()))


def test_the_published_means_in_markdown_are_named(written: WrittenReport) -> None:
    [tables] = [file for file in written.exports if file.name == "tables.md"]
    text = tables.read_text()
    assert text.count("| mean over 3 tasks of this report |") == 2
    assert text.count("| the paper's mean over its 13 tasks |") == 2


def test_a_mark_of_all_rows_is_said_once() -> None:
    facts = {"sandbox": "local"}
    both = [*runs_of("react", {"a": [0.9]}, **facts), *runs_of("research", {"a": [0.9]}, **facts)]
    [leaderboard] = leaderboards(cell_statistics(both))
    assert "all: sandbox local" in leaderboard.notes


def test_a_measurement_that_lacks_its_successes_is_named() -> None:
    [leaderboard] = leaderboards([_without_success(cell) for cell in _reference_cells()])
    assert "success not measured: house-price" in row(leaderboard, "baseline").marks


def _reference_cells() -> list[CellStatistics]:
    grade = GradeRecord(step=1, valid=True, score=1.0, success=True)
    facts = on_measured_data("house-price")
    [leaderboard] = leaderboards(cell_statistics([run(1, grade, **facts)]))
    return [cell for one in leaderboard.rows for cell in one.cells]


def _without_success(cell: CellStatistics) -> CellStatistics:
    unknown = type(cell.success)()
    return cell.model_copy(update={"success": unknown}) if cell.from_measured else cell
