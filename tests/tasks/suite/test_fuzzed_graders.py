"""Every grader answers damaged submissions with a score or with "invalid", and soon."""

import sys
from pathlib import Path

import pytest
from fuzzed_graders import fuzz
from graded_cases import CASES

from mlagentbench.tasks.python_env.env import PythonEnv
from mlagentbench.tasks.task import SUITE

pytestmark = pytest.mark.slow

COUNT = 200
ENV = PythonEnv(directory=Path(sys.prefix), hash="-", python_version="-", packages={})


def test_every_task_is_fuzzed() -> None:
    assert CASES.keys() == {file.parent.name for file in SUITE.glob("*/task.toml")}


@pytest.mark.parametrize("task", sorted(CASES.keys() - {"babylm"}))
def test_only_invalid_or_a_score(task: str, tmp_path: Path) -> None:
    check(task, ENV, tmp_path)


def test_only_invalid_or_a_score_for_language_models(torch_env: PythonEnv, tmp_path: Path) -> None:
    check("babylm", torch_env, tmp_path)


def check(task: str, python_env: PythonEnv, scratch: Path) -> None:
    fuzzed = fuzz(task, COUNT, python_env, scratch)
    assert fuzzed.faults == []
    assert fuzzed.scores >= 1 and fuzzed.invalid >= COUNT / 5
    assert fuzzed.scores + fuzzed.invalid == COUNT + 1
