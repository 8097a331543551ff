"""The recordings that come with the package fit the tasks and agents that come with it."""

import pytest

from mlagentbench.models.recording import BY_HAND, SHIPPED, RecordedRun, read_recordings
from mlagentbench.tasks.task import load_task

RUNS = read_recordings(SHIPPED).runs
TASKS = {"house-price", "spaceship-titanic", "vectorization", "cifar10"}


def name(run: RecordedRun) -> str:
    return f"{run.run.task}-{run.run.agent}"


def test_both_agents_are_recorded_on_each_task() -> None:
    recorded = [(one.run.agent, one.run.task) for one in RUNS]
    expected = {(agent, task) for agent in ("research", "react") for task in TASKS}
    assert len(recorded) == len(expected) and set(recorded) == expected


@pytest.mark.parametrize("recorded", RUNS, ids=name)
def test_a_recording_says_who_answered_and_on_which_data(recorded: RecordedRun) -> None:
    task, run = load_task(recorded.run.task), recorded.run
    assert run.answered_by == BY_HAND
    assert (run.task_version, run.tier) == (task.spec.version, "mini")
    assert run.data_hash == task.spec.measured["mini"].data
    assert run.agent_settings == {}
    assert [reply.step for reply in recorded.replies] == sorted(
        reply.step for reply in recorded.replies
    )


def test_recordings_tell_nothing_of_where_they_were_made() -> None:
    for file in SHIPPED.iterdir():
        text = file.read_text()
        assert "/" + "tmp/" not in text and "/" + "work/" not in text, file.name
