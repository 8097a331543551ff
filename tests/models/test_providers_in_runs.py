"""Whole runs against a provider's server: what they cost, what an outage does to them."""

import json
import re
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from number_task import write_number_task
from wire_formats import CACHED, READ, WRITTEN, Messages, serving
from wire_servers import WireServer

from mlagentbench.errors import UsageError
from mlagentbench.launch.inspect_task import MAX_RETRIES, registered_task
from mlagentbench.launch.request import RunSettings, SuiteRequest
from mlagentbench.launch.resume import ResumeOptions, resume_runs
from mlagentbench.launch.suite import run_suite
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.models.sharing.plan_limits import PlanLimits
from mlagentbench.models.sharing.plan_share import PlanShare
from mlagentbench.runs.failure_causes import cause_of
from mlagentbench.runs.journal import History, read_journal
from mlagentbench.runs.results import RunResult, SuiteOutcome
from mlagentbench.terminal import Terminal

pytestmark = pytest.mark.slow

AGENT = """
import time

from inspect_ai.model import ChatMessageUser, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
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


@solver
def stubborn() -> Solver:
    # Asks Inspect's model without us, and takes no error for an end.

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        for _ in range(4):
            try:
                await get_model().generate("And now?")
            except Exception:
                pass
        return state

    return solve
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
    [result] = run_all(tmp_path, agent, **options).results
    return result


def run_all(
    tmp_path: Path, agent: str, *, console: Terminal | None = None, **options: Any
) -> SuiteOutcome:
    folder = write_number_task(tmp_path)
    (tmp_path / "asking.py").write_text(AGENT)
    (tmp_path / "prices.json").write_text(json.dumps({WIRE.model: PRICES}))
    given = {"runs": 1, "jobs": 1, "prices": tmp_path / "prices.json", **options}
    request = SuiteRequest.read(
        tasks=str(folder), agents=f"{tmp_path / 'asking.py'}:{agent}",
        models=WIRE.model, out=tmp_path / "out", roles=[], **given,
    )  # fmt: skip
    return run_suite(request, console or Terminal(file=StringIO()))


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


def test_without_waiting_for_outages_a_call_fails_after_its_retries_and_the_run_goes_on(
    tmp_path: Path, server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def pass_by(seconds: float) -> None:
        """Wait for nothing."""

    monkeypatch.setattr("inspect_ai.model._retry._sleep", pass_by)
    monkeypatch.setattr("inspect_ai._util.rich.rich_traceback", lambda *_, **__: "")
    broken = WIRE.error(500, "The machine room is on fire", {"x-should-retry": "false"})
    server.plan(WIRE.text("One."), broken)
    result = run(tmp_path, "asking", max_outage="0")
    assert result.outcome is not None
    assert (result.outcome.kind, result.outcome.cause) == ("failed", "model")
    assert "The machine room is on fire" in (result.outcome.detail or "")
    assert result.grade is None
    assert len(server.requests) == 1 + 1 + MAX_RETRIES
    server.plan(broken)
    run(tmp_path, "asking", max_retries=0, max_outage="0")
    assert len(server.requests) == 1
    server.plan(WIRE.text("Two."))
    result = run(tmp_path, "asking")
    assert result.outcome is not None and result.outcome.kind == "submitted"
    assert [line.reply for line in history(tmp_path, result).replies] == ["One.", "Two."]
    assert len(server.requests) == 1


def test_an_outage_is_waited_for_and_is_not_the_runs_time(
    tmp_path: Path, server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_OUTAGE_RETRY", "0.1")
    monkeypatch.setenv("MLAGENTBENCH_OUTAGE_PAUSE", "1")
    broken = WIRE.error(503, "The machine room is on fire", {"x-should-retry": "false"})
    server.plan(WIRE.text("One."), *[broken] * 4, WIRE.text("Two."))
    said = StringIO()
    result = run(tmp_path, "asking(questions=3)", console=Terminal(file=said))
    assert result.outcome is not None and result.outcome.kind == "submitted"
    replies = history(tmp_path, result).replies
    assert [line.reply for line in replies] == ["One.", "Two.", "Two."]
    waited = replies[2].state
    assert isinstance(waited, float) and waited >= 1.3, "two quick retries, and two pauses"
    assert said.getvalue().count("anthropic does not answer since") == 1
    assert said.getvalue().count("anthropic answers again") == 1
    assert result.usage.cost == pytest.approx(3 * REPLY_COSTS)


def test_runs_wait_when_the_money_for_all_is_spent_and_go_on_with_more(
    tmp_path: Path, server: WireServer
) -> None:
    server.plan(WIRE.text("More."))
    outcome = run_all(tmp_path, "asking(questions=3)", runs=3, max_spend=4 * REPLY_COSTS)
    assert len(server.requests) == 4
    assert outcome.spent_out is not None and "higher --max-spend" in outcome.spent_out
    [first, second] = outcome.results
    assert first.outcome is not None and first.outcome.kind == "submitted"
    assert first.grade is not None
    assert second.outcome is not None and second.outcome.kind == "interrupted"
    assert (second.grade, second.failure) == (None, None)
    assert cause_of(second).verdict == "missing"
    outcome = run_all(tmp_path, "asking(questions=3)", runs=3, max_spend=1.0)
    assert len(server.requests) == 9, "no reply is paid twice"
    assert outcome.spent_out is None and outcome.missing == 0
    assert [one.usage.cost for one in outcome.results] == pytest.approx([3 * REPLY_COSTS] * 3)
    assert len(list((tmp_path / "out" / "plans").glob("*.json"))) == 1


def test_resumed_runs_spend_the_money_of_their_plan(tmp_path: Path, server: WireServer) -> None:
    server.plan(WIRE.text("More."))
    asked: dict[str, Any] = {"agent": "asking(questions=3)", "runs": 2}
    first = run_all(tmp_path, max_spend=4 * REPLY_COSTS, **asked)
    [plan] = (tmp_path / "out" / "plans").glob("*.json")
    left = [tmp_path / "out" / result.path for result in first.unfinished]
    how = ResumeOptions.read(
        agent=f"{tmp_path / 'asking.py'}:asking", prices=tmp_path / "prices.json"
    )

    outcome = resume_runs(left, how, lambda _: None, Terminal(file=StringIO()))
    assert len(server.requests) == 4, "it was spent already"
    assert outcome.missing == 1 and outcome.spent_out is not None
    assert "the command that planned them with a higher --max-spend" in outcome.spent_out

    PlanLimits(spend=6 * REPLY_COSTS).write(plan.with_suffix(""))
    outcome = resume_runs(left, how, lambda _: None, Terminal(file=StringIO()))
    assert outcome.missing == 0 and len(server.requests) == 6
    again = run_all(tmp_path, max_spend=6 * REPLY_COSTS, **{**asked, "runs": 3})
    assert again.missing == 0, "another plan has its own money"
    spent = PlanShare(plan.with_suffix("")).spent_out()
    assert spent is not None, "what resumed runs spend counts for all"


def test_a_solver_of_inspect_that_swallows_errors_is_interrupted_all_the_same(
    tmp_path: Path, server: WireServer
) -> None:
    server.plan(WIRE.text("More."))
    outcome = run_all(tmp_path, "stubborn", max_spend=2 * REPLY_COSTS)
    assert len(server.requests) == 2
    [result] = outcome.results
    assert result.grade is None
    assert outcome.spent_out is not None and outcome.missing == 1


def test_all_calls_of_all_runs_share_a_rate(
    tmp_path: Path, server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_RATE_WINDOW", "1.5")
    server.plan(WIRE.text("Well."))
    started = time.monotonic()
    outcome = run_all(tmp_path, "asking(questions=2)", runs=2, jobs=2, max_rate=["anthropic=1"])
    assert time.monotonic() - started > 3 * 1.5
    assert outcome.missing == 0 and len(server.requests) == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_rate": ["openai=5"]}, "their providers are: anthropic"),
        ({"max_rate": ["anthropic"]}, "expected PROVIDER=N"),
        ({"max_outage": "soon"}, "--max-outage soon"),
        ({"max_spend": 0.0}, "--max-spend 0"),
        ({"max_spend": 5.0, "prices": None}, "--max-spend needs the models' prices"),
    ],
)
def test_limits_for_all_runs_are_checked_before_anything_starts(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        run_all(tmp_path, "asking", **options)


def test_inspects_own_stop_goes_by_a_clock_that_stands_still_meanwhile(tmp_path: Path) -> None:
    settings = RunSettings(budget=BudgetLimits(time=60.0))
    task = registered_task(str(write_number_task(tmp_path)), settings)
    assert task.time_limit is None
    assert task.working_limit is not None and task.working_limit > 60
    assert task.config.max_retries == MAX_RETRIES
