"""Several commands on one --out: every run is done once, whoever freezes or dies meanwhile."""

import signal
import subprocess
import time
from pathlib import Path

import pytest
from chains import faults
from command_line import COMMAND

from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.results import read_files, run_directories

pytestmark = pytest.mark.slow

TIMES = {"MLAGENTBENCH_LEASE_RENEWAL": "0.5", "MLAGENTBENCH_LEASE_VOID": "5"}
PATIENCE = 120.0


def start(
    out: Path, variables: dict[str, str], agents: str, runs: int = 1
) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [
            COMMAND, "run", "--tasks", "house-price", "--agents", agents, "--runs", str(runs),
            "--out", str(out),
        ],
        env={**variables, **TIMES}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def ended(process: "subprocess.Popen[str]") -> str:
    printed, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, printed
    return printed


def require_done_once(run: RunDirectory) -> None:
    files = read_files(run)
    assert faults(run) == []
    assert files.history.outcome is not None and files.history.outcome.kind == "submitted"
    assert len(files.grades) == 1 and files.failure is None
    assert run.holder is None


def test_two_commands_share_the_same_cells(
    tmp_path: Path, environment_variables: dict[str, str]
) -> None:
    out = tmp_path / "out"
    both = [start(out, environment_variables, "nop,baseline", 2) for _ in range(2)]
    for process in both:
        ended(process)
    runs = list(run_directories(out))
    assert len(runs) == 4
    for run in runs:
        require_done_once(run)


@pytest.mark.parametrize("reached", ['"kind":"run"', '"kind":"begin"', '"kind":"outcome"'])
def test_a_frozen_command_wakes_after_another_has_finished_its_run(
    tmp_path: Path, environment_variables: dict[str, str], reached: str
) -> None:
    out = tmp_path / "out"
    frozen = start(out, environment_variables, "baseline")
    try:
        freeze_when(frozen, out, reached)
        ended(start(out, environment_variables, "baseline"))
        [run] = run_directories(out)
        require_done_once(run)
        grades = run.grades.read_bytes()
    finally:
        frozen.send_signal(signal.SIGCONT)
    frozen.communicate(timeout=PATIENCE)
    require_done_once(run)
    assert run.grades.read_bytes() == grades


def freeze_when(process: "subprocess.Popen[str]", out: Path, reached: str) -> None:
    """Stop a command as soon as its run's journal has such a line."""
    while process.poll() is None:
        journals = [run.journal for run in run_directories(out)]
        if any(reached in journal.read_text() for journal in journals if journal.exists()):
            process.send_signal(signal.SIGSTOP)
            return
        time.sleep(0.005)
    raise AssertionError(ended(process))
