"""Replaying runs: on the same machine they come to the same, and what differs is named."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from chains import rechain
from number_task import STARTER, write_number_task
from scripted_model import scripted
from typer.testing import CliRunner

from mlagentbench.agents.runner import UNUSABLE_REPLY
from mlagentbench.cli import app
from mlagentbench.environment.actions.action_sets import ALL_ACTIONS
from mlagentbench.environment.environment import Environment
from mlagentbench.errors import RunEnded, UsageError
from mlagentbench.grading.grade import grade_run
from mlagentbench.launch.replay.replay import replay_run
from mlagentbench.launch.replay.result import Replay
from mlagentbench.records import Action, Observation, Outcome
from mlagentbench.report.collect_runs import collect
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import EndLine, RunLine, read_lines
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.results import read_record
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.task import Task, load_folder

pytestmark = pytest.mark.slow

Acting = Callable[[Environment], Awaitable[None]]
EDITED = STARTER.replace("slope = 1 +", "slope = 2.9 +")
CHANCE = """
import os, sys
import random
random.seed(os.urandom(8))
print("about", 1 + 1e-6 * random.random(), "took", random.random(), "s")
if len(sys.argv) > 1:
    print("chance", random.random())
    open("drawn.txt", "w").write(str(random.random()))
"""
CUT_OFF = """
open("half.txt", "w").write("done by half")
print("ready", flush=True)
import time
time.sleep(600)
"""


@pytest.fixture
def task(tmp_path: Path, kept_home: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    monkeypatch.setenv("MLAGENTBENCH_HOME", str(kept_home))
    task = load_folder(write_number_task(tmp_path))
    ensure_ready(task, "mini", call=call_task)
    return task


def do(name: str, /, **arguments: Any) -> Action:
    return Action(name=name, arguments=arguments)


def recorded(task: Task, out: Path, *parts: Acting) -> RunDirectory:
    """A graded run, opened anew for each of its parts."""

    async def live() -> RunDirectory:
        models = {"main": scripted(f"```python\n{EDITED}```")}
        for acting in parts:
            async with Environment.open(
                task, out, actions=ALL_ACTIONS, models=models
            ) as environment:
                await acting(environment)
                if acting is parts[-1]:
                    environment.finish(Outcome(kind="submitted"))
        await grade_run(environment.run)
        return environment.run

    return asyncio.run(live())


def replayed(run: RunDirectory, tolerance: float = 0.001) -> Replay:
    return replay_run(run.path, None, tolerance, lambda _: None)


async def look_and_edit(environment: Environment) -> None:
    edit = {"script_name": "train.py", "edit_instruction": "a better slope"}
    for action in (
        do("List Files", dir_path="."),
        do("Edit Script (AI)", **edit),
        do("Python REPL", command="kept = 42"),
        do("Python REPL", command="print(kept)"),
        do("No \x1b[31mSuch Action"),
    ):
        await environment.execute(action)


async def run_and_submit(environment: Environment) -> None:
    await environment.execute(do("Python REPL", command="print(kept)"))
    await environment.note_step(UNUSABLE_REPLY, Observation(text="no action", status="error"))
    await environment.execute(do("Execute Script", script_name="train.py"))
    environment.submit_step(environment.steps[-1])
    await environment.execute(do("Write File", file_name="submission.csv", content="broken"))
    with pytest.raises(RunEnded):
        await environment.execute(do("Final Answer", final_answer="done"))


def test_a_run_is_done_again_without_a_model(task: Task, tmp_path: Path) -> None:
    run = recorded(task, tmp_path / "out", look_and_edit, run_and_submit)
    before = run.journal.read_bytes()
    replay = replayed(run)
    assert replay.agrees, replay
    assert [step.agreement for step in replay.steps] == ["same"] * 10
    assert replay.steps[6].reason == "an unusable reply: nothing was executed"
    [score] = replay.scores
    assert score.then == score.now is not None
    assert run.journal.read_bytes() == before

    again = RunDirectory(run.out / "replays", Path(replay.replay))
    assert replay == Replay.model_validate_json(again.replay_json.read_bytes())
    record = read_record(again)
    assert (record.origin, record.replay_of) == ("replay", str(run.path))
    assert record.seed == read_record(run).seed
    assert '"text":"42' in again.journal.read_text()
    assert replayed(run).replay == replay.replay, "a second replay takes the first one's place"
    collection = collect([run.out / "replays"])
    assert collection.runs == ()
    assert [one.same_as for one in collection.replays] == [str(run.path)]


async def chance(environment: Environment) -> None:
    """What comes out differently each time, and what only a foreign agent can do."""
    write = do("Write File", file_name="chance.py", content=CHANCE)
    await environment.execute(write)
    await environment.execute(do("Execute Script", script_name="chance.py"))
    await environment.execute(do("Execute Script", script_name="chance.py", arguments="more"))
    await environment.execute(do("Edit Script (AI)", script_name="new.py", edit_instruction="-"))
    await environment.execute(do("Write File", file_name="cut.py", content=CUT_OFF))
    environment.on_output.append(lambda _: cutting.cancel())
    with anyio.CancelScope() as cutting:
        await environment.execute(do("Execute Script", script_name="cut.py"))
    await environment.sandbox.write("submission.csv", b"id,y\n")
    await environment.note_step(do("Model Call", reply=0), Observation(text="wrote a file"))


def test_what_differs_is_named(task: Task, tmp_path: Path) -> None:
    run = recorded(task, tmp_path / "out", chance)
    values = json.loads(run.run_json.read_text())
    values["disclosure"]["python_env"] = "another"
    values["disclosure"]["python_packages"]["numpy"] = "0.2"
    values["disclosure"]["packages"]["numpy"] = "0.1"
    run.run_json.write_text(json.dumps(values))
    rechain(run)

    result = CliRunner().invoke(app, ["runs", "replay", str(run.path), "--html", "--json"])
    assert result.exit_code == 1, result.output
    replay = json.loads(result.stdout)
    assert [step["agreement"] for step in replay["steps"]] == [
        "same",
        "within tolerance",
        "different",
        "same",
        "same",
        "not replayable",
        "not replayable",
    ]
    cut_off = replay["steps"][5]
    assert (cut_off["reason"], cut_off["taken_over"]) == ("it was interrupted", True)
    assert {one["what"] for one in replay["steps"][2]["compared"]} == {
        "observation",
        "file drawn.txt",
    }
    assert replay["steps"][6]["reason"] == "an external agent did it outside of the environment"
    assert [one["agreement"] for one in replay["scores"]] == ["not replayable"]
    assert {one["what"]: one["then"] for one in replay["setup"]} == {
        "virtual environment": "another",
        "package: numpy": "0.2",
        "harness: numpy": "0.1",
    }
    page = Path(replay["page"]).read_text()
    assert "does not agree" in page and "drawn.txt" in page and '"change" open' in page
    assert "src=" not in page and '<link rel="stylesheet"' not in page

    lines = run.journal.read_bytes().splitlines(keepends=True)
    run.journal.write_bytes(b"".join(line for line in lines if b'"kind":"reply"' not in line))
    rechain(run)
    (task.folder / "grade.py").write_text("import a_package_that_is_not_here\n")
    strict = replayed(run, tolerance=0.0)
    assert "grading failed here: " in strict.scores[0].reason
    assert strict.steps[1].agreement == "different"
    assert strict.steps[3].agreement == "not replayable" and strict.steps[3].taken_over
    assert "a model is asked more than was recorded" in strict.steps[3].reason


async def print_much(environment: Environment) -> None:
    script = "for n in range(9000): print('number', n)"
    await environment.execute(do("Write File", file_name="much.py", content=script))
    await environment.execute(do("Execute Script", script_name="much.py"))
    await environment.note_step(do("Model \x1b[31mCall"), Observation(text="did nothing"))


def test_what_of_the_record_is_lost_is_named_and_the_rest_is_compared(
    task: Task, tmp_path: Path
) -> None:
    run = recorded(task, tmp_path / "out", print_much)
    first, printed, called = (line for line in read_lines(run.journal) if isinstance(line, EndLine))
    store = ObjectStore(run.objects)
    assert printed.text is not None
    store.path(printed.text).unlink()
    store.path(first.snapshot).unlink()
    store.path(first.snapshot).mkdir()
    result = CliRunner().invoke(app, ["runs", "replay", str(run.path)])
    assert result.exit_code == 1, result.output
    assert "Model ⟨U+001B⟩[31mCall" in result.stderr and "\x1b" not in result.output

    replay = replayed(run)
    assert [step.agreement for step in replay.steps] == ["same"] + ["not replayable"] * 2
    assert "what step 2 showed) is missing; copy it from a backup" in replay.steps[1].reason
    store.path(called.snapshot).rmdir()
    store.path(called.snapshot).write_bytes(b"damaged")
    assert replayed(run).steps[0].agreement == "same", "the replay has stored the same itself"
    first_line = next(iter(read_lines(run.journal)))
    assert isinstance(first_line, RunLine)
    store.path(first_line.snapshot).unlink()
    with pytest.raises(UsageError, match="the workspace at the start"):
        replayed(run)


def test_other_data_are_an_error_with_the_next_step(task: Task, tmp_path: Path) -> None:
    async def nothing(environment: Environment) -> None:
        assert not environment.steps

    run = recorded(task, tmp_path / "out", nothing)
    assert replayed(run).steps == ()
    values = json.loads(run.run_json.read_text())
    values["disclosure"]["data_hash"] = "0" * 64
    run.run_json.write_text(json.dumps(values))
    with pytest.raises(UsageError, match="run: mlagentbench tasks prepare"):
        replay_run(run.path, tmp_path / "elsewhere", 0.001, print)
    assert not (tmp_path / "elsewhere").exists()
