"""Reports work where runs do not: on systems other than Linux."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OTHER_SYSTEM = Path(__file__).parents[1] / "support" / "other_system.py"
COMMAND = Path(sys.prefix) / "bin" / "mlagentbench"

pytestmark = pytest.mark.slow


def elsewhere(*arguments: str | Path, home: Path) -> "subprocess.CompletedProcess[str]":
    variables = {**os.environ, "MLAGENTBENCH_HOME": str(home)}
    command = [sys.executable, OTHER_SYSTEM, *arguments]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120)


def test_a_report_is_made_elsewhere(tmp_path: Path, kept_home: Path) -> None:
    out = tmp_path / "out"
    made = subprocess.run(
        [COMMAND, "run", "--tasks", "vectorization", "--agents", "nop", "--out", out],
        env={**os.environ, "MLAGENTBENCH_HOME": str(kept_home)},
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    done = elsewhere("report", out, home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert "vectorization" in (out / "report" / "index.html").read_text()


def test_a_run_elsewhere_says_what_to_do(tmp_path: Path) -> None:
    command = ("run", "--tasks", "vectorization", "--agents", "nop", "--out", tmp_path / "out")
    done = elsewhere(*command, home=tmp_path / "home")
    assert done.returncode == 2
    assert "need Linux, and this is darwin: use WSL2 on Windows" in done.stderr
