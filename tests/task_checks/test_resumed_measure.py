"""Measurements that are interrupted and resumed, and those that end early."""

import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from folders import SEED_TASK, write_folder

from mlagentbench.fs import SCRATCH
from mlagentbench.sandbox.task_calls import call_task
from mlagentbench.task_checks.measure import measure
from mlagentbench.tasks.make_ready import ensure_ready
from mlagentbench.tasks.spec import Measured
from mlagentbench.tasks.stored_measurements import stored_measurements
from mlagentbench.tasks.task import Task

pytestmark = pytest.mark.usefixtures("with_shared_home")
COMMAND = str(Path(sys.executable).with_name("mlagentbench"))


def written(tmp_path: Path, name: str, starter: str) -> Task:
    return write_folder(
        tmp_path / name, {**SEED_TASK, "starter/train.py": starter}, submission="score.txt"
    )


def measured(task: Task, said: list[str], again: bool = False) -> Measured:
    data, python_env = ensure_ready(task, "mini", call=call_task)
    return asyncio.run(measure(task, data, python_env, 5, 1, said.append, again=again))


def test_a_killed_measurement_resumes_and_again_measures_anew(tmp_path: Path) -> None:
    task = write_folder(tmp_path / "killed", SEED_TASK, submission="score.txt")
    command = [COMMAND, "tasks", "measure", str(task.folder), "--runs", "4"]
    command += ["--reference-runs", "1"]
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as first:
        assert first.stderr is not None
        for line in first.stderr:
            if "starter 2/4" in line:
                os.killpg(first.pid, signal.SIGKILL)
                break
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "kept from before: 2 runs of the starter, 1 of the solution" in second.stderr
    assert "starter 2/4" not in second.stderr and "starter 3/4" in second.stderr
    data, _ = ensure_ready(task, "mini", call=call_task)
    figures = stored_measurements(task, "mini", data.hash)
    scores = [task.run_seed(epoch) % 1000 / 1000 for epoch in (1, 2, 3, 4)]
    assert figures is not None and figures.starter.runs == 4
    assert figures.starter.mean == pytest.approx(statistics.fmean(scores))

    first_said: list[str] = []
    measured(task, first_said)
    assert not any("kept" in text for text in first_said), "what is stored needs no trials"
    said: list[str] = []
    measured(task, said)
    assert any("kept from before: 5 runs" in text for text in said)
    (task.starter / "train.py").write_text("open('score.txt', 'w').write('0.3')")
    changed: list[str] = []
    measured(task, changed)
    assert not any("kept" in text for text in changed)
    anew: list[str] = []
    measured(task, anew, again=True)
    assert not any("kept" in text for text in anew)
    assert sum("starter" in text and "/5" in text for text in anew) == 3


def test_sigterm_leaves_no_sandbox_and_the_measurement_resumes(tmp_path: Path) -> None:
    task = write_folder(tmp_path / "terminated", SEED_TASK, submission="score.txt")
    command = [COMMAND, "tasks", "measure", str(task.folder), "--runs", "4"]
    command += ["--reference-runs", "1"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as first:
        assert first.stderr is not None
        said = [next(line for line in first.stderr if "starter 2/4" in line)]
        first.send_signal(signal.SIGTERM)
        said += list(first.stderr)
        assert first.wait() == -signal.SIGTERM
    assert not any("Traceback" in line for line in said)
    # The guardian removes the directories after it has killed all that ran in them.
    deadline = time.monotonic() + 60
    while left := list(Path(tempfile.gettempdir()).glob(f"{SCRATCH}{first.pid}-*")):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "kept from before: 2 runs of the starter, 1 of the solution" in second.stderr


def test_equal_outputs_end_a_measurement_and_equal_scores_alone_do_not(tmp_path: Path) -> None:
    constant = written(tmp_path, "constant", "open('score.txt', 'w').write('0.3')")
    said: list[str] = []
    starter = measured(constant, said).starter
    assert (starter.runs, starter.std, starter.deterministic) == (3, 0.0, True)
    assert any("deterministic, no more runs" in text for text in said)
    assert any(" left, with grading" in text for text in said)

    noisy = """
        import os
        blanks = " " * (int(os.environ["MLAGENTBENCH_SEED"]) % 97)
        open("score.txt", "w").write("0.3" + blanks)
        """
    starter = measured(written(tmp_path, "noisy", noisy), []).starter
    assert (starter.runs, starter.std) == (5, 0.0)
