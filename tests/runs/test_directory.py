"""A run directory belongs to one process at a time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.runs.directory import RunDirectory

HOLD = """
import sys
from pathlib import Path
from mlagentbench.runs.directory import RunDirectory
with RunDirectory(Path(sys.argv[1]), Path("runs/a")).locked():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_kept_out_and_told_by_whom(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, Path("runs/a"))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(UsageError, match=f"is being written by process {holder.pid}"), run.locked():
        pass
    holder.kill()
    holder.communicate()
    with run.locked():
        assert run.lock.read_text() == f"{os.getpid()}\n"
    with run.locked():
        pass


def test_what_was_half_written_goes(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, Path("runs/a"))
    run.create()
    run.run_json.write_text("{}")
    (run.path / ".run.json.x1y2").write_text("{")
    (run.path / ".failure.txt.z3").write_text("disk")
    (run.path / ".mine").mkdir()
    run.create()
    assert {path.name for path in run.path.iterdir()} == {"run.json", "work", ".mine"}


def test_paths_are_below_out(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, Path("runs/task/mini/agent-0/model/1"))
    run.create()
    assert run.objects == tmp_path / "objects"
    assert run.relative == Path("runs/task/mini/agent-0/model/1")
    assert run.work.is_dir()
