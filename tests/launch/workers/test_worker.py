"""Workers take runs from plans: what they begin, leave alone, try again and stop."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from command_line import COMMAND
from number_task import slow_starter, write_number_task

from mlagentbench.errors import UsageError
from mlagentbench.launch.plans.plan import Plan, PlanFile, plan_files, plan_suite
from mlagentbench.launch.plans.plan_state import PlanState, plan_state
from mlagentbench.launch.request import SuiteRequest
from mlagentbench.launch.suite import make_tasks_ready
from mlagentbench.launch.workers import worker as worker_module
from mlagentbench.launch.workers.worker import Worker, WorkerOptions, WorkerPlace, work
from mlagentbench.machine.allocation import Allocation, allocation
from mlagentbench.models.sharing.outages import Outage
from mlagentbench.models.sharing.plan_limits import PlanLimits, SharingTimes
from mlagentbench.models.sharing.spending import Spending
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.results import collect, run_directories
from mlagentbench.terminal import Terminal

pytestmark = pytest.mark.slow

PATIENCE = 120.0
AGENT = """
from inspect_ai.solver import Solver, solver
from mlagentbench import Environment, as_solver

@solver
def mine() -> Solver:
    async def loop(environment: Environment) -> None:
        return None

    return as_solver(loop)
"""
BROKEN_GRADER = """
def grade(outputs, private):
    raise RuntimeError("the disk of answers is gone")
