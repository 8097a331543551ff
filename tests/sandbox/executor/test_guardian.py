"""Nothing outlives the harness, however and whenever it is killed."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from mlagentbench.sandbox.inspect_provider import BubblewrapSandboxEnvironment

HARNESS = Path(__file__).parents[2] / "support" / "harness_to_kill.py"
STARTING_UP = [0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25]
PATIENCE = 60.0
"""Seconds; on an idle machine all that is waited for takes less than one."""


def processes_with(*markers: str) -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = place.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if any(marker in text for marker in markers):
            found.append(text)
    return found


def start(workspace: Path) -> tuple["subprocess.Popen[str]", tuple[str, str]]:
    size = str(3_000_000_000 + secrets.randbelow(900_000_000))
    harness = subprocess.Popen(
        [sys.executable, str(HARNESS), str(workspace), size], stdout=subprocess.PIPE, text=True
    )
    assert harness.stdout is not None
    assert harness.stdout.readline() == "starting\n"
    return harness, (size, f"guardian.py {harness.pid}")


def scratch_of(pid: int) -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"mlagentbench-{pid}-*"))


def assert_all_gone(markers: tuple[str, str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while processes_with(*markers) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes_with(*markers) == []


@pytest.mark.parametrize("delay", STARTING_UP)
def test_killed_while_a_sandbox_starts(delay: float, tmp_path: Path) -> None:
    harness, markers = start(tmp_path / "workspace")
    time.sleep(delay)
    harness.kill()
    harness.wait(PATIENCE)
    assert_all_gone(markers)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killed_while_commands_run(number: signal.Signals, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    harness, markers = start(workspace)
    deadline = time.monotonic() + PATIENCE
    while not (workspace / "running").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(processes_with(*markers)) > 4
    assert len(scratch_of(harness.pid)) == 1
    harness.send_signal(number)
    harness.wait(PATIENCE)
    assert_all_gone(markers)
    assert scratch_of(harness.pid) == []


def test_a_killed_guardian_takes_its_sandboxes_along(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    harness, markers = start(workspace)
    deadline = time.monotonic() + PATIENCE
    while not (workspace / "running").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        if f"guardian.py\0{harness.pid}\0".encode() in place.read_bytes():
            os.kill(int(place.parent.name), signal.SIGKILL)
    harness.kill()
    harness.wait(PATIENCE)
    assert_all_gone(markers)
    assert scratch_of(harness.pid) != []
    asyncio.run(BubblewrapSandboxEnvironment.cli_cleanup(None))
    assert scratch_of(harness.pid) == []
