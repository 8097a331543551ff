"""A model that knows a file by heart is found out, and one that guesses from neighbours is not.

The full tier is house-price from a generated train.csv, prepared in the real sandbox.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import memory_model
import numpy as np
import pandas as pd
import pytest
from memory_model import FAILS_AFTER, FILE, lines_of
from tabular_tasks import read_text_table

from mlagentbench.cli import main
from mlagentbench.cli.tasks.memorisation_printing import print_memorisation
from mlagentbench.errors import RunFailed
from mlagentbench.models.model_choice import ModelChoice
from mlagentbench.task_checks.data_tables import read_csv
from mlagentbench.task_checks.memorisation import kept_replies
from mlagentbench.task_checks.memorisation.memorisation import (
    MemorisationReport,
    MemorisationRequest,
    MemoryAnswer,
    measure_memorisation,
)
from mlagentbench.task_checks.memorisation.source_tables import source_tables
from mlagentbench.tasks.data.preparation import PreparedData

ROWS = 20
Ask = Callable[..., MemorisationReport]


@pytest.fixture
def ask(data: PreparedData, raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Asks `memory/NAME` and gives the report as it is in the file."""
    monkeypatch.setenv(FILE, str(raw / "train.csv"))
    memory_model.asked.clear()

    def measure(name: str) -> MemorisationReport:
        request = MemorisationRequest(
            model=ModelChoice(name=f"memory/{name}"),
            tasks=("house-price",),
            rows=ROWS,
            seed=0,
            max_tokens=500,
            out=tmp_path / "result.json",
        )
        report, file = measure_memorisation(request, None, lambda _: None)
        assert MemorisationReport.model_validate_json(file.read_bytes()) == report
        assert file.stat().st_mode & 0o077 == 0
        return report

    return measure


def test_tables_are_those_of_the_original_file(data: PreparedData, raw: Path) -> None:
    (table,) = source_tables(data.public, data.private)
    published = read_text_table(raw / "train.csv")
    pd.testing.assert_frame_equal(
        table.rows, published.drop(columns="SalePrice"), check_dtype=False
    )
    assert table.labels is not None
    assert list(table.labels["SalePrice"]) == list(published["SalePrice"])
    assert 0.29 < np.mean(table.held_out) < 0.31 and table.keys == ("Id",)


def test_a_model_that_knows_the_file_is_found_out(ask: Ask, data: PreparedData) -> None:
    (task,) = ask("100").tasks
    assert task.verdict == "strong"
    assert [(one.test, one.verdict) for one in task.tests] == [
        ("next row", "strong"), ("feature", "strong"), ("label", "strong"),
    ]  # fmt: skip
    for test in task.tests:
        assert test.matches >= ROWS - 1 and test.control_matches <= 2
        assert test.asked == test.answered == test.control_asked == ROWS
    _require_no_private_labels(task.answers, data)


def _require_no_private_labels(answers: Sequence[MemoryAnswer], data: PreparedData) -> None:
    """Labels of held-out rows are neither sent nor stored."""
    mapping = read_csv(data.private / "mapping.csv")
    assert mapping is not None
    held_out = set(mapping["original"][mapping["part"] == "test"])
    labelled = 0
    for answer in (one for one in answers if not one.control):
        header, *rows = lines_of(answer.prompt)
        if answer.test != "label":
            assert "SalePrice" not in header
            continue
        *train, asked = (dict(zip(header, row, strict=True)) for row in rows)
        assert asked["SalePrice"] == "?" and asked["Id"] in held_out
        assert not {row["Id"] for row in train} & held_out
        assert answer.expected is None
        labelled += len(train)
    assert labelled > ROWS


def test_one_that_guesses_is_not_and_no_reply_is_lost_when_it_fails(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FAILS_AFTER, "30")
    with pytest.raises(RunFailed, match="out of order; all replies so far are kept, run the same"):
        ask("0")
    monkeypatch.delenv(FAILS_AFTER)
    report = ask("0")
    assert report.questions == 6 * ROWS
    assert len(memory_model.asked) == len(set(memory_model.asked)) == 6 * ROWS
    (task,) = report.tasks
    assert task.verdict == "no sign"
    assert all(one.answered == ROWS and one.matches <= 2 for one in task.tests)
    assert all(0.1 < one.interval.high < 0.4 for one in task.tests)


def test_the_command_asks_about_all_prepared_tasks(
    ask: Ask,
    data: PreparedData,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prices = tmp_path / "prices.json"
    price = {"input": 1.0, "output": 2.0, "input_cache_write": 0.0, "input_cache_read": 0.0}
    prices.write_text(json.dumps({"memory/100": price}))
    line = f"mlagentbench tasks memorisation memory/100 --rows 10 --prices {prices} --json"
    monkeypatch.setattr(sys, "argv", line.split())
    monkeypatch.setattr(kept_replies, "TOLD_EVERY", 0.0)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    printed = capsys.readouterr()
    assert "59 of 60 questions answered\n60 of 60 questions answered\n" in printed.err
    report = MemorisationReport.model_validate(json.loads(printed.out))
    assert [(task.task, task.verdict) for task in report.tasks] == [("house-price", "strong")]
    reasons = {one.task: one.reason for one in report.left_out}
    command = "mlagentbench tasks prepare spaceship-titanic --tier full"
    assert reasons["spaceship-titanic"] == f"not prepared; run: {command}"
    assert "generated" in reasons["clrs"] and "images" in reasons["cifar10"]
    assert report.questions == 60 and report.cost == pytest.approx(60 * 20e-6)

    monkeypatch.setenv("COLUMNS", "140")
    print_memorisation(report, tmp_path / "result.json")
    shown = capsys.readouterr().out
    assert "house-price: strong: the model knows rows of the original file (next row" in shown
    (task,) = report.tasks
    assert task.verified is False and task.data_differences == data.accepted != ()
    differences = "; ".join(data.accepted)
    assert f"house-price: asked about data that are not the official ones: {differences}" in shown
    assert "60 questions, 600 + 300 tokens, $" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("none", "memorisation none: there is no model to ask; name one as PROVIDER/NAME"),
        ("gpt-6-sol", "model gpt-6-sol: models are named PROVIDER/NAME, did you mean openai/"),
        ("memory/0", "no full tier with tables or texts is prepared; run: mlagentbench tasks "),
        (
            "memory/0 --tasks feedback",
            "feedback: the full tier is not prepared; run: mlagentbench tasks prepare feedback",
        ),
        ("memory/0 --tasks feedback --suite quick", "both tasks and a suite are named"),
        ("memory/0 -M file=x", "-M file: no chosen model accepts it"),
    ],
)
def test_refusals(
    line: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["mlagentbench", "tasks", "memorisation", *line.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"mlagentbench: {said}")
