"""Several commands on one --out: every run is done once, whoever freezes or dies meanwhile."""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from chains import faults
from command_line import COMMAND
from inspect_ai.log import read_eval_log
from killing import BASE_INSTALL, first_on_path

from mlagentbench.machine.ledger import VARIABLE as SLOTS
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.results import read_files, run_directories

pytestmark = pytest.mark.slow

TIMES = {"MLAGENTBENCH_LEASE_RENEWAL": "0.5", "MLAGENTBENCH_LEASE_VOID": "5"}
PATIENCE = 120.0
NO_FILE_LOCKS = Path(__file__).parents[1] / "support" / "no_file_locks"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def variables(out: Path, environment_variables: dict[str, str]) -> dict[str, str]:
    """Those of commands on a file system without locks, as some clusters have it."""
    path = first_on_path(NO_FILE_LOCKS, {"PYTHONPATH": first_on_path(BASE_INSTALL, os.environ)})
    return {**environment_variables, **TIMES, "PYTHONPATH": path, "OUT_WITHOUT_LOCKS": str(out)}


def start(
    out: Path, variables: dict[str, str], agents: str, runs: int = 1
) -> "subprocess.Popen[str]":
    """A command with slots of its own, as on another machine: a stopped one keeps its slot."""
    return subprocess.Popen(
        [
            COMMAND, "run", "--tasks", "house-price", "--agents", agents, "--runs", str(runs),
            "--out", str(out),
        ],
        env={**variables, SLOTS: str(out.parent / f"slots-{secrets.token_hex(4)}")},
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
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


def test_there_are_no_file_locks(out: Path, variables: dict[str, str]) -> None:
    out.mkdir()
    lock = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'w'), fcntl.LOCK_EX)"
    for place, locks in ((out / "file", False), (out.parent / "file", True)):
        tried = subprocess.run(
            [sys.executable, "-c", lock, place], env=variables, capture_output=True, text=True
        )
        assert (tried.returncode == 0) == locks == ("No locks available" not in tried.stderr)


def test_two_commands_share_the_same_cells(out: Path, variables: dict[str, str]) -> None:
    both = [start(out, variables, "nop,baseline", 2) for _ in range(2)]
    for process in both:
        ended(process)
    runs = list(run_directories(out))
    assert len(runs) == 4
    for run in runs:
        require_done_once(run)


def has_line(kind: str) -> Callable[[RunDirectory], bool]:
    line = f'"kind":"{kind}"'
    return lambda run: run.journal.exists() and line in run.journal.read_text()


def is_grading(run: RunDirectory) -> bool:
    """Whether the submission lies ready for the grader."""
    return any((run.path / "outputs").glob("step-*/*"))


MOMENTS = {
    "begun": has_line("run"),
    "in a step": has_line("begin"),
    "ended": has_line("outcome"),
    "grading": is_grading,
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_frozen_command_wakes_after_another_has_finished_its_run(
    out: Path, variables: dict[str, str], moment: str
) -> None:
    frozen = start(out, variables, "baseline")
    try:
        freeze_when(frozen, out, MOMENTS[moment])
        printed = ended(start(out, variables, "baseline"))
        assert f"is held by process {frozen.pid} of " in printed
        [run] = run_directories(out)
        require_done_once(run)
        grades = run.grades.read_bytes()
    finally:
        frozen.send_signal(signal.SIGCONT)
    frozen.communicate(timeout=PATIENCE)
    require_done_once(run)
    assert run.grades.read_bytes() == grades


def freeze_when(
    process: "subprocess.Popen[str]", out: Path, is_reached: Callable[[RunDirectory], bool]
) -> None:
    """Stop a command as soon as its run has come so far."""
    while process.poll() is None:
        if any(map(is_reached, run_directories(out))):
            process.send_signal(signal.SIGSTOP)
            return
        time.sleep(0.005)
    raise AssertionError(ended(process))


@pytest.fixture
def ungraded(out: Path, variables: dict[str, str]) -> RunDirectory:
    """A run that the same command would grade."""
    ended(start(out, variables, "nop"))
    [run] = run_directories(out)
    run.grades.unlink()
    return run


def test_a_run_that_is_held_is_left_alone(
    ungraded: RunDirectory, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in TIMES.items():
        monkeypatch.setenv(name, seconds)
    with ungraded.hold():
        printed = ended(start(ungraded.out, variables, "nop"))
    who = f"process {os.getpid()} of "
    assert f"{ungraded.path} is held by {who}" in printed
    assert f"nop, run 1: left alone, since {who}" in printed
    assert f"being run by {who}" in printed
    assert not ungraded.grades.exists()
    log = read_eval_log(max((ungraded.out / "logs").glob("*.eval")))
    assert log.status == "success" and log.samples is not None
    assert [sample.error for sample in log.samples] == [None]


def test_a_command_that_waits_for_a_run_can_be_stopped(
    ungraded: RunDirectory, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rarely = {"MLAGENTBENCH_LEASE_RENEWAL": "60", "MLAGENTBENCH_LEASE_VOID": "600"}
    for name, seconds in rarely.items():
        monkeypatch.setenv(name, seconds)
    with ungraded.hold():
        waiting = start(ungraded.out, variables | rarely, "nop")
        assert waiting.stdout is not None
        assert any("is held by" in line for line in waiting.stdout)
        waiting.send_signal(signal.SIGINT)
        waiting.communicate(timeout=15)
    assert waiting.returncode == 130