"""


@pytest.fixture(autouse=True)
def home(kept_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def planned(out: Path, task: Path, agents: str = "baseline", runs: int = 1, **more: Any) -> Plan:
    """A plan that a command has written before it was killed."""
    request = SuiteRequest.read(tasks=str(task), agents=agents, runs=runs, out=out, **more)
    return plan_suite(request, make_tasks_ready(request, Terminal(file=StringIO())))


def numbers(top: Path, **files: str) -> Path:
    write_number_task(top, **files)
    return top / "numbers"


def worked(out: Path, **options: Any) -> str:
    """What a worker prints until nothing is left for it."""
    printed = StringIO()
    work(out, WorkerOptions(**options), Terminal(file=printed, width=200))
    return printed.getvalue()


def start(out: Path, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [COMMAND, "jobs", "work", str(out), *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def wait_for(out: Path, reached: Callable[[PlanState], bool]) -> PlanState:
    deadline = time.monotonic() + PATIENCE
    while not reached(state := plan_state(out)):
        assert time.monotonic() < deadline, state
        time.sleep(0.05)
    return state


def is_in_a_step(out: Path) -> bool:
    return any(b"begun" in file.read_bytes() for file in out.rglob("output.log"))


def test_a_worker_does_all_plans_and_says_where(tmp_path: Path, out: Path) -> None:
    task = numbers(tmp_path)
    planned(out, task, "nop").write(out)
    planned(out, task, "baseline", runs=2).write(out)
    assert plan_state(out).counts["waiting"] == 3
    worked(out, place=WorkerPlace(engine="slurm", job="12_3", node="n2", worker="w1"))
    assert plan_state(out).counts == {
        "done": 3, "running": 0, "waiting": 0, "failed": 0, "cancelled": 0,
    }  # fmt: skip
    for run in run_directories(out):
        [line] = [one for one in read_journal(run.journal).events if one.event == "worker"]
        assert line.detail == "slurm job 12_3 on n2, worker w1"


def test_a_failed_run_is_tried_again_only_when_it_is_asked_for_again(
    tmp_path: Path, out: Path
) -> None:
    task = numbers(tmp_path)
    plan = planned(out, task)
    plan.write(out)
    good = (task / "grade.py").read_text()
    (task / "grade.py").write_text(BROKEN_GRADER)
    worked(out)
    [failed] = plan_state(out).of("failed")
    assert "grade.grade() failed" in failed.cause
    (task / "grade.py").write_text(good)
    worked(out)
    assert plan_state(out).of("failed") == [failed], "nobody has asked for it again"
    plan.write(out)
    assert plan_state(out).counts["waiting"] == 1
    worked(out)
    assert plan_state(out).counts["done"] == 1
    [result] = collect(out)
    assert result.usage.steps == 2, "it was graded, not run again"


def test_a_cancelled_plan_stops_its_workers_and_can_be_resumed(tmp_path: Path, out: Path) -> None:
    plan = planned(out, numbers(tmp_path, starter=slow_starter(600)), runs=3)
    plan.write(out)
    worker = start(out)
    while not is_in_a_step(out):
        assert worker.poll() is None, worker.communicate()
        time.sleep(0.05)
    cancelled = subprocess.run(
        [COMMAND, "jobs", "cancel", str(out)], capture_output=True, text=True, check=True
    )
    assert "cancelled: 3 runs; to resume, run the command that planned them" in cancelled.stdout
    printed, _ = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 0 and "the plan was cancelled" in printed
    assert "3 runs: done 0, running 0, waiting 0, failed 0, cancelled 3" in printed
    assert worked(out) == "", "nothing of it is begun again"
    plan.write(out)
    assert plan_state(out).counts["waiting"] == 3


@pytest.mark.parametrize("how", ["time", "SIGTERM"])
def test_a_worker_that_is_stopped_leaves_its_run_to_others(
    tmp_path: Path, out: Path, how: str
) -> None:
    task = numbers(tmp_path, starter=slow_starter(600))
    planned(out, task, max_time="20s").write(out)
    worker = start(out, *(["--time", "8s"] if how == "time" else []))
    while not is_in_a_step(out):
        assert worker.poll() is None, worker.communicate()
        time.sleep(0.05)
    if how == "SIGTERM":
        worker.send_signal(signal.SIGTERM)
    printed, _ = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == (0 if how == "time" else 130), printed
    [run] = run_directories(out)
    assert run.holder is None and read_journal(run.journal).outcome is None
    [left] = plan_state(out).runs
    assert (left.state, left.cause) == ("waiting", "interrupted")
    worked(out)
    history = read_journal(run.journal)
    assert history.outcome is not None and history.outcome.kind == "time"
    assert plan_state(out).counts["done"] == 1


def test_a_worker_waits_for_what_another_does_and_takes_it_over(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLAGENTBENCH_LEASE_RENEWAL", "0.5")
    planned(out, numbers(tmp_path, starter=slow_starter(5))).write(out)
    first = start(out)
    running = wait_for(out, lambda state: bool(state.of("running"))).of("running")
    assert f"process {first.pid} of " in running[0].where and "worker " in running[0].where
    second = start(out)
    while not is_in_a_step(out):
        time.sleep(0.05)
    time.sleep(1)
    assert second.poll() is None
    first.kill()
    first.communicate()
    printed, _ = second.communicate(timeout=PATIENCE)
    assert second.returncode == 0 and "1 run: done 1" in printed
    [run] = run_directories(out)
    statuses = [step.observation.status for step in read_journal(run.journal).steps]
    assert statuses[0] == "interrupted"


def test_a_command_shows_what_workers_do_that_others_start(tmp_path: Path, out: Path) -> None:
    task = numbers(tmp_path)
    shown = subprocess.Popen(
        [COMMAND, "run", "--tasks", str(task), "--agents", "baseline", "--runs", "2",
         "--out", str(out), "--engine", "workers"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    while not any(out.glob("plans/*.json")):
        assert shown.poll() is None, shown.communicate()
        time.sleep(0.05)
    assert plan_state(out).counts["waiting"] == 2
    worker = start(out)
    printed, _ = shown.communicate(timeout=PATIENCE)
    assert shown.returncode == 0 and worker.wait(PATIENCE) == 0, printed
    assert "planned: 2 runs; start workers, here or on any machine that shares" in printed
    assert "[2/2] numbers (mini): baseline, run " in printed
    for run in run_directories(out):
        assert [one.event for one in read_journal(run.journal).events] == ["worker"]


def test_plans_that_cannot_be_read_are_named(tmp_path: Path, out: Path) -> None:
    with pytest.raises(UsageError, match="has no plans; name the --out directory"):
        plan_state(out)
    file = planned(out, numbers(tmp_path)).write(out)
    contents = file.path.read_bytes()
    file.path.write_bytes(contents[: len(contents) // 2])
    with pytest.raises(UsageError, match=f"{file.hash}.json: not a plan"):
        plan_state(out)
    file.path.write_bytes(contents.replace(b'"epoch"', b'"epochs"'))
    with pytest.raises(UsageError, match="request 1 is not one of this version"):
        worked(out)


def test_a_worker_in_the_background_of_a_script_can_be_stopped(tmp_path: Path, out: Path) -> None:
    planned(out, numbers(tmp_path, starter=slow_starter(600))).write(out)
    worker = subprocess.Popen(
        ["sh", "-c", f"trap '' INT; exec {COMMAND} jobs work {out}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    while not is_in_a_step(out):
        assert worker.poll() is None, worker.communicate()
        time.sleep(0.05)
    worker.send_signal(signal.SIGTERM)
    printed, _ = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 130, printed


def test_a_run_is_done_only_with_its_grade(tmp_path: Path, out: Path) -> None:
    planned(out, numbers(tmp_path)).write(out)
    worked(out)
    [run] = run_directories(out)
    assert plan_state(out).counts["done"] == 1
    run.grades.write_bytes(b"")  # as a kill leaves it between creating and writing it
    assert plan_state(out).counts["waiting"] == 1
    worked(out)
    assert plan_state(out).counts["done"] == 1 and run.grades.read_bytes()


def test_a_spent_plan_keeps_an_older_plan_from_its_runs(tmp_path: Path, out: Path) -> None:
    task = numbers(tmp_path)
    first = planned(out, task, runs=1).write(out)
    second = planned(out, task, runs=2).write(out)
    os.utime(first.path, (time.time() - 60,) * 2)
    PlanLimits(spend=1.0).write(second.directory)
    Spending(second.directory).add(1.0)
    assert "$1.00 are spent, of $1.00" in worked(out)
    assert plan_state(out).counts["waiting"] == 2
    PlanLimits(spend=2.0).write(second.directory)
    worked(out)
    assert plan_state(out).counts["done"] == 2


def test_a_worker_leaves_what_needs_more_than_it_was_given(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = numbers(tmp_path)
    planned(out, task).write(out)
    toml = (task / "task.toml").read_text()
    (task / "task.toml").write_text(toml.replace('memory = "1GB"', 'memory = "3GB"'))
    with monkeypatch.context() as given:
        given.setenv("MLAGENTBENCH_ALLOCATION", "test")
        given.setenv("MLAGENTBENCH_ALLOCATION_MEMORY", "2000000000")
        assert "has runs that need 1 core, 3 GB" in worked(out)
    assert plan_state(out).counts["waiting"] == 1
    worked(out)
    assert plan_state(out).counts["done"] == 1


def test_what_a_worker_was_given_is_asked_for_once_for_each_kind_of_run(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = numbers(tmp_path)
    planned(out, task, "nop,baseline", runs=3).write(out)
    planned(out, task, "nop", runs=2, gpus=1, max_steps=2).write(out)
    asked: list[Allocation] = []
    monkeypatch.setenv("MLAGENTBENCH_ALLOCATION", "test")
    monkeypatch.setenv("MLAGENTBENCH_ALLOCATION_GPUS", "")

    def counted_allocation() -> Allocation:
        asked.append(allocation())
        return asked[-1]

    monkeypatch.setattr(worker_module, "allocation", counted_allocation)
    printed = StringIO()
    looks = Worker(out, WorkerOptions(), Terminal(file=printed, width=200))
    for _ in range(2):
        assert len(looks.open_runs()) == 6
    assert len(asked) == 2
    assert printed.getvalue().count("has runs that need 1 core, 1 GB, 1 GPU") == 1


def test_spent_money_is_told_only_of_plans_with_open_runs(tmp_path: Path, out: Path) -> None:
    file = planned(out, numbers(tmp_path)).write(out)
    worked(out)
    PlanLimits(spend=1.0).write(file.directory)
    Spending(file.directory).add(1.0)
    assert worked(out) == ""
    [run] = run_directories(out)
    run.grades.write_bytes(b"")
    assert f"plan {file.hash}: $1.00 are spent, of $1.00" in worked(out)


def test_a_plan_that_cannot_be_executed_here_does_not_stop_others(
    tmp_path: Path, out: Path
) -> None:
    agent = tmp_path / "mine.py"
    agent.write_text(AGENT)
    planned(out, numbers(tmp_path), str(agent)).write(out)
    planned(out, tmp_path / "numbers").write(out)
    agent.unlink()
    with pytest.raises(UsageError, match=r"mine\.py"):
        worked(out)
    assert plan_state(out).counts["done"] == 1 and plan_state(out).counts["waiting"] == 1


def test_the_state_says_why_all_runs_wait(tmp_path: Path, out: Path) -> None:
    file = planned(out, numbers(tmp_path)).write(out)
    assert plan_state(out).hindered == ()
    PlanLimits(spend=1.0).write(file.directory)
    Spending(file.directory).add(2.0)
    Outage(file.directory, "openai", SharingTimes.chosen()).begin("503: overloaded")
    money, provider = plan_state(out).hindered
    assert money.startswith("$2.00 are spent, of $1.00 for all runs together")
    assert provider.startswith("openai does not answer since ") and "(503: overloaded)" in provider
    printed = subprocess.run(
        [COMMAND, "jobs", "status", str(out)], capture_output=True, text=True, check=True
    ).stdout
    assert money in printed and provider in printed


def test_the_plan_that_was_asked_for_last_decides(tmp_path: Path, out: Path) -> None:
    plan = planned(out, numbers(tmp_path))
    first = plan.write(out)
    changed = plan.requests[0].model_copy(update={"max_retries": 3})
    second = Plan(requests=(changed,)).write(out)
    os.utime(first.path, (time.time() - 60,) * 2)
    assert plan_files(out) == [first, second]
    assert [one.plan for one in plan_state(out).runs] == [second.hash]
    assert plan_files(out)[-1].request(0) == changed
    assert PlanFile(out, first.hash).runs == PlanFile(out, second.hash).runs
