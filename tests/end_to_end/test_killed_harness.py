"""The harness is killed with SIGKILL and resumed: nothing is lost, and nothing is done twice."""

import random
from pathlib import Path

import pytest
from courses import react
from killing import Harness, killed_at_random
from undisturbed import differences

pytestmark = pytest.mark.slow

IN_THE_MIDDLE = (("sandbox start", 1), ("snapshot", 2), ("end line", 1), ("grading", 1))
AT_RANDOM = 4


def test_killed_runs_become_what_they_would_have_been(
    tmp_path: Path, environment_variables: dict[str, str]
) -> None:
    course = react(tmp_path)
    undisturbed = Harness(course, tmp_path, "undisturbed", environment_variables)
    seconds = undisturbed.finish()
    aimed_at = Harness(course, tmp_path, "killed", environment_variables)
    kills = [aimed_at.kill_in(moment, times) for moment, times in IN_THE_MIDDLE]
    aimed_at.finish()
    assert [kill.met for kill in kills] == ["between steps", "in a step", "in a step", "grading"]
    assert [kill.torn for kill in kills] == [False, False, True, False]
    seed = random.getrandbits(32)
    print("seed", seed)
    killed = [aimed_at]
    killed += killed_at_random(
        course, tmp_path, environment_variables, AT_RANDOM, seconds, random.Random(seed)
    )
    for harness in killed:
        assert differences(undisturbed, harness) == [], harness.kills
        assert not any(kill.left_processes for kill in harness.kills)
