"""Loops: the same action on the same workspace with the same observation."""

import pytest
from told_runs import Run

from mlagentbench.analysis.detectors.loops import without_times


def test_three_times_the_same_is_a_loop_with_other_steps_between() -> None:
    run = Run()
    for _ in range(3):
        run.do("List Files", "train.py  10 bytes", dir_path=".")
        run.do("Read File", "text", file_name="a")
    [loops, _] = run.found("loop")
    assert loops.steps == (1, 3, 5)


def test_twice_is_none_and_neither_is_another_observation_or_argument() -> None:
    run = Run().do("List Files", "a").do("List Files", "a").do("List Files", "b")
    run.do("Read File", "t", file_name="a").do("Read File", "t", file_name="b")
    run.do("Read File", "t", file_name="c")
    assert run.found("loop") == []


def test_running_again_after_an_edit_is_none() -> None:
    run = Run()
    for _ in range(4):
        run.write("train.py").execute(observed="validation MAE=1.0", changes=False)
    assert run.found("loop") == []


def test_the_workspace_before_the_action_counts_not_the_one_after_it() -> None:
    run = Run().execute(changes=True).execute(changes=False).execute(changes=False)
    assert run.found("loop") == []
    assert Run().execute().execute().execute().found("loop")[0].steps == (1, 2, 3)


def test_unusable_replies_and_interrupted_steps_make_no_loop() -> None:
    run = Run()
    for _ in range(4):
        run.do("Unusable Reply", "Nothing was done.", status="error")
    for _ in range(4):
        run.execute(observed="cut off", status="interrupted")
    assert run.found("loop") == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("took 1.25 s", "took 3.5 s"),
        ("done in 12 seconds", "done in 9 seconds"),
        ("time: 0.81", "time: 0.92"),
        ("elapsed=12.5", "elapsed=13.1"),
        ("2024-01-01 10:00:00 start", "2024-01-02 11:30:10 start"),
        ("[00:12<00:03, 35.2it/s]", "[00:14<00:05, 31.0it/s]"),
        ("12 ms per call", "19 ms per call"),
    ],
)
def test_times_do_not_make_an_observation_different(one: str, other: str) -> None:
    assert without_times(one) == without_times(other)
    run = Run().execute(observed=one).execute(observed=other).execute(observed=one)
    assert len(run.found("loop")) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("accuracy=0.81", "accuracy=0.82"), ("epoch 3", "epoch 4"), ("loss 1.2", "loss 1.3")],
)
def test_other_numbers_do(one: str, other: str) -> None:
    assert without_times(one) != without_times(other)
