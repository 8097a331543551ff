"""`mlagentbench tasks list` and `tasks show`: everything a person needs, on 80 columns."""

import json
from pathlib import Path

import pytest

from mlagentbench.report.task_pages import print_task, print_task_list


@pytest.fixture(autouse=True)
def narrow_terminal_and_empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))


def test_the_list_names_tasks_as_inspect_does(capsys: pytest.CaptureFixture[str]) -> None:
    print_task_list("", as_json=False)
    said = capsys.readouterr().out
    for name in ("vectorization", "house_price", "spaceship_titanic", "cifar10"):
        assert f"mlagentbench/{name}" in said
    assert "not prepared" in said and max(map(len, said.splitlines())) <= 80


def test_one_task_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    print_task("house-price", as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "mean absolute error, lower is better" in said
    assert "mlagentbench prepare house-price --tier full --from DIR" in said
    assert "md5 80ccab65fb115cbad143dbbd2bcd5577" in said
    assert "What to hand in" in said


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_task_list("house-price,cifar10", as_json=True)
    assert [facts["id"] for facts in json.loads(capsys.readouterr().out)] == [
        "house-price",
        "cifar10",
    ]
    print_task("cifar10", as_json=True)
    shown = json.loads(capsys.readouterr().out)
    assert shown["spec"]["submission"]["path"] and shown["tiers"]["mini"]["prepared"] is False
