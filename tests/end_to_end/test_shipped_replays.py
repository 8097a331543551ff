"""A recorded run of a language model's agent, replayed live on the mini tier."""

import re
from pathlib import Path

from command_line import Run

from mlagentbench.evaluation.results import collect


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
