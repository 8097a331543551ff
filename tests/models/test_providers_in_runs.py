"""Whole runs against a provider's server: what they cost, what an outage does to them."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from number_task import write_number_task
from wire_formats import CACHED, READ, WRITTEN, Messages, serving
from wire_servers import WireServer

from mlagentbench.launch.inspect_task import MAX_RETRIES, registered_task
from mlagentbench.launch.request import RunSettings, SuiteRequest
from mlagentbench.launch.suite import run_suite
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.runs.journal import History, read_journal
from mlagentbench.runs.results import RunResult
from mlagentbench.terminal import Terminal

pytestmark = pytest.mark.slow

AGENT = """
import time

from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Solver, solver
from mlagentbench import Environment, as_solver


@solver
def asking(questions: int = 2) -> Solver:
    async def loop(environment: Environment) -> None:
        waited = None
        while len(environment.models.replies) < questions:
            clock, own_clock = time.monotonic(), environment.budget.seconds
            await environment.models.ask([ChatMessageUser(content="And now?")], state=waited)
            passed, counted = time.monotonic() - clock, environment.budget.seconds - own_clock
            waited = passed - counted

    return as_solver(loop)
"""
WIRE = Messages()
PRICES = {"input": 1, "output": 10, "input_cache_write": 2, "input_cache_read": 0.1}
REPLY_COSTS = (READ - CACHED + CACHED * 0.1 + WRITTEN * 10) / 1e6


@pytest.fixture(autouse=True)
def home(kept_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    """One for all tests: Inspect keeps a model that it has made, with its address."""
    with pytest.MonkeyPatch.context() as patch, serving(WIRE, patch) as server:
        yield server


def run(tmp_path: Path, agent: str, **options: Any) -> RunResult:
    folder = write_number_task(tmp_path)
    (tmp_path / "asking.py").write_text(AGENT)
    (tmp_path / "prices.json").write_text(json.dumps({WIRE.model: PRICES}))
    request = SuiteRequest.read(
        tasks=str(folder), agents=agent.replace("asking", str(tmp_path / "asking.py")),
        models=WIRE.model, runs=1, out=tmp_path / "out", jobs=1, roles=[],
        prices=tmp_path / "prices.json", **options,
    )  # fmt: skip
    [result] = run_suite(request, Terminal(file=StringIO())).results
    return result


def history(tmp_path: Path, result: RunResult) -> History:
    return read_journal(tmp_path / "out" / result.path / "journal.jsonl")


def test_a_run_ends_when_its_money_is_spent(tmp_path: Path, server: WireServer) -> None:
    server.plan(WIRE.text("More."))
    result = run(tmp_path, "asking(questions=9)", max_cost=2.5 * REPLY_COSTS)
    assert result.outcome is not None and result.outcome.kind == "cost"
    assert len(server.requests) == 3
    assert result.usage.cost == pytest.approx(3 * REPLY_COSTS)
    assert result.usage.input_tokens == 3 * READ


def test_waiting_for_a_provider_is_not_the_runs_time(tmp_path: Path, server: WireServer) -> None:
    server.plan(WIRE.error(429, "slow down", {"Retry-After": "1"}), WIRE.text("Well."))
    result = run(tmp_path, "asking(questions=2)")
    assert result.outcome is not None and result.outcome.kind == "submitted"
    [_, second] = history(tmp_path, result).replies
    assert isinstance(second.state, float) and second.state >= 1
    assert result.usage.cost == pytest.approx(2 * REPLY_COSTS)


def test_an_outage_fails_the_run_and_the_same_command_goes_on(
    tmp_path: Path, server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def pass_by(seconds: float) -> None:
        """Wait for nothing."""

    monkeypatch.setattr("inspect_ai.model._retry._sleep", pass_by)
    monkeypatch.setattr("inspect_ai._util.rich.rich_traceback", lambda *_, **__: "")
    broken = WIRE.error(500, "The machine room is on fire", {"x-should-retry": "false"})
    server.plan(WIRE.text("One."), broken)
    result = run(tmp_path, "asking")
    assert result.outcome is not None
    assert (result.outcome.kind, result.outcome.cause) == ("failed", "model")
    assert "The machine room is on fire" in (result.outcome.detail or "")
    assert result.grade is None
    assert len(server.requests) == 1 + 1 + MAX_RETRIES
    server.plan(broken)
    run(tmp_path, "asking", max_retries=0)
    assert len(server.requests) == 1
    server.plan(WIRE.text("Two."))
    result = run(tmp_path, "asking")
    assert result.outcome is not None and result.outcome.kind == "submitted"
    assert [line.reply for line in history(tmp_path, result).replies] == ["One.", "Two."]
    assert len(server.requests) == 1


def test_inspects_own_stop_goes_by_a_clock_that_stands_still_meanwhile(tmp_path: Path) -> None:
    settings = RunSettings(budget=BudgetLimits(time=60.0))
    task = registered_task(str(write_number_task(tmp_path)), settings)
    assert task.time_limit is None
    assert task.working_limit is not None and task.working_limit > 60
    assert task.config.max_retries == MAX_RETRIES
