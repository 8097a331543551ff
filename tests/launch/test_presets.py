"""Presets: the whole plan of a published experiment, and what is said of it before it starts."""

from pathlib import Path
from typing import Any

import pytest

from mlagentbench.agents.paper import langchain, research
from mlagentbench.agents.registry import AGENTS
from mlagentbench.errors import UsageError
from mlagentbench.launch.presets.estimate import estimate
from mlagentbench.launch.presets.preset import PRESETS
from mlagentbench.launch.request import SuiteRequest
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.tasks.suites import load_suite
from mlagentbench.tasks.task import load_task

MODELS = "mockllm/one,mockllm/two"


def asked(preset: str, **options: Any) -> SuiteRequest:
    usual = {"models": MODELS, "out": Path("out"), "agents": "", "tasks": "", "runs": None}
    return SuiteRequest.read(preset=preset, **usual | options)


@pytest.mark.parametrize(
    "name, tasks, runs", [("paper-icml", 13, 8), ("paper-v1", 15, 25)]
)  # fmt: skip
def test_a_preset_is_the_whole_plan(name: str, tasks: int, runs: int) -> None:
    request = asked(name)
    assert {cell.task for cell in request.cells} == set(load_suite(PRESETS[name].suite).tasks)
    agents = {(cell.agent.name, cell.agent.settings.get("retrieval")) for cell in request.cells}
    assert agents == {
        ("research", None), ("research", True), ("autogpt", None), ("langchain", None),
    }  # fmt: skip
    assert len(request.cells) == tasks * 4 * 2 and request.runs == runs
    assert request.settings.protocol == "paper"
    for cell in request.cells:
        limits = request.settings.limits(load_task(cell.task).spec)
        assert limits == BudgetLimits(steps=50, time=5 * 3600)


def test_what_a_person_says_comes_first() -> None:
    request = asked(
        "paper-v1", runs=8, max_steps="30", tasks="house-price", agents="act", protocol="standard"
    )
    [first, _] = request.cells
    assert (first.task, first.agent.name, request.runs) == ("house-price", "act", 8)
    assert request.settings.protocol == "standard"
    assert request.settings.limits(load_task("house-price").spec).get("steps") == 30
    assert len(asked("paper-icml", suite="quick").cells) == 5 * 4 * 2
    assert asked("paper-icml", max_retries=0).max_retries == 0


def test_an_unknown_preset_is_named_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"--preset paper-imcl: .* did you mean paper-icml"):
        asked("paper-imcl")


def test_a_preset_says_what_it_can_take() -> None:
    lines = list(estimate(asked("paper-icml", jobs=4)).lines())
    assert lines[0] == "plan: 13 tasks, mini tier; 4 agents; 2 models; 8 runs each"
    assert lines[1].startswith("time: at most 4,160.0 h by the limits of the runs; 4 at a time: 1,")
    actions, calls = 13 * 8 * 2 * 4 * 50, 13 * 8 * 2 * (3 * 6 * 50 + 55)
    assert lines[2].startswith(f"model calls: at most {calls:,} for {actions:,} actions")
    assert len(lines) == 3


def test_agents_ask_no_more_often_than_the_estimate_says() -> None:
    for name in ("research", "act", "react-text"):
        assert AGENTS[name].replies_per_step == 1 + research.RETRIES
    assert AGENTS["langchain"].spare_replies == langchain.SPARE_TURNS
    fewer = estimate(asked("paper-icml", agents="autogpt(retries=1)", tasks="imdb", runs=1))
    assert fewer.calls == 2 * 2 * 50
    unbounded = estimate(asked("paper-icml", agents="react", tasks="imdb"))
    assert unbounded.calls is None and unbounded.unbounded == ("react",)


def test_dollars_are_a_bound_only_with_a_limit_on_them(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    price = "{input: 10, output: 30, input_cache_write: 0, input_cache_read: 0}"
    prices.write_text(f"mockllm/one: {price}\nmockllm/two: {price}\n")
    usual = {"prices": prices, "tasks": "imdb", "agents": "act", "runs": 3}
    about = estimate(asked("paper-icml", **usual))
    assert about.dollars == pytest.approx(3 * 2 * 10 * 6 / 13)
    assert not about.dollars_are_bounded
    assert [*about.lines()][-1].startswith("dollars: about $27.69 at the paper's 461,538 tokens")
    fewer_steps = estimate(asked("paper-icml", **usual, max_steps="30"))
    assert fewer_steps.dollars == pytest.approx(0.6 * 3 * 2 * 10 * 6 / 13)
    bounded = estimate(asked("paper-icml", **usual, max_cost="1.5"))
    assert [*bounded.lines()][-1] == "dollars: at most $9.00, by --max-cost"
