"""The Environment: every step is on disk, and a run goes on from wherever it was cut off."""

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from chains import rechain
from small_task import OpenRun

from mlagentbench.environment.environment import Environment
from mlagentbench.environment.run_context import current_environment
from mlagentbench.errors import RunEnded, RunFailed, UsageError
from mlagentbench.limit_table import BudgetLimits
from mlagentbench.records import Action, Observation, Outcome, Step
from mlagentbench.runs.hash_chain import ChainBroken, require_chain
from mlagentbench.runs.journal import EndLine, read_journal, read_lines
from mlagentbench.runs.objects.snapshot_trees import entry_at, walk
from mlagentbench.sandbox.bwrap.bubblewrap_sandbox import BubblewrapSandbox
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.python_env.env import PythonEnv

pytestmark = pytest.mark.anyio


async def do(environment: Environment, name: str, **arguments: Any) -> Observation:
    return await environment.execute(Action(name=name, arguments=arguments))


def contents(environment: Environment, step: int, path: str) -> bytes:
    entry = entry_at(environment.store, environment.steps[step - 1].snapshot, path)
    assert entry is not None
    return environment.store.read(entry.value)


async def test_every_step_is_journaled_with_its_snapshot(open_environment: OpenRun) -> None:
    seen: list[Step] = []
    async with open_environment() as environment:
        environment.on_step.append(seen.append)
        await do(environment, "Write File", file_name="a.txt", content="one")
        await do(environment, "Write File", file_name="a.txt", content="two")
        await do(environment, "Read File", file_name="a.txt")
        assert contents(environment, 1, "a.txt") == b"one"
        assert contents(environment, 2, "a.txt") == b"two"
        assert environment.steps[1].snapshot == environment.steps[2].snapshot
        history = read_journal(environment.run.journal, environment.store)
        assert [step.action for step in history.steps] == [step.action for step in seen]
        assert [step.observation for step in history.steps] == [
            step.observation for step in environment.steps
        ]
        assert environment.usage.steps == 3
        assert 0 < environment.usage.seconds < 60


async def test_protected_files_are_not_in_snapshots(open_environment: OpenRun) -> None:
    async with open_environment() as environment:
        await do(environment, "List Files")
        paths = dict(walk(environment.store, environment.steps[0].snapshot))
        assert set(paths) == {"train.py", "notes", "notes/ideas.txt"}


async def test_long_texts_and_outputs_go_to_the_store(open_environment: OpenRun) -> None:
    async with open_environment() as environment:
        script = "print('x' * 50_000)"
        await do(environment, "Write File", file_name="s.py", content=script)
        observation = await do(environment, "Execute Script", script_name="s.py")
        line = read_lines(environment.run.journal)[-1]
        assert isinstance(line, EndLine)
        assert line.text is not None
        assert line.output is not None
        assert environment.store.read(line.output) == b"x" * 50_000 + b"\n"
        assert environment.run.journal.stat().st_size < 5000
        history = read_journal(environment.run.journal, environment.store)
        assert history.steps[-1].observation == observation


async def test_the_budget_ends_the_run_before_the_next_step(open_environment: OpenRun) -> None:
    async with open_environment(BudgetLimits(steps=2, tokens=100)) as environment:
        await do(environment, "List Files")
        await do(environment, "No Such Action")
        with pytest.raises(RunEnded) as ended:
            await do(environment, "List Files")
        assert ended.value.kind == "steps"
        assert len(environment.steps) == 2
        environment.budget.limits = BudgetLimits(tokens=100)
        environment.models.record(
            role="main", prompt="p", reply="r", input_tokens=90, output_tokens=10
        )
        with pytest.raises(RunEnded) as ended:
            await do(environment, "List Files")
        assert ended.value.kind == "tokens"


@pytest.mark.slow
async def test_an_agent_can_give_a_script_less_time_than_the_task_does(
    open_environment: OpenRun,
) -> None:
    run = Action(name="Execute Script", arguments={"script_name": "s.py"})
    async with open_environment() as environment:
        script = "import time; print('begun', flush=True); time.sleep(1)"
        await do(environment, "Write File", file_name="s.py", content=script)
        observation = await environment.execute(run, patience=0.5)
        assert (observation.status, observation.limit) == ("limit", "wall time")
        assert (await environment.execute(run)).status == "ok", "it holds for one step only"


