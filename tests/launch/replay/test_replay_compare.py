"""What counts as the same when a step is compared with its replay."""

from pathlib import Path

import pytest

from mlagentbench.launch.replay.compare import StepComparer, worst
from mlagentbench.launch.replay.result import Compared
from mlagentbench.records import Observation
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, put_tree


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore(tmp_path / "objects")


@pytest.fixture
def comparing(store: ObjectStore) -> StepComparer:
    return StepComparer(0.01, store)


@pytest.mark.parametrize(
    ("then", "now", "agreement"),
    [
        ("mae=0.5", "mae=0.5", "same"),
        ("took 3.2 s in /tmp/a1/train.py", "took 1 min 4 s in /home/b/train.py", "same"),
        ("made 2024-01-01 10:00:00 at 0x7f3a", "made 2025-02-02 11:30:00 at 0x55", "same"),
        ("seconds per call: 0.10064", "seconds per call: 0.5", "same"),
        ("train_time=3.25 mae=1", "train_time=4 mae=1", "same"),
        ("sometimes 3, times=4", "sometimes 4, times=4", "different"),
        ("mae=0.500", "mae=0.502", "within tolerance"),
        ("mae=0.500", "mae=0.510", "different"),
        ("mae=0.5", "mae=-0.5", "different"),
        ("mae=0.5", "mse=0.5", "different"),
        ("1461,169.5", "1461,171.9", "different"),
        ("a 1,234", "a 1234", "different"),
        ("a #", "a 5", "different"),
        ("one\ntwo", "one", "different"),
        ("loss 0", "loss 1e-15", "within tolerance"),
    ],
)
def test_texts(comparing: StepComparer, then: str, now: str, agreement: str) -> None:
    found = list(comparing.texts("observation", then, now))
    assert worst(found) == agreement
    assert all(one.reason.startswith(("line 1", "line 2", "1 of", "numbers")) for one in found)


def test_a_status_that_differs_is_a_difference(comparing: StepComparer) -> None:
    then = Observation(text="-", status="error", exit_code=1)
    [found] = comparing.observations(then, Observation(text="-", exit_code=0))
    assert found == Compared(
        what="status", agreement="different", reason="was error, exit code 1, is ok, exit code 0"
    )


def test_how_far_a_command_comes_until_its_time_ends_is_no_difference(
    comparing: StepComparer,
) -> None:
    def ended(*lines: str) -> Observation:
        text = "\n".join([*lines, "[The script was ended by the limit on wall time (2 s).]"])
        return Observation(text=text, status="limit", limit="wall time")

    then, now = ended("epoch 0", "epoch 1", "epoch 2"), ended("epoch 0", "epo")
    assert list(comparing.observations(then, now)) == []
    assert list(comparing.printed_in_time(then.text, now.text)) == []
    [found] = comparing.printed_in_time(then.text, ended("epoch 7", "epoch 8").text)
    assert found.reason == "1 of 1 numbers, the first was 0, is 7"
    text = "took 2 s in /tmp/a/b\nloss 1"
    [found] = comparing.texts("output", text, text.replace("loss", "mae"))
    assert found.reason == "line 2 was 'loss 1', is 'mae 1'"
    ended_well = Observation(text="epoch 0", exit_code=0)
    assert [one.what for one in comparing.observations(then, ended_well)] == [
        "status",
        "observation",
    ]


def test_a_file_is_named_once(store: ObjectStore, comparing: StepComparer) -> None:
    def snapshot(**files: bytes) -> str:
        entries = (
            Entry(name, "file", 0o644, store.put(text)) for name, text in sorted(files.items())
        )
        return put_tree(store, [entry.line() for entry in entries])

    first = snapshot(a=b"x 1", b=b"\xff\x00", c=b"same")
    other = snapshot(a=b"x 2", b=b"\xff\x01", c=b"same", d=b"new")
    found = {one.what: one.reason for one in comparing.files(first, other)}
    assert found == {
        "file a": "1 of 1 numbers, the first was 1, is 2",
        "file b": "different bytes",
        "file d": "was missing, is a file",
    }
    assert list(comparing.files(first, other)) == []
    third = snapshot(a=b"x 3", b=b"\xff\x01", c=b"same", d=b"new")
    assert [one.what for one in comparing.files(first, third)] == ["file a"]
