"""The harness is killed with SIGKILL and resumed: nothing is lost, and nothing is done twice."""

import random
from pathlib import Path

import pytest
from courses import react, steady
from killed_workers import RUNS, SharedOut, killed_in_pairs
from killing import Harness, killed_at_random, takeovers
from undisturbed import differences

from mlagentbench.runs.results import run_directories

pytestmark = pytest.mark.slow

IN_THE_MIDDLE = (("sandbox start", 1), ("snapshot", 2), ("end line", 1), ("grading", 1))
AT_RANDOM = 4
KILLS_OF_PAIRS = 6


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


def test_two_workers_on_one_out_are_killed(
    tmp_path: Path, environment_variables: dict[str, str]
) -> None:
    course = steady(tmp_path)
    undisturbed = SharedOut(course, tmp_path, "undisturbed", environment_variables)
    longest = undisturbed.finish() / RUNS
    seed = random.getrandbits(32)
    print("seed", seed)
    outs = list(
        killed_in_pairs(
            course, tmp_path, environment_variables, KILLS_OF_PAIRS, longest, random.Random(seed)
        )
    )
    for shared in outs:
        assert shared.differences(undisturbed) == [], shared.kills
        assert not any(kill.left_processes for kill in shared.kills)
    assert any(takeovers(run) for shared in outs for run in run_directories(shared.out))
