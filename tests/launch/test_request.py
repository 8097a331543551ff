"""What the options of `mlagentbench run` stand for."""

from pathlib import Path
from typing import Any

import pytest
from number_task import write_number_task

from mlagentbench.errors import UsageError
from mlagentbench.launch.request import (
    AgentChoice,
    RunSettings,
    SuiteRequest,
    parse_agents,
    split_list,
)
from mlagentbench.launch.suite import check_requirements, run_suite
from mlagentbench.launch.workers.worker import WorkerOptions, work
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.sandbox.bwrap.visible import tools
from mlagentbench.tasks.task import load_task
from mlagentbench.terminal import Terminal

OPTIONS: dict[str, Any] = {
    "tasks": "house-price",
    "agents": "nop,baseline",
    "models": "none",
    "runs": None,
    "out": Path("out"),
    "jobs": 1,
    "roles": [],
    "prices": None,
    "tier": "mini",
}


def test_agents_with_settings() -> None:
    text = 'baseline, research(retrieval=false, notes="a, b", steps=3, kinds=[1, 2], mode=fast)'
    assert parse_agents(text) == [
        AgentChoice(name="baseline"),
        AgentChoice(
            name="research",
            settings={
                "retrieval": False,
                "notes": "a, b",
                "steps": 3,
                "kinds": [1, 2],
                "mode": "fast",
            },
        ),
    ]
    assert split_list(" a,, b ,") == ["a", "b"]
    with pytest.raises(UsageError, match="'steps' is not of the form key=value"):
        parse_agents("research(steps)")


def test_the_papers_protocol_in_one_word() -> None:
    request = SuiteRequest.read(**OPTIONS, protocol="paper")
    limits = request.settings.limits(load_task("house-price").spec)
    assert request.runs == 8 and limits == BudgetLimits(steps=50, time=5 * 3600)
    fewer = SuiteRequest.read(**OPTIONS | {"runs": 2}, protocol="paper", max_steps=9)
    assert fewer.runs == 2
    assert fewer.settings.limits(load_task("house-price").spec).get("steps") == 9


def test_without_options_the_tasks_own_limits_hold() -> None:
    request = SuiteRequest.read(**OPTIONS)
    spec = load_task("house-price").spec
    limits = request.settings.limits(spec)
    assert request.runs == 1
    assert limits == BudgetLimits(steps=spec.limits.steps, time=spec.limits.time)
    assert [(cell.task, cell.agent.name, cell.model) for cell in request.cells] == [
        ("house-price", "nop", "none"),
        ("house-price", "baseline", "none"),
    ]


def test_a_task_named_twice_is_run_once() -> None:
    request = SuiteRequest.read(**OPTIONS | {"tasks": "house-price,house_price"})
    assert len(request.cells) == 2


def test_an_agent_and_a_model_named_twice_are_run_once() -> None:
    names = {"agents": "nop,react,nop,react", "models": "openai/one,openai/one"}
    request = SuiteRequest.read(**OPTIONS | names)
    assert [(cell.agent.name, cell.model) for cell in request.cells] == [
        ("nop", "none"),
        ("react", "openai/one"),
    ]


def test_feedback() -> None:
    assert RunSettings().feedback_calls() == 0
    assert RunSettings(feedback="validation:12").feedback_calls() == 12
    for wrong in ("validation", "validation:0", "validation:-1", "yes"):
        with pytest.raises(UsageError, match=f"--feedback {wrong}: expected none or validation:N"):
            SuiteRequest.read(**OPTIONS, feedback=wrong)


def test_a_primary_pair_is_named_before_the_runs() -> None:
    two = OPTIONS | {"agents": "react,research(retrieval=true)", "models": "mlagentbench/mailbox"}
    request = SuiteRequest.read(**two, primary="research(retrieval=true):react")
    assert request.settings.primary == (
        "research(retrieval=true) with mlagentbench/mailbox",
        "react with mlagentbench/mailbox",
    )
    with pytest.raises(UsageError, match="--primary: is empty"):
        SuiteRequest.read(**two, primary="")
    with pytest.raises(UsageError, match=r"--primary react:tree: .* of: react with mlagentbench"):
        SuiteRequest.read(**two, primary="react:tree")
    with pytest.raises(UsageError, match="--primary nop:baseline: all agents are reference"):
        SuiteRequest.read(**OPTIONS, primary="nop:baseline")


def test_a_run_is_refused_where_no_slot_can_be_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MLAGENTBENCH_SLOTS", str(tmp_path / "file" / "slots"))
    folder = write_number_task(tmp_path)
    request = SuiteRequest.read(**OPTIONS | {"tasks": str(folder), "out": tmp_path / "out"})
    with pytest.raises(UsageError, match="Not a directory; remove it, or set MLAGENTBENCH_SLOTS"):
        run_suite(request, Terminal())
    assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match="set MLAGENTBENCH_SLOTS"):
        work(tmp_path / "out", WorkerOptions(), Terminal())


def test_a_run_is_refused_where_a_tool_of_its_task_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_number_task(tmp_path)
    toml = folder / "task.toml"
    toml.write_text(toml.read_text().replace("cpus = 1", 'cpus = 1\ntools = ["gcc"]'))
    (tmp_path / "bin").mkdir()
    for name in tools.BASIC:
        (tmp_path / "bin" / name).symlink_to(str(tools.find_command(name)))
    monkeypatch.setattr(tools, "SEARCHED", str(tmp_path / "bin"))
    request = SuiteRequest.read(**OPTIONS | {"tasks": str(folder), "out": tmp_path / "out"})
    with pytest.raises(UsageError, match="numbers asks for gcc, which this machine lacks; install"):
        check_requirements(request, Terminal())
    assert not (tmp_path / "out").exists()
