"""`mlagentbench tasks list` and `tasks show`: everything a person needs, on 80 columns."""

import json
import re
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tabular_tasks import TaskModules

from mlagentbench.cli.tasks.list_printing import print_task_list
from mlagentbench.cli.tasks.measure_printing import measurements_table
from mlagentbench.cli.tasks.show_printing import print_task
from mlagentbench.cli.tasks.task_facts import measurements_text
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.make_ready import prepare_tasks
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


@pytest.mark.slow
@pytest.mark.parametrize("accept", [False, True])
def test_paths_are_never_cut(
    accept: bool, tmp_path: Path, kept_home: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    home = tmp_path / "with a long name, so that no path in it fits on a line" / "home"
    home.mkdir(parents=True)
    for name in ("envs", "locks"):
        (kept_home / name).mkdir(parents=True, exist_ok=True)
        (home / name).symlink_to(kept_home / name)
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(home))
    task = load_task("house-price")
    if accept:
        raw = tmp_path / "downloads, which are in a folder with a name that is longer than a line"
        raw.mkdir()
        TaskModules("house-price").mini.make(raw, np.random.default_rng(7))
        [ready] = prepare_tasks(
            [task], "full", from_dir=raw, accept_unverified=True, call=call_task
        )
        expected = [f"full data from      {raw}"]
        expected += [f"accepted difference {text[:20]}" for text in ready.data.accepted]
        assert len(expected) > 1
    else:
        [ready] = prepare_tasks([task], "mini", call=call_task)
        expected = []
    print_task("house-price", as_json=False)
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert sum(line.endswith(f" {ready.data.directory}") for line in lines) == 1
    assert "…" not in shown
    for beginning in expected:
        assert any(line.startswith(beginning) for line in lines), shown


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
