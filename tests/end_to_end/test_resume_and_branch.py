"""A killed run is resumed by its name, and branched: the commands as a person types them."""

import json
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from command_line import COMMAND, Run
from number_task import write_number_task

from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.results import read_record, run_directories

pytestmark = pytest.mark.slow

BUSY = """
print('begun', flush=True)
while True:
    open('late.txt', 'a').close()
"""
"""Makes its file again and again, for as long as it lives."""
AGENT = """
from inspect_ai.solver import Solver, solver
from mlagentbench import Action, Environment, as_solver


@solver
def wary() -> Solver:
    async def loop(environment: Environment) -> None:
        script = "train.py" if environment.steps else "busy.py"
        await environment.execute(Action(name="Execute Script", arguments={"script_name": script}))
        await environment.execute(Action(name="Final Answer", arguments={"final_answer": "done"}))

    return as_solver(loop)
"""


def test_a_killed_run_goes_on_and_is_branched(
    tmp_path: Path, run: Run, environment_variables: dict[str, str]
) -> None:
    write_number_task(tmp_path, **{"starter/busy_py": BUSY})
    (tmp_path / "wary.py").write_text(AGENT)
    command: list[str | Path] = [
        COMMAND,
        "run",
        "--tasks",
        "./numbers",
        "--agents",
        "./wary.py",
        "--out",
        "out",
    ]
    with (tmp_path / "printed").open("w") as printed:
        harness = subprocess.Popen(
            command, cwd=tmp_path, env=environment_variables, stdout=printed, stderr=printed
        )
        _wait_for(tmp_path, "begun")
        [guardian] = psutil.Process(harness.pid).children()
        guardian.suspend()
        harness.kill()
        harness.wait()
    [killed] = run_directories(tmp_path / "out")
    assert read_journal(killed.journal).interrupted is not None
    resumed = json.loads(run("resume", str(killed.path), "--agent", "./wary.py", "--json").stdout)
    assert resumed["missing"] == 0 and len(resumed["runs"]) == 1
    history = read_journal(killed.journal)
    assert [step.observation.status for step in history.steps] == ["interrupted", "ok", "ok"]
    guardian.resume()
    assert history.run is not None and history.steps[0].snapshot == history.run.snapshot, (
        "what the guardian left alive was ended before the workspace was restored"
    )
    (tmp_path / "other.txt").write_text("It crashed.")
    branched = run(
        "runs", "branch", str(killed.path), "--step", "1", "--agent", "oracle",
        "--edit-observation", "other.txt", "--max-steps", "11", "--json",
    )  # fmt: skip
    [result] = json.loads(branched.stdout)["runs"]
    assert result["grade"]["valid"] and result["usage"]["steps"] == 4
    [branch] = [one for one in run_directories(tmp_path / "out") if one.path != killed.path]
    assert read_journal(branch.journal).steps[0].observation.text == "It crashed."
    point = read_record(branch).branched_from
    assert point is not None and (point.run, point.step) == (killed.relative.as_posix(), 1)
    wrong = run("resume", "nowhere", expect=2)
    assert "nowhere is not a run" in wrong.stderr


def _wait_for(tmp_path: Path, text: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        logs = list((tmp_path / "out").glob("runs/*/*/*/*/*/output.log"))
        if logs and text.encode() in logs[0].read_bytes():
            return
        time.sleep(0.05)
    pytest.fail((tmp_path / "printed").read_text())
