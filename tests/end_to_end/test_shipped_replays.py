"""A recorded run of a language model's agent, replayed live on the mini tier."""

import re
from pathlib import Path

import pytest
from command_line import Run

from mlagentbench.runs.results import collect

pytestmark = pytest.mark.slow


def test_what_react_did_is_done_again(tmp_path: Path, run: Run) -> None:
    result = run(
        "run", "--tasks", "vectorization", "--agents", "react", "--models", "mlagentbench/recorded",
        "--max-steps", "25", "--out", "out",
    )  # fmt: skip
    [found] = collect(tmp_path / "out")
    assert found.grade is not None and found.grade.success, found.grade
    assert "recorded by hand through the mailbox" in result.stdout
    matched = re.search(r"replies matched (\d+) of (\d+)", result.stdout)
    assert matched is not None and matched[1] == matched[2]

    again = run("runs", "replay", f"out/{found.path}", "--html", "--out", "again")
    assert "reproduced; 14 steps: 14 same; scores that agree: 1 of 1" in again.stdout
    [replay] = (tmp_path / "again").glob("runs/*/*/*/*/*")
    assert "agrees" in (replay / "replay.html").read_text()
    shown = run("runs", "show", str(replay)).stdout
    assert f"a replay of {tmp_path / 'out' / found.path}, not a result" in shown
    assert (
        "all actions are the same: 14"
        in run("runs", "diff", f"out/{found.path}", str(replay)).stdout
    )