@pytest.mark.slow
async def test_a_script_gets_no_more_than_the_time_left(open_environment: OpenRun) -> None:
    async with open_environment(BudgetLimits(time=3.0)) as environment:
        script = "import time; time.sleep(60)"
        await do(environment, "Write File", file_name="s.py", content=script)
        observation = await do(environment, "Execute Script", script_name="s.py")
        assert (observation.status, observation.limit) == ("limit", "wall time")
        with pytest.raises(RunEnded) as ended:
            await do(environment, "List Files")
        assert ended.value.kind == "time"


async def test_a_reopened_run_goes_on_where_it_was(open_environment: OpenRun) -> None:
    async with open_environment() as environment:
        await do(environment, "Write File", file_name="a.txt", content="one")
        await do(environment, "Write File", file_name="a.txt", content="two")
        environment.models.record(
            role="main", prompt="p", reply="r", output_tokens=5, cost=0.5, state={"plan": "x"}
        )
        used = environment.usage
        work = environment.run.work
    (work / "a.txt").write_text("changed behind its back")
    (work / "rubbish").write_text("x")
    async with open_environment() as environment:
        assert len(environment.steps) == 2
        assert environment.models.state == {"plan": "x"}
        assert environment.usage.seconds >= used.seconds - 1e-3
        assert environment.usage.cost == 0.5
        assert not (work / "rubbish").exists()
        assert (await do(environment, "Read File", file_name="a.txt")).text == "two"
        await do(environment, "Undo Edit Script", script_name="a.txt")
        assert (await do(environment, "Read File", file_name="a.txt")).text == "one"
        assert environment.steps[-1].n == 5
        environment.finish(Outcome(kind="submitted"))
        environment.finish(Outcome(kind="failed"))
    async with open_environment() as environment:
        assert environment.outcome == Outcome(kind="submitted")
        with pytest.raises(RunEnded):
            await do(environment, "List Files")
    history = read_journal(environment.run.journal)
    assert history.outcome == Outcome(kind="submitted")
    assert [line.event for line in history.events] == ["resumed"]


async def test_a_failed_run_can_be_continued(open_environment: OpenRun) -> None:
    async with open_environment() as environment:
        await do(environment, "List Files")
        environment.finish(Outcome(kind="failed", cause="model", detail="no answer"))
    async with open_environment() as environment:
        assert environment.outcome is None
        assert (await do(environment, "List Files")).status == "ok"
        assert len(environment.steps) == 2


async def test_a_submitted_run_without_outcome_stays_submitted(open_environment: OpenRun) -> None:
    async with open_environment() as environment:
        with pytest.raises(RunEnded):
            await do(environment, "Final Answer", final_answer="x")
    async with open_environment() as environment:
        with pytest.raises(RunEnded) as ended:
            await do(environment, "List Files")
        assert (ended.value.kind, ended.value.detail) == ("submitted", "x")


async def test_an_interrupted_step_is_told_and_not_repeated(open_environment: OpenRun) -> None:
    async with open_environment() as environment:
        script = "open('ran.txt', 'a').write('x')"
        await do(environment, "Write File", file_name="s.py", content=script)
        await do(environment, "Execute Script", script_name="s.py")
        journal = environment.run.journal
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]) + lines[-1][:20])
    async with open_environment() as environment:
        assert len(environment.steps) == 2
        told = environment.steps[-1]
        assert told.action.name == "Execute Script"
        assert told.observation.status == "interrupted"
        assert "was not run again" in told.observation.text
        assert environment.usage.steps == 2
        assert (await do(environment, "Read File", file_name="ran.txt")).status == "error"
    require_chain(journal)
    history = read_journal(journal)
    assert [line.event for line in history.events] == ["resumed", "interrupted"]
    assert [step.n for step in history.steps] == [1, 2, 3]


async def test_a_run_cut_off_before_its_first_line_starts_anew(open_environment: OpenRun) -> None:
    async with open_environment() as environment:
        journal = environment.run.journal
        (environment.run.work / "half").write_text("x")
    journal.write_bytes(journal.read_bytes()[:40])
    async with open_environment() as environment:
        assert not (environment.run.work / "half").exists()
        assert (await do(environment, "List Files")).status == "ok"
    assert read_journal(journal).usage.steps == 1


