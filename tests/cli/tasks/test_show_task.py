"""`mlagentbench tasks list` and `tasks show`: everything a person needs, on 80 columns."""

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from mlagentbench.cli.tasks.list_printing import print_task_list
from mlagentbench.cli.tasks.measure_printing import measurements_table
from mlagentbench.cli.tasks.show_printing import print_task
from mlagentbench.cli.tasks.task_facts import measurements_text
from mlagentbench.tasks.task import load_task

MEASURED = load_task("house-price").spec.measured["mini"]
STARTER = f"{MEASURED.starter.mean:,.0f} ± {MEASURED.starter.std:.0f}"
REFERENCE = f"{MEASURED.reference.mean:,.0f} ± {MEASURED.reference.std:.0f}"


@pytest.fixture(autouse=True)
def narrow_terminal_and_empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))


def test_the_list_names_tasks_as_inspect_does(capsys: pytest.CaptureFixture[str]) -> None:
    print_task_list(["house-price", "vectorization"], as_json=False)
    said = capsys.readouterr().out
    assert "mlagentbench/house_price" in said and "mlagentbench/vectorization" in said
    assert max(map(len, said.splitlines())) <= 80


def test_the_list_says_what_each_task_is_and_needs(capsys: pytest.CaptureFixture[str]) -> None:
    print_task_list(["house-price"], as_json=False)
    said = capsys.readouterr().out
    for words in (
        "classic-kaggle", "mean absolute error ↓", "needs Kaggle (full)", "not prepared",
        f"starter {STARTER}, reference {REFERENCE}", "± SD: standard deviation",
        "licence: The competition's",
    ):  # fmt: skip
        assert words in said, said
    assert re.search(r"mini  not prepared  [\d.]+ kB ", said)


def test_one_task_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    print_task("house-price", as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "mean absolute error, lower is better" in said
    assert f"starter {STARTER} SD (" in said and f"reference {REFERENCE} SD (" in said
    assert "mlagentbench tasks prepare house-price --tier full --from DIR" in said
    assert "md5 80ccab65fb115cbad143dbbd2bcd5577" in said
    assert "What to hand in" in said


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_task_list(["house-price", "cifar10"], as_json=True)
    assert [facts["id"] for facts in json.loads(capsys.readouterr().out)] == [
        "house-price",
        "cifar10",
    ]
    print_task("cifar10", as_json=True)
    shown = json.loads(capsys.readouterr().out)
    assert shown["spec"]["submission"]["path"] and shown["tiers"]["mini"]["prepared"] is False


def test_every_command_prints_a_task_s_measurements_alike() -> None:
    task, measured = load_task("house-price"), MEASURED
    console = Console(width=200, record=True, file=StringIO())
    console.print(measurements_table(task.spec.metric, measured))
    table, text = console.export_text(), measurements_text(task, "mini", long=True)
    floor = f"{measured.trivial['best_single_feature']:,.0f}"
    for said in (floor, f"{STARTER} SD", f"{REFERENCE} SD"):
        assert said in table and said in text
