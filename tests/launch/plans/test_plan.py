"""Plans: complete requests on disk, and what is finished as run directories say."""

import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import read_eval_log
from number_task import write_number_task

from mlagentbench.launch.engines.engine import EngineOptions
from mlagentbench.launch.engines.local import LocalEngine
from mlagentbench.launch.plans.plan import PLANS, Plan, disclose_cell, plan_suite
from mlagentbench.launch.plans.plan_state import unfinished
from mlagentbench.launch.request import SuiteRequest
from mlagentbench.launch.suite import make_tasks_ready, run_suite
from mlagentbench.runs.results import collect, run_directories
from mlagentbench.terminal import Terminal

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def home(kept_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))


def console() -> Terminal:
    return Terminal(file=StringIO())


def suite(top: Path, **options: Any) -> SuiteRequest:
    folder = top / "numbers"
    if not folder.exists():
        write_number_task(top)
    usual: dict[str, Any] = {"tasks": str(folder), "agents": "nop", "out": top / "out", "runs": 2}
    return SuiteRequest.read(**usual | options)


def plan_of(request: SuiteRequest) -> Plan:
    return plan_suite(request, make_tasks_ready(request, console()))


def test_a_plan_on_disk_can_be_executed_by_another_process(tmp_path: Path) -> None:
    plan = plan_of(suite(tmp_path, agents="nop,oracle"))
    file = plan.write(tmp_path / "out")
    assert file.path.parent == tmp_path / "out" / PLANS and plan.write(tmp_path / "out") == file
    read = Plan.model_validate_json(file.path.read_bytes())
    assert read == plan and len({request.run for request in read.requests}) == 4
    LocalEngine(EngineOptions(tmp_path / "out", 2, console())).execute(read.requests)
    results = collect(tmp_path / "out")
    assert {result.path for result in results} == {request.run for request in read.requests}
    assert all(result.grade is not None for result in results)


def test_run_directories_alone_say_what_is_finished(tmp_path: Path) -> None:
    request, out = suite(tmp_path, runs=3), tmp_path / "out"
    plan = plan_of(request)
    assert unfinished(plan.requests, out) == list(plan.requests)
    run_suite(request, console())
    shutil.rmtree(out / "logs")
    assert unfinished(plan.requests, out) == []
    first, second, _ = run_directories(out)
    first.grades.unlink()
    shutil.rmtree(second.path)
    left = unfinished(plan.requests, out)
    assert [one.run for one in left] == [str(first.relative), str(second.relative)]
    journal = first.journal.read_bytes()
    outcome = run_suite(request, console())
    assert outcome.missing == 0 and len(outcome.results) == 3
    assert first.journal.read_bytes() == journal, "it is graded, not run again"


def test_other_data_than_planned_are_refused(tmp_path: Path) -> None:
    [request] = plan_of(suite(tmp_path, runs=1)).requests
    other = request.model_copy(update={"run": request.run.replace("/nop-", "/nop-0")})
    Plan(requests=(other,)).write(tmp_path / "out")
    LocalEngine(EngineOptions(tmp_path / "out", 1, console())).execute([other])
    assert collect(tmp_path / "out") == []
    [log] = (tmp_path / "out" / "logs").glob("*.eval")
    [sample] = read_eval_log(str(log)).samples or []
    assert sample.error is not None and f"{other.run} was planned" in sample.error.message


def test_the_primary_pair_is_stored_with_the_runs_and_makes_no_other_runs(tmp_path: Path) -> None:
    answers = {
        "models": "mlagentbench/mailbox",
        "model_arguments": [f"dir={tmp_path / 'mail'}"],
        "agents": "react,research",
        "runs": 1,
    }
    plain = plan_of(suite(tmp_path, **answers))
    request = suite(tmp_path, **answers, primary="react:research")
    named = plan_of(request)
    assert [one.run for one in named.requests] == [one.run for one in plain.requests]
    pair = ("react with mlagentbench/mailbox", "research with mlagentbench/mailbox")
    ready = make_tasks_ready(request, console())
    facts = [
        disclose_cell(request, cell, ready[*cell.python_needs, "public"]) for cell in request.cells
    ]
    assert [one.primary for one in facts] == [pair, pair]
    written = Plan.model_validate_json(named.write(tmp_path / "out").path.read_bytes())
    assert all(one.settings.primary == pair for one in written.requests)


def test_a_plan_says_the_sandbox_and_where_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = plan_of(
        suite(tmp_path, agents="react", models="mlagentbench/mailbox", model_arguments=["dir=mail"])
    )
    file = plan.write(tmp_path / "out")
    monkeypatch.setenv("MLAGENTBENCH_SANDBOX", "local")
    request = file.request(0)
    assert request.settings.sandbox == "bubblewrap"
    assert request.model.arguments == {"dir": str(tmp_path / "mail")}