async def test_a_cancelled_step_is_closed_with_the_workspace_as_it_stands(
    open_environment: OpenRun,
) -> None:
    async with open_environment() as environment:
        script = "open('half.txt', 'w').write('half')\nimport time; time.sleep(600)"
        await do(environment, "Write File", file_name="s.py", content=script)
        half = environment.run.work / "half.txt"
        async with anyio.create_task_group() as step:
            step.start_soon(partial(do, environment, "Execute Script", script_name="s.py"))
            while not (half.exists() and half.read_text() == "half"):
                await anyio.sleep(0.01)
            cancelled = time.monotonic()
            step.cancel_scope.cancel()
        assert step.cancel_scope.cancelled_caught
        assert time.monotonic() - cancelled < 100
        assert environment.steps[-1].observation.status == "interrupted"
        assert contents(environment, 2, "half.txt") == b"half"
        assert (await do(environment, "List Files")).status == "ok"
        environment.finish(Outcome(kind="time"))
    assert read_journal(environment.run.journal).interrupted is None


async def test_finishing_keeps_what_changed_outside_of_steps(open_environment: OpenRun) -> None:
    async with open_environment() as environment:
        await environment.sandbox.write("late.txt", b"late")
        environment.finish(Outcome(kind="submitted"))
        snapshot = read_journal(environment.run.journal).snapshot
        assert snapshot is not None
        assert entry_at(environment.store, snapshot, "late.txt") is not None


async def test_a_broken_sandbox_is_a_failure_not_an_observation(open_environment: OpenRun) -> None:
    async with open_environment() as environment:
        assert isinstance(environment.sandbox, BubblewrapSandbox)
        await environment.sandbox.stop()
        with pytest.raises(RunFailed) as failed:
            await do(environment, "List Files")
        assert failed.value.cause == "sandbox"
    assert [line.event for line in read_journal(environment.run.journal).events] == ["failed"]
    async with open_environment() as environment:
        assert environment.steps[-1].observation.status == "interrupted"
        assert (await do(environment, "List Files")).status == "ok"


async def test_another_tasks_run_is_not_continued(
    open_environment: OpenRun, data: PreparedData
) -> None:
    async with open_environment() as environment:
        run = environment.run
    sound = run.journal.read_bytes()
    run.journal.write_bytes(sound.replace(data.hash.encode(), b"0" * 64))
    with pytest.raises(ChainBroken, match=r"line 1 does not match its own hash: .* was altered"):
        async with open_environment():
            pass
    rechain(run)
    with pytest.raises(UsageError, match="choose another --out"):
        async with open_environment():
            pass


async def test_calls_at_the_same_time_are_steps_one_after_the_other(
    open_environment: OpenRun,
) -> None:
    async with open_environment() as environment, anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(
                environment.execute,
                Action(name="Append File", arguments={"file_name": "a", "content": f"{number}"}),
            )
    assert [step.n for step in environment.steps] == [1, 2, 3, 4, 5]
    assert (environment.run.work / "a").stat().st_size == 5


async def test_the_current_environment_is_published(open_environment: OpenRun) -> None:
    with pytest.raises(UsageError, match="there is no run here"):
        current_environment()
    async with open_environment() as environment:
        assert current_environment() is environment


async def test_step_1000_costs_what_step_10_costs(open_environment: OpenRun) -> None:
    async with open_environment(BudgetLimits()) as environment:
        spans = []
        for number in range(600):
            started = time.perf_counter()
            await do(environment, "No Such Action", number=number)
            spans.append(time.perf_counter() - started)
        early, late = sorted(spans[10:110])[50], sorted(spans[-100:])[50]
        assert late < 10 * early


