"""`run --dry-run`: from past runs, from what is shipped, and what it does not know."""

import json
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from command_line import COMMAND
from number_task import write_number_task

from mlagentbench.launch.forecast.forecast import Forecast, forecast
from mlagentbench.launch.request import SuiteRequest
from mlagentbench.launch.suite import run_suite
from mlagentbench.runs.results import collect
from mlagentbench.tasks.task import load_task
from mlagentbench.terminal import Terminal

MODEL = "mockllm/model"


@pytest.fixture(autouse=True)
def home(kept_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))


def asked(top: Path, **options: Any) -> SuiteRequest:
    usual: dict[str, Any] = {"agents": "baseline", "out": top / "out", "runs": 2}
    return SuiteRequest.read(**usual | options)


def expected(top: Path, **options: Any) -> Forecast:
    return forecast(asked(top, **options))


def printed(*arguments: str) -> str:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=True).stdout


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    found = expected(tmp_path, tasks="house-price,cifar10", agents="react", models=MODEL)
    assert [path for path in tmp_path.rglob("*") if path.name != "home"] == []
    missing = [need.what for need in found.needs.missing]
    assert len(missing) == 4 and "data of house-price, mini tier (generated here)" in missing


def test_the_docker_sandbox_needs_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever virtual environments this machine has."""
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("MLAGENTBENCH_CONTAINER_ENGINE", str(program))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    found = expected(tmp_path, tasks="house-price", sandbox="docker", image="mine:1")
    missing = [need.what for need in found.needs.missing]
    assert any(what.startswith("image on mine:1 with ") for what in missing), missing
    assert not any("virtual environment" in what for what in missing)
    assert found.needs.environments == 0


def test_reference_agents_take_what_was_measured(tmp_path: Path) -> None:
    found = expected(tmp_path, tasks="house-price", agents="baseline,oracle,nop", runs=10)
    from mlagentbench.tasks.task import load_task

    measured = load_task("house-price").spec.measured["mini"]
    seconds = (measured.starter.seconds or 0) + (measured.reference.seconds or 0)
    assert found.hours.expected == pytest.approx(10 * seconds / 3600)
    assert (found.hours.unknown, found.tokens.expected, found.runs) == (0, 0, 30)


def test_draws_to_measure_and_rebuilding_come_on_top(tmp_path: Path) -> None:
    found = expected(
        tmp_path,
        tasks="house-price",
        agents="oracle",
        draw="77001..77002",
        runs=4,
        protocol="rebuild",
    )
    shipped = load_task("house-price").shipped_measurements("mini")
    assert shipped is not None and shipped.starter.seconds and shipped.reference.seconds
    seconds = 8 * (3 * shipped.starter.seconds + shipped.reference.seconds)
    assert found.unmeasured.number == 2 + 2 * 3, "each draw once, and its fresh ones"
    assert found.unmeasured.seconds == pytest.approx(seconds)
    lines = list(found.lines())
    assert any(line.startswith("measuring: 8 draws, about ") for line in lines)
    assert any("rebuilding: every" in line and "3 fresh draws" in line for line in lines)
    assert expected(tmp_path, tasks="house-price", agents="oracle").unmeasured.number == 0


def test_the_panel_of_the_hard_tier_is_measured_too(tmp_path: Path) -> None:
    found = expected(
        tmp_path, tasks="imdb", agents="oracle", tier="hard", draw="77001", protocol="standard"
    )
    shipped = load_task("imdb", "hard").shipped_measurements("hard")
    assert shipped is not None and shipped.starter.seconds and shipped.reference.seconds
    programs = 1 + len(shipped.default) + len(shipped.ablations)
    seconds = 3 * shipped.starter.seconds + programs * shipped.reference.seconds
    assert programs > 5 and found.unmeasured.number == 1
    assert found.unmeasured.seconds == pytest.approx(seconds)


def test_tokens_come_from_recordings_else_from_the_paper(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        f"{MODEL}: {{input: 10, output: 20, input_cache_write: 0, input_cache_read: 0}}\n"
    )
    usual: dict[str, Any] = {"tasks": "house-price", "models": MODEL, "prices": prices, "runs": 3}
    recorded = expected(tmp_path, agents="react", **usual)
    [cell] = recorded.cells
    assert cell.profile.tokens_source == "1 shipped recording of the agent"
    assert cell.profile.input_tokens is not None and cell.profile.output_tokens is not None
    each = (cell.profile.input_tokens.mean * 10 + cell.profile.output_tokens.mean * 20) / 1e6
    assert recorded.dollars is not None and each > 0
    assert recorded.dollars.expected == pytest.approx(3 * each)
    assert recorded.hours.unknown == 3, "nobody knows how long the model takes"
    assert "expected time: unknown for 3 runs" in list(recorded.lines())
    [other] = expected(tmp_path, agents="autogpt", **usual).cells
    assert (other.profile.tokens_source or "").startswith("the paper's 461,538 tokens")
    unpriced = expected(tmp_path, agents="react", **(usual | {"prices": None}))
    assert "expected dollars: unknown without --prices FILE" in list(unpriced.lines())


def test_data_of_the_full_tier_are_named_with_their_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(tmp_path / "home"))
    found = expected(tmp_path, tasks="cifar10", tier="full")
    [data, _environment] = found.needs.missing
    assert data.download == 170_498_071
    assert data.next_step == "mlagentbench tasks prepare cifar10 --tier full"
    assert any("download 170.5 MB" in line for line in found.lines())


@pytest.mark.slow
def test_past_runs_come_first_and_finished_runs_are_not_counted(tmp_path: Path) -> None:
    folder = write_number_task(tmp_path)
    run_suite(asked(tmp_path, tasks=str(folder)), Terminal(file=StringIO()))
    before = sorted(path for path in tmp_path.rglob("*"))
    found = expected(tmp_path, tasks=str(folder), runs=6)
    assert sorted(path for path in tmp_path.rglob("*")) == before
    assert (found.runs, found.finished, found.left) == (6, 2, 4)
    [cell] = found.cells
    assert cell.profile.source == "from 2 past runs of the same task, agent and model"
    seconds = [run.usage.seconds for run in collect(tmp_path / "out")]
    assert found.hours.expected == pytest.approx(4 * sum(seconds) / 2 / 3600)
    assert found.hours.low == pytest.approx(4 * min(seconds) / 3600)
    assert found.hours.high == pytest.approx(4 * max(seconds) / 3600)
    assert found.stored.expected > 0 and found.needs.missing == ()
    assert found.needs.environments > 1e6
    [other] = expected(tmp_path, tasks=f"house-price,{folder}", runs=1).cells[:1]
    assert other.profile.source.endswith("on other tasks")


def test_the_command_prints_the_forecast_and_runs_nothing(tmp_path: Path) -> None:
    options = ["--tasks", "house-price", "--agents", "nop", "--out", str(tmp_path / "out")]
    said = printed("run", *options, "--dry-run")
    assert said.startswith("runs: 1 run, 0 finished already, 1 left\n")
    values = json.loads(printed("run", *options, "--dry-run", "--json"))
    assert (values["runs"], values["finished"]) == (1, 0)
    assert not (tmp_path / "out").exists()


def test_slots_bound_how_many_run_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"": "test", "_CPUS": "4", "_MEMORY": str(64 * 2**30)}.items():
        monkeypatch.setenv(f"MLAGENTBENCH_ALLOCATION{name}", value)
    usual: dict[str, Any] = {"tasks": "house-price", "agents": "nop", "runs": 9}
    assert expected(tmp_path, jobs=None, **usual).at_once == 2, "it takes 2 cores"
    assert expected(tmp_path, jobs=8, **usual).at_once == 2
    assert expected(tmp_path, jobs=1, **usual).at_once == 1
    assert expected(tmp_path, jobs=None, **(usual | {"runs": 1})).at_once == 1
