"""Recorded runs of a language model's agents, replayed live on the mini tier."""

import re
from pathlib import Path

import pytest
from command_line import Run

from mlagentbench.evaluation.results import collect


@pytest.mark.slow
@pytest.mark.parametrize("task", ["house-price", "vectorization"])
def test_what_react_did_is_done_again(task: str, tmp_path: Path, run: Run) -> None:
    result = run(
        "run", "--tasks", task, "--agents", "react", "--models", "mlagentbench/recorded",
        "-M", "on_mismatch=continue", "--max-steps", "25", "--out", "out",
    )  # fmt: skip
    [found] = collect(tmp_path / "out")
    assert found.grade is not None and found.grade.success, found.grade
    assert "recorded by hand through the mailbox" in result.stdout
    matched = re.search(r"replies matched (\d+) of (\d+)", result.stdout)
    assert matched is not None
    # What a timed program prints is not the same twice; of the others, every word is.
    assert task == "vectorization" or matched[1] == matched[2]
