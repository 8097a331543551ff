"""Every task of the suite is sound: figures hold, graders are fair, nothing leaks."""

import json
import subprocess
from pathlib import Path

import pytest
from command_line import COMMAND

from mlagentbench.tasks.suites import load_suite
from mlagentbench.tasks.task import SUITE

pytestmark = pytest.mark.slow

CAP = 7200
"""Seconds: ten times what all checks should take together on two cores."""


@pytest.mark.timeout(CAP)
def test_every_task_of_the_suite_is_sound(environment_variables: dict[str, str]) -> None:
    command: list[str | Path] = [
        COMMAND,
        "tasks",
        "check",
        "--suite",
        "v1",
        "--tier",
        "mini",
        "--json",
    ]
    result = subprocess.run(
        command, env=environment_variables, capture_output=True, text=True, timeout=CAP
    )
    checked = {task["task"]: task for task in json.loads(result.stdout)}
    failures = {
        name: [finding for finding in task["results"] if finding["ok"] is False]
        for name, task in checked.items()
        if not task["ok"]
    }
    assert failures == {} and result.returncode == 0, result.stderr
    assert checked.keys() == set(load_suite("v1").tasks)
    assert checked.keys() == {file.parent.name for file in SUITE.glob("*/task.toml")}