async def test_a_run_whose_snapshot_is_damaged_goes_on_once_it_is_mended(
    open_environment: OpenRun,
) -> None:
    async with open_environment() as environment:
        await do(environment, "Write File", file_name="a.txt", content="first")
        store, journal = environment.store, environment.run.journal
    entry = entry_at(store, environment.steps[-1].snapshot, "a.txt")
    assert entry is not None
    before = journal.read_bytes()
    for break_it in (lambda path: path.write_bytes(b"fir5t"), Path.unlink):
        store.path(entry.value).chmod(0o644)
        break_it(store.path(entry.value))
        with pytest.raises(
            RunFailed, match=r"objects/.* \(a\.txt\) is (damaged|missing)"
        ) as failed:
            async with open_environment():
                pass
        assert failed.value.cause == "harness"
        assert journal.read_bytes() == before
        assert (environment.run.work / "a.txt").read_text() == "first"
        store.path(entry.value).write_bytes(b"first")
    async with open_environment() as environment:
        assert (await do(environment, "Read File", file_name="a.txt")).text == "first"


async def test_a_full_disk_is_the_harness_failing(open_environment: OpenRun) -> None:
    async with open_environment() as environment:
        objects = environment.run.objects
        environment.store.directory = Path("/dev/full")
        with pytest.raises(RunFailed) as failed:
            await do(environment, "Write File", file_name="a", content="x")
        assert failed.value.cause == "harness"
        environment.store.directory = objects


async def test_output_that_cannot_be_kept_is_the_harness_failing(
    open_environment: OpenRun,
) -> None:
    async with open_environment() as environment:
        log = environment._output_log
        environment._output_log = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115
        with pytest.raises(RunFailed, match=r"cannot write .*output\.log: No space left"):
            await do(environment, "Execute Script", script_name="train.py")
        environment._output_log.close()
        environment._output_log = log


KILLED = """
import sys
from pathlib import Path
import anyio
from small_task import open_run
from mlagentbench.records import Action
from mlagentbench.tasks.python_env.env import PythonEnv

async def main():
    python_env = PythonEnv.model_validate_json(sys.argv[2])
    async with open_run(Path(sys.argv[1]), python_env) as environment:
        await environment.execute(Action(name="Execute Script", arguments={"script_name": "s.py"}))

anyio.run(main)
"""


@pytest.mark.slow
async def test_a_killed_process_leaves_a_run_that_goes_on(
    open_environment: OpenRun, tmp_path: Path, python_env: PythonEnv
) -> None:
    async with open_environment() as environment:
        script = "open('ran.txt', 'a').write('x')\nimport time; time.sleep(60)"
        await do(environment, "Write File", file_name="s.py", content=script)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path), python_env.model_dump_json()],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
    )
    ran = environment.run.work / "ran.txt"
    for _ in range(2000):
        if ran.exists():
            break
        await anyio.sleep(0.05)
    assert ran.exists()
    process.kill()
    process.wait()
    async with open_environment() as environment:
        assert not ran.exists()
        assert environment.steps[-1].observation.status == "interrupted"
        assert (await do(environment, "List Files")).status == "ok"


FILL = """
import os
open("big.bin", "wb").write(os.urandom(300_000))
with open("holes.bin", "wb") as file:
    file.truncate(1 << 30)
print("x" * 1000)
"""


async def test_a_run_ends_when_its_storage_is_used_up(open_environment: OpenRun) -> None:
    limits = BudgetLimits(storage=600_000)
    async with open_environment(limits=limits) as environment:
        await do(environment, "Write File", file_name="fill.py", content=FILL)
        before = environment.usage.stored
        await do(environment, "Execute Script", script_name="fill.py")
        grown = environment.usage.stored - before
        assert 300_000 < grown < 400_000
        await do(environment, "List Files")
    async with open_environment(limits=limits) as environment:
        assert environment.usage.stored >= before + grown
        await do(environment, "Execute Script", script_name="fill.py")
        with pytest.raises(RunEnded, match=r"all 0\.0006 GB of storage are used") as ended:
            await do(environment, "List Files")
        environment.finish(Outcome(kind=ended.value.kind))
        stored = [path for path in environment.run.out.rglob("*") if path.is_file()]
        on_disk = sum(path.stat().st_blocks * 512 for path in stored if "work" not in path.parts)
        assert environment.usage.stored < on_disk
    async with open_environment(limits=limits) as environment:
        assert environment.outcome == Outcome(kind="storage")
    async with open_environment(limits=BudgetLimits(storage=10**7)) as environment:
        assert (await do(environment, "List Files")).status == "ok"
