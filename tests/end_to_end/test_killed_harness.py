"""The harness is killed with SIGKILL and resumed: nothing is lost, and nothing is done twice."""

import random
import subprocess
import time
from pathlib import Path

import pytest
from courses import react, steady
from killed_workers import PlannedOut, SharedOut, killed_together
from killing import COMMAND, Harness, killed_at_random, takeovers
from number_task import slow_starter, write_number_task
from undisturbed import differences

from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.journal import read_journal
from mlagentbench.runs.results import run_directories

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


@pytest.mark.parametrize(("kind", "kills"), [(SharedOut, 6), (PlannedOut, 20)])
def test_workers_on_one_out_are_killed(
    tmp_path: Path, environment_variables: dict[str, str], kind: type[SharedOut], kills: int
) -> None:
    course = steady(tmp_path)
    undisturbed = kind(course, tmp_path, "undisturbed", environment_variables)
    undisturbed.plan()
    longest = undisturbed.finish() / kind.runs
    seed = random.getrandbits(32)
    print("seed", seed)
    outs = list(
        killed_together(
            kind, course, tmp_path, environment_variables, kills, longest, random.Random(seed)
        )
    )
    for shared in outs:
        assert shared.differences(undisturbed) == [], shared.kills
        assert not any(kill.left_processes for kill in shared.kills)
    assert sum(len(shared.kills) for shared in outs) >= kills
    runs = [run for shared in outs for run in run_directories(shared.out)]
    assert any(map(takeovers, runs))
    workers = [worker for run in runs for worker in workers_of(run)]
    assert len(set(workers)) > kind.workers if kind is PlannedOut else not workers


def workers_of(run: RunDirectory) -> list[str]:
    """The processes that carried the run out, one after the other, as its journal says."""
    return [line.detail for line in read_journal(run.journal).events if line.event == "worker"]


def test_the_time_of_an_interrupted_action_counts(
    tmp_path: Path, environment_variables: dict[str, str]
) -> None:
    write_number_task(tmp_path, starter=slow_starter(600))
    variables = {**environment_variables, "MLAGENTBENCH_LEASE_RENEWAL": "0.1"}
    command = ["run", "--tasks", "./numbers", "--agents", "baseline", "--max-time", "8s"]

    def start() -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [COMMAND, *command, "--out", "out"], cwd=tmp_path, env=variables,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    first = start()
    while not any(b"begun" in file.read_bytes() for file in tmp_path.rglob("output.log")):
        assert first.poll() is None
        time.sleep(0.05)
    time.sleep(3)
    first.kill()
    first.wait()
    [run] = run_directories(tmp_path / "out")
    assert read_journal(run.journal).interrupted is not None
    assert start().wait() == 0
    history = read_journal(run.journal)
    interrupted = history.steps[0]
    assert interrupted.observation.status == "interrupted"
    assert 2 < interrupted.seconds < 8
    resumed = next(line for line in history.events if line.event == "resumed")
    assert resumed.clock > 2
    assert history.outcome is not None and history.outcome.kind == "time"
