"""The page at the end of `mlagentbench run`: what shares a line, what is said, the exit code."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from made_records import EFFICIENCY

from mlagentbench.analysis.run_summary import RunSummary
from mlagentbench.cli.suite_printing import print_cells, print_suite
from mlagentbench.records import Disclosure, GradeRecord, Outcome, RunRecord, Usage
from mlagentbench.runs.results import RecordedReplies, RunResult, SuiteOutcome
from mlagentbench.statistics.cells import CellStatistics, cell_statistics

FIGURES = {"floor": 10.0, "bar": 6.0, "reference": 2.0}


def result(epoch: int, grade: GradeRecord | None, **facts: Any) -> RunResult:
    disclosure = Disclosure.model_validate(
        {
            "task": "numbers", "task_version": 1, "metric": "error", "better": "lower",
            "data_hash": "da7a", "data_verified": True, "tier": "mini",
            "draw": "public", "draw_policy": "public", "generator": "9e4e",
            "agent": "baseline", "model": "none", "sandbox": "bubblewrap", "isolation": "-",
            "limits": {"steps": 10}, "python_env": "-", "hardware": {}, "packages": {},
        }
        | facts
    )  # fmt: skip
    record = RunRecord(task_path="numbers", epoch=epoch, seed=1, created="", disclosure=disclosure)
    return RunResult(
        path=record.directory("0" * 8).as_posix(),
        record=record,
        outcome=Outcome(kind="submitted"),
        usage=Usage(steps=2, seconds=3.0),
        grade=grade,
    )


def graded(score: float | None, **more: Any) -> GradeRecord:
    fields = {"step": 2, "valid": score is not None, "score": score, "success": False, **FIGURES}
    return GradeRecord.model_validate(fields | more)


def outcome(
    *results: RunResult, expected: int | None = None, disk_full: bool = False
) -> SuiteOutcome:
    return SuiteOutcome(
        out=Path("/out"),
        results=results,
        expected=len(results) if expected is None else expected,
        interrupted=False,
        disk_full=disk_full,
        paper_rule=False,
    )


def cells(results: Sequence[RunResult]) -> list[CellStatistics]:
    return cell_statistics(
        [
            RunSummary(out="/out", cluster=one.path, result=one, efficiency=EFFICIENCY)
            for one in results
        ]
    )


def printed(said: SuiteOutcome, *, as_json: bool = False) -> int:
    return print_cells(said, cells(said.results), as_json=as_json)


def test_runs_without_a_submission_stand_at_the_floor() -> None:
    success = graded(4.0, normalised=0.75, success=True, paper_success=True)
    [cell] = cells([result(1, success), result(2, graded(None, reason="no submission"))])
    assert (cell.runs, cell.counted, cell.valid.successes) == (2, 2, 1)
    assert (cell.success.successes, cell.success.n) == (1, 2)
    assert cell.score.mean == 4.0 and cell.score.standard_error is None
    assert cell.normalised.mean == 0.375
    assert cell.marks == ("no submission",)


@pytest.mark.parametrize(
    "other",
    [
        {"tier": "full"},
        {"data_hash": "0123"},
        {"task_version": 2},
        {"agent": "oracle"},
        {"agent_settings": {"retrieval": False}},
        {"model": "openai/gpt-5"},
        {"roles": {"edit": "openai/gpt-5"}},
        {"limits": {"steps": 20}},
        {"sandbox": "local"},
        {"feedback": "validation:3"},
        {"protocol": "paper"},
    ],
)
def test_what_differs_never_shares_a_line(other: dict[str, object]) -> None:
    assert len(cells([result(1, graded(4.0)), result(2, graded(5.0))])) == 1
    assert len(cells([result(1, graded(4.0)), result(1, graded(5.0), **other)])) == 2


def test_what_a_reader_must_know_is_noted() -> None:
    noted = graded(1.0, above_ceiling=True, extra={"warning": "control off by 9.0 %"})
    facts = {"sandbox": "local", "feedback": "validation:3"}
    [cell] = cells([result(1, noted, **facts), result(2, None, **facts)])
    assert set(cell.marks) == {
        "sandbox local",
        "feedback validation:3",
        "1 of 2 missing: not graded",
        "above the known ceiling",
        "run 1: control off by 9.0 %",
    }


def test_who_answered_is_noted_and_how_far_a_recording_fitted() -> None:
    facts = {"model": "mlagentbench/recorded", "answered_by": "recorded by hand"}
    recorded = [
        result(epoch, graded(4.0), **facts).model_copy(
            update={"recorded": RecordedReplies(given=7, matched=matched)}
        )
        for epoch, matched in ((1, 7), (2, 5))
    ]
    [cell] = cells(recorded)
    assert cell.marks == ("answers: recorded by hand", "replies matched 12 of 14")
    [cell] = cells([result(1, graded(4.0), answered_by="model")])
    assert cell.marks == ()


def test_the_table_fits_a_terminal_of_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    runs = [result(n, graded(4.0 + n / 100, normalised=0.75, success=True)) for n in range(1, 9)]
    assert printed(outcome(*runs)) == 0
    said = capsys.readouterr()
    assert "8/8 [0.68-1.00]" in said.out and "4.0450 ± 0.0087 " in said.out
    assert re.search(r"score +normalised *\n.* ± SE +± SE +time", said.out)
    assert "floor 10.00, bar 6.000, reference 2.000" in said.out
    assert "mlagentbench view /out" in said.out
    assert max(map(len, said.out.splitlines())) <= 80 and said.err == ""


def test_data_that_nobody_has_measured_comes_with_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    unjudged = GradeRecord(step=2, valid=True, score=4.0)
    assert printed(outcome(result(1, unjudged))) == 0
    said = capsys.readouterr().out
    assert "floor and bar not measured" in said
    assert "mlagentbench tasks measure numbers --tier mini" in said


def test_a_run_that_did_not_end_well_is_no_success_of_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failed = result(1, None).model_copy(
        update={"outcome": Outcome(kind="failed", cause="sandbox", detail="no memory")}
    )
    assert printed(outcome(failed, result(2, graded(4.0)))) == 1
    said = capsys.readouterr().err
    assert "sandbox: no memory" in said and "failed: 1 of 2 runs;" in said
    assert printed(outcome(result(1, graded(4.0)), expected=2)) == 1
    assert "1 did not begin; to see why: mlagentbench view" in capsys.readouterr().err
    assert printed(outcome(result(1, None), disk_full=True)) == 1
    assert "the disk of /out is full" in capsys.readouterr().err


def test_json_is_all_that_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(outcome(result(1, graded(4.0))), as_json=True) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["missing"] == 0 and values["cells"][0]["score"]["mean"] == 4.0
    assert values["runs"][0]["grade"]["score"] == 4.0


def test_variants_are_compared_run_by_run(capsys: pytest.CaptureFixture[str]) -> None:
    renamed = {"task": "numbers-renamed", "variant": "renamed", "data_hash": "0123"}
    scores = {1: (0.5, 0.3), 2: (0.9, 0.5)}
    runs = [result(epoch, graded(4.0, normalised=old)) for epoch, (old, _) in scores.items()]
    runs += [
        result(epoch, graded(4.0, normalised=new), **renamed) for epoch, (_, new) in scores.items()
    ]
    runs += [result(3, graded(4.0, normalised=9.0))]  # without its pair
    printed(outcome(*runs), as_json=True)
    [line] = json.loads(capsys.readouterr().out)["variant_differences"]
    assert line["task"] == "numbers" and line["pairs"] == 2
    assert line["difference"] == pytest.approx(-0.3) and line["standard_error"] == pytest.approx(
        0.1
    )
    printed(outcome(*runs))
    said = capsys.readouterr().out
    assert "renamed against original" in said and "-0.30 ± 0.10 SE" in said

    printed(outcome(*runs[:2], result(1, graded(None), **renamed, model="openai/gpt-5")))
    assert "renamed against original" not in capsys.readouterr().out


def test_without_any_run_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    print_suite(outcome(expected=1))
    assert "no run has started" in capsys.readouterr().out
