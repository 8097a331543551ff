"""The whole report, of runs that are generated in milliseconds."""

from pathlib import Path

import pytest
from generated_runs import generate_runs
from typer.testing import CliRunner

from mlagentbench.cli import app
from mlagentbench.errors import UsageError
from mlagentbench.report import read_runs
from mlagentbench.report.exports.formats import FORMATS
from mlagentbench.report.published_results import published_means, published_rows
from mlagentbench.report.report import ReportRequest, write_report
from mlagentbench.runs.results import run_directories
from mlagentbench.tasks.task import load_task

ALL = frozenset(FORMATS) - {"plots", "paper"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))


@pytest.mark.slow
def test_a_second_report_reads_and_writes_only_what_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert generate_runs(out, epochs=3, tasks=2, agents=5) == 30
    request = ReportRequest(directories=(out,), formats=ALL)
    first = write_report(request)
    assert first.data.collection.read == 30
    pages = {page: page.stat().st_mtime_ns for page in (out / "report" / "runs").iterdir()}
    assert len(pages) == 30

    monkeypatch.setattr(read_runs, "summarise", None)
    again = write_report(request)
    assert again.data.collection.read == 0
    assert (again.data.cells, again.data.leaderboards, again.data.comparisons) == (
        first.data.cells,
        first.data.leaderboards,
        first.data.comparisons,
    )
    assert pages == {page: page.stat().st_mtime_ns for page in pages}

    monkeypatch.undo()
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    changed = next(iter(run_directories(out)))
    changed.failure.write_text("the host died")
    third = write_report(request)
    assert third.data.collection.read == 1
    rewritten = [page for page, at in pages.items() if page.stat().st_mtime_ns != at]
    assert len(rewritten) == 1
    assert {file.suffix for file in third.exports} == {".csv", ".parquet", ".tex", ".md"}


def test_a_report_does_not_write_among_other_files(tmp_path: Path) -> None:
    generate_runs(tmp_path / "out", epochs=1, tasks=1, agents=1)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("a page of mine")
    request = ReportRequest(directories=(tmp_path / "out",), to=tmp_path / "mine")
    with pytest.raises(UsageError, match="holds other files"):
        write_report(request)
    with pytest.raises(UsageError, match="is a file"):
        write_report(request.model_copy(update={"to": tmp_path / "mine" / "index.html"}))
    assert (tmp_path / "mine" / "index.html").read_text() == "a page of mine"


def test_a_run_that_cannot_be_read_is_named_and_the_command_exits_with_1(tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate_runs(out, epochs=2, tasks=1, agents=1)
    report = ["report", str(out)]
    assert CliRunner().invoke(app, report).exit_code == 0
    damaged = next(iter(run_directories(out)))
    damaged.run_json.write_text("{")
    said = CliRunner().invoke(app, report)
    assert said.exit_code == 1
    assert f"not read: {damaged.relative.as_posix()}" in said.output
    assert (out / "report" / "index.html").is_file()
    assert CliRunner().invoke(app, [*report, "--json"]).exit_code == 1


def test_the_papers_numbers_are_there_under_our_names() -> None:
    rows = published_rows()
    assert len(rows) == 13 * 8
    assert {load_task(row.task).id for row in rows} == {row.task for row in rows}
    opus = {row.task: row for row in rows if row.model == "Claude v3 Opus"}
    assert (opus["house-price"].success_percent, opus["cifar10"].improvement_percent) == (100, 18.5)
    mean = sum(row.success_percent for row in opus.values()) / 13
    [published] = [row for row in published_means() if row.model == "Claude v3 Opus"]
    assert published.success_percent == pytest.approx(mean, abs=0.05)
