"""One process's calls to a provider that was down for longer than runs wait."""

import asyncio
import time
from pathlib import Path

import pytest

from mlagentbench.errors import RunFailed
from mlagentbench.models.sharing.outages import Outage, OutageState
from mlagentbench.models.sharing.plan_limits import PlanLimits, SharingTimes
from mlagentbench.models.sharing.plan_share import PlanShare

PROVIDER = "anthropic"
LIMIT = 1800.0


class Called:
    """A provider's client that counts its calls."""

    def __init__(self, *, answers: bool) -> None:
        self.calls = 0
        self._answers = answers

    async def attempt(self) -> str:
        self.calls += 1
        if not self._answers:
            raise OSError("no route to host")
        return "Well."


@pytest.fixture
def outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Outage:
    """An outage that began too long ago, as a worker that has ended left it."""
    monkeypatch.setenv("MLAGENTBENCH_OUTAGE_LOOK", "0.01")
    PlanLimits(outage=LIMIT).write(tmp_path)
    begun = Outage(tmp_path, PROVIDER, SharingTimes.chosen())
    old = OutageState(since=time.time() - LIMIT - 100, said="no route to host")
    begun.note(old)
    return begun


def call(directory: Path, client: Called) -> str:
    share = PlanShare(directory)
    return asyncio.run(
        share.call(
            PROVIDER, client.attempt, cost=lambda _: 0.0, unavailable=lambda error: str(error)
        )
    )


def test_who_comes_after_an_outage_that_was_too_long_tries_once(
    tmp_path: Path, outage: Outage
) -> None:
    client = Called(answers=True)
    assert call(tmp_path, client) == "Well."
    assert client.calls == 1 and outage.current() is None
    assert call(tmp_path, client) == "Well."


def test_a_provider_that_is_still_down_is_not_waited_for(tmp_path: Path, outage: Outage) -> None:
    for _ in range(2):
        client = Called(answers=False)
        with pytest.raises(RunFailed, match="for longer than --max-outage 30"):
            call(tmp_path, client)
        assert client.calls == 1
    state = outage.current()
    assert state is not None and state.tries == 2
