"""What stops a worker is noted, even where the SIGINT that it sends is consumed."""

import os
import signal
import time
from pathlib import Path

import pytest

from mlagentbench.launch.plans.plan import PlanFile
from mlagentbench.launch.workers import stopping
from mlagentbench.launch.workers.stopping import Stopping


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "LOOK_AROUND", 0.01)


def consume() -> None:
    """As Inspect does at the end of an evaluation."""
    with pytest.raises(KeyboardInterrupt):
        time.sleep(60)


def test_a_consumed_termination_still_ends_the_work() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Stopping(None) as stops:
        stops.require_not_asked_for()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        assert stops.is_asked_for and not stops.continues_elsewhere()
        with pytest.raises(KeyboardInterrupt):
            stops.require_not_asked_for()
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_end_of_the_time_is_noted() -> None:
    with Stopping(0.05) as stops:
        consume()
        assert stops.time_is_up and stops.is_asked_for


def test_after_a_cancelled_plan_others_are_worked_on(tmp_path: Path) -> None:
    file = PlanFile(tmp_path, "0123456789abcdef")
    with Stopping(None) as stops:
        with stops.if_cancelled(file), pytest.raises(KeyboardInterrupt):
            file.cancel()  # noted at once, perhaps before it returns
            time.sleep(60)
        assert stops.is_asked_for and stops.continues_elsewhere()
        assert not stops.is_asked_for and not stops.continues_elsewhere()


def test_an_ignored_interrupt_is_no_longer_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Stopping(0.05):
            consume()
    finally:
        signal.signal(signal.SIGINT, before)
