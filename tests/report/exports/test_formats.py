"""The exports of a report: tables for programs and papers, and plots."""

import csv
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from generated_runs import generate_paper_set, generate_runs
from pyarrow import parquet
from report_records import AGENTS, TASKS, made_report

from mlagentbench.errors import UsageError
from mlagentbench.grading.rungs import RUNGS
from mlagentbench.numeric.number_format import exact
from mlagentbench.report.exports.formats import FORMATS, write_exports
from mlagentbench.report.exports.latex_tables import latex
from mlagentbench.report.exports.markdown_tables import markdown
from mlagentbench.report.exports.paper_grids import Grid, GridLine
from mlagentbench.report.report import ReportRequest, write_report
from mlagentbench.statistics.cells import CellStatistics
from mlagentbench.statistics.leaderboard import AgentStatistics

ALL = frozenset(FORMATS) - {"plots"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))


def read_csv(file: Path) -> list[dict[str, str]]:
    with file.open() as lines:
        return list(csv.DictReader(lines))


def test_tables_for_machines_have_every_run_and_all_digits(tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate_runs(out, epochs=2, tasks=1, agents=3)
    written = write_report(ReportRequest(directories=(out,), formats=frozenset(["csv"])))
    tables = {file.stem: read_csv(file) for file in written.exports}
    assert set(tables) == {
        "runs", "cells", "agents", "profiles", "findings", "comparisons",
        "experimentation_gain", "unpaired_runs", "mini_and_hard", "rank_agreement",
    }  # fmt: skip
    summaries = written.data.collection.summaries
    assert [line["path"] for line in tables["runs"]] == [one.result.path for one in summaries]
    scores = [one.result.grade.score for one in summaries if one.result.grade is not None]
    assert [exact(score) for score in scores] == [line["score"] for line in tables["runs"]]
    assert sum(len(one.process.findings) for one in summaries) == len(tables["findings"])
    rows = [row for one in written.data.leaderboards for row in one.rows]
    assert [float(line["share"]) for line in tables["profiles"]] == [
        point.share for row in rows for point in row.profile
    ]
    compared = {(line["first"], line["second"], line["measure"]) for line in tables["comparisons"]}
    assert len(compared) == sum(map(len, written.data.comparisons))


def test_every_export_has_the_rungs(tmp_path: Path) -> None:
    report = made_report(tmp_path / "results", TASKS[:2], epochs=5)
    files = write_exports(report, ["csv", "parquet", "latex", "markdown"], tmp_path)
    tables = {file.stem: read_csv(file) for file in files if file.suffix == ".csv"}
    grades = [one.result.grade for one in report.collection.summaries]
    assert [one.rung if one else "" for one in grades] == [one["rung"] for one in tables["runs"]]
    shares = [exact(one.ceiling_share) if one else "" for one in grades]
    assert shares == [one["ceiling_share"] for one in tables["runs"]]
    columns = [f"rung_{rung.replace(' ', '_')}" for rung in RUNGS]
    rows = [row for one in report.leaderboards for row in one.rows]
    records: dict[str, Sequence[CellStatistics | AgentStatistics]] = {
        "cells": report.cells,
        "agents": rows,
    }
    for name, found in records.items():
        for line, record in zip(tables[name], found, strict=True):
            assert [line[column] for column in columns] == list(map(exact, record.rungs.values()))
            assert sum(float(line[column]) for column in columns) == pytest.approx(1)
            assert line["ceiling_share_mean"] == exact(record.ceiling_share.mean)
        schema = parquet.read_schema(tmp_path / "tables" / f"{name}.parquet")
        assert {str(schema.field(column).type) for column in columns} == {"double"}
    lows = [
        exact(row.ceiling_share.on_these_tasks.low) if row.ceiling_share.on_these_tasks else ""
        for row in rows
    ]
    assert [line["ceiling_share_low"] for line in tables["agents"]] == lows
    assert any(lows)
    tex = (tmp_path / "tables" / "rungs.tex").read_text()
    assert [rung for rung in RUNGS if f"\n{rung} & " not in tex] == []
    assert (tmp_path / "tables" / "rungs-by-task.tex").is_file()
    text = (tmp_path / "tables" / "tables.md").read_text()
    assert "| near the ceiling |" in text and "Share of the way to the ceiling" in text


def test_without_pyarrow_parquet_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    generate_runs(tmp_path / "out", epochs=1, tasks=1, agents=1)
    with pytest.raises(UsageError, match="pip install 'mlagentbench\\[parquet\\]'"):
        write_report(ReportRequest(directories=(tmp_path / "out",), formats=ALL))
    assert not (tmp_path / "out" / "report").exists()


def test_exports_of_a_report_without_comparisons_have_their_headers(tmp_path: Path) -> None:
    generate_runs(tmp_path / "out", epochs=1, tasks=1, agents=1)
    data = write_report(ReportRequest(directories=(tmp_path / "out",))).data
    alone = data.__class__(**(vars(data) | {"leaderboards": (), "comparisons": ()}))
    write_exports(alone, ALL, tmp_path)
    empty = parquet.read_schema(tmp_path / "tables" / "comparisons.parquet")
    assert [str(empty.field(name).type) for name in ("measure", "p", "first_n")] == [
        "string",
        "double",
        "int64",
    ]
    assert (tmp_path / "tables" / "comparisons.csv").read_text().startswith("leaderboard,measure,")
    assert read_csv(tmp_path / "tables" / "agents.csv") == []


HOSTILE = Grid(
    name="x",
    title="100 % of $5_000 & more {\\cmd}",
    columns=("a|b", "react(x=<1>) ~ [l](u) *"),
    lines=(GridLine("t_1", ("-1.0 [-2.0, 0.5]", "[1, 2]")),),
    notes=("50 % ± 3^2 # note",),
)


def test_texts_cannot_break_out_of_latex() -> None:
    text = latex(HOSTILE)
    assert r"100 \% of \$5\_000 \& more \{\textbackslash{}cmd\}" in text
    assert "t\\_1 & $-$1.0 & {[}1, 2] \\\\\n & {[}-2.0, 0.5] &  \\\\" in text
    assert r"react(x=\textless{}1\textgreater{}) \textasciitilde{} [l](u) *" in text
    assert r"50 \% $\pm$ 3\textasciicircum{}2 \# note" in text


CMR8 = {
    "abcdefghijklmnopqrstuvwxyz": (
        "531 590 472 590 472 325 531 590 295 325 561 295 885 590 531 590 561 414 419 413 590 561 "
        "767 561 561 472"
    ),
    "0123456789*.,[] -": " ".join(["531"] * 11 + ["295"] * 4 + ["354"] * 2),
    "ABCDEG": "796 752 767 811 723 834",
}
"""The widths of letters in Computer Modern at 8 points, in thousandths of them."""


def test_latex_tables_fit_the_text_of_an_article(tmp_path: Path) -> None:
    """With the paper's 13 tasks and agents with long names; 345 points, \\footnotesize is 8."""
    out = tmp_path / "out"
    generate_paper_set(out, epochs=2)
    written = write_report(ReportRequest(directories=(out,), formats=frozenset(["latex"])))
    texts = {file.name: file.read_text() for file in written.exports}
    for name, text in texts.items():
        tabulars = re.findall(r"\\begin\{tabular\}(.*?)\\end\{tabular\}", text, re.DOTALL)
        assert tabulars
        for tabular in tabulars:
            rows = re.findall(r"^(.*&.*) \\\\$", tabular, re.MULTILINE)
            columns = zip(*(_plain(row).split("&") for row in rows), strict=True)
            widths = [max(_points(cell.strip()) for cell in column) + 6 for column in columns]
            assert sum(widths) <= 345, (name, widths)
    success = texts["success.tex"]
    for row in written.data.leaderboards[0].rows:
        assert row.model.split("/")[-1].replace("none", row.agent) in success


@pytest.mark.filterwarnings("error:constrained_layout not applied")
def test_plots_have_room_for_long_names(tmp_path: Path) -> None:
    generate_paper_set(tmp_path / "out", epochs=1)
    written = write_report(ReportRequest(directories=(tmp_path / "out",)))
    files = write_exports(written.data, ["plots"], tmp_path)
    assert {"success.svg", "profile.svg", "trade-off.svg", "error-modes.svg"} <= {
        file.name for file in files
    }


def _plain(row: str) -> str:
    return re.sub(r"[{}$\\]", "", row)


def _points(text: str) -> float:
    signs = "".join(CMR8)
    widths = " ".join(CMR8.values()).split()
    em = dict(zip(signs, map(int, widths), strict=True))
    return sum(8 * em.get(sign, 1100) / 1000 for sign in text)


def test_texts_cannot_break_out_of_markdown() -> None:
    lines = markdown(HOSTILE).splitlines()
    assert lines[2] == r"| task | a\|b | react(x=\<1\>) ~ [l]\(u) \* |"
    assert lines[4] == r"| t\_1 | -1.0 [-2.0, 0.5] | [1, 2] |"


def test_plots_are_the_same_files_again(tmp_path: Path) -> None:
    report = made_report(tmp_path / "results", TASKS[:1], AGENTS[5:7], epochs=1)
    first = write_exports(report, ["plots"], tmp_path / "a")
    without_runs = replace(report, collection=replace(report.collection, runs=()))
    second = write_exports(without_runs, ["plots"], tmp_path / "b")
    names = {file.name for file in first}
    assert {"success.svg", "success.pdf", "rungs.svg", "trade-off.svg", "profile.pdf"} <= names
    assert "scores-house-price.svg" in names
    assert len(second) == 8
    for file in second:
        assert file.read_bytes() == (tmp_path / "a" / "plots" / file.name).read_bytes()
    assert "react" in (tmp_path / "a" / "plots" / "profile.svg").read_text()
    assert (tmp_path / "a" / "plots" / "profile.pdf").read_bytes().startswith(b"%PDF")


def test_without_matplotlib_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = made_report(tmp_path / "results", TASKS[:1], AGENTS[5:6], epochs=1)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"mlagentbench\[plots\]"):
        write_exports(report, ["plots"], tmp_path)
