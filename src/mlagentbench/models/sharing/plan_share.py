"""What this process shares with the other workers of a plan: money, calls a minute, outages.

Every model call of a plan's runs goes through `PlanShare.call`:

    is the plan's money spent?     RunInterrupted: the run can be resumed when the cap is raised
    is the provider down?          wait, or be the one that tries
    are there too many calls?      wait for this call's turn
    the call                       its cost is counted before anything else happens
    is the provider unavailable?   a few quick retries, then all workers wait

Waiting is not run time.
"""

import time
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import anyio
from anyio import to_thread

from mlagentbench.errors import RunFailed, RunInterrupted
from mlagentbench.inspect_private import waiting
from mlagentbench.models.sharing.call_rates import CallRate
from mlagentbench.models.sharing.outages import Outage, OutageState
from mlagentbench.models.sharing.plan_limits import LimitsFile, PlanLimits, SharingTimes
from mlagentbench.models.sharing.spending import Spending
from mlagentbench.numeric.number_format import dollars_text, duration_text
from mlagentbench.runs.lease import Lease

QUICK_RETRIES = 2
"""Retries of a call before its provider counts as down."""
MOST_OUTAGES = 5
"""How often a call may let all workers wait, if the provider then answers the calls of others."""

R = TypeVar("R")


class ProbeTurn:
    """Whether a call is the one that tries a provider that is down."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.has_waited = False
        """Whether it knows of the outage from before it was too long, or has tried itself."""

    def release(self) -> None:
        if self.lease is not None:
            self.lease.release()
        self.lease = None


class CallFailures:
    """How often a call has failed."""

    def __init__(self) -> None:
        self.retries = 0
        """Since it last let all workers wait."""
        self.outages = 0
        """How often it did."""


class PlanShare:
    """This process as one of the workers of a plan."""

    def __init__(self, directory: Path) -> None:
        self.say: Callable[[str], None] | None = None
        """Tells a person why all runs wait."""
        self._directory = directory
        self._times = SharingTimes.chosen()
        self._limits = LimitsFile(directory)
        self._spending = Spending(directory)
        self._rates: dict[str, CallRate] = {}
        self._outages: dict[str, Outage] = {}
        self._told: dict[str, float] = {}
        """The outages that were told, by provider: when they began."""

    def spent_out(self) -> str | None:
        """Says that the plan's money is spent; None if some is left."""
        cap = self._limits.read().spend
        if cap is None or (total := self._spending.total()) < cap:
            return None
        return (
            f"{dollars_text(total)} are spent, of {dollars_text(cap)} for all runs together; to "
            "continue, run the command that planned them with a higher --max-spend"
        )

    async def call(
        self,
        provider: str,
        attempt: Callable[[], Awaitable[R]],
        *,
        cost: Callable[[R], float],
        unavailable: Callable[[Exception], str | None],
    ) -> R:
        """Make a call; `unavailable` says what an error says of a provider that is down.

        Raises RunInterrupted when the money is spent, and RunFailed("model") when the provider was
        down for longer than runs wait.
        """
        turn, failures = ProbeTurn(), CallFailures()
        try:
            while True:
                limits = self._limits.read()
                self._require_money()
                await self._await_provider(provider, limits, turn)
                await self._await_rate(provider, limits)
                self._require_money()  # others may have spent it meanwhile
                try:
                    result = await attempt()
                except Exception as error:  # providers raise errors of their own
                    said = unavailable(error) if limits.outage > 0 else None
                    if said is None:
                        self._end_outage(provider, turn)
                        raise
                    await self._after_failure(provider, said, turn, failures)
                    continue
                if (dollars := cost(result)) > 0:
                    self._spending.add(dollars)
                self._end_outage(provider, turn)
                return result
        finally:
            turn.release()

    async def _after_failure(
        self, provider: str, said: str, turn: ProbeTurn, failures: CallFailures
    ) -> None:
        """Try again soon, or let all workers wait; a call that alone fails is no outage."""
        outage, times = self._outage(provider), self._times
        if turn.lease is not None:
            outage.note_failed_try(said)
            turn.release()
            await self._wait(2 * times.outage_look)  # the next attempt is another call's
        elif failures.retries < QUICK_RETRIES:
            await self._wait(times.outage_retry * 2**failures.retries)
            failures.retries += 1
        elif failures.outages < MOST_OUTAGES:
            outage.begin(said)
            failures.outages, failures.retries = failures.outages + 1, 0
        else:
            raise RunFailed("model", f"{provider} answers other calls, but not this one: {said}")

    def _require_money(self) -> None:
        if (said := self.spent_out()) is not None:
            raise RunInterrupted(said)

    async def _await_rate(self, provider: str, limits: PlanLimits) -> None:
        most = limits.rates.get(provider)
        if most is None:
            return
        window = self._times.rate_window
        rate = self._rates.setdefault(provider, CallRate(self._directory, provider, window))
        with waiting():
            await anyio.sleep(await to_thread.run_sync(rate.take_ticket, most))

    async def _await_provider(self, provider: str, limits: PlanLimits, turn: ProbeTurn) -> None:
        """Return when the provider is not known to be down, or when it is our turn to try."""
        outage = self._outage(provider)
        with waiting():
            while (state := outage.current()) is not None:
                left = limits.outage - (time.time() - state.since)
                if left <= 0 and turn.has_waited:
                    raise RunFailed("model", _gave_up(provider, state, limits))
                turn.has_waited = turn.has_waited or left > 0
                if turn.lease is not None and turn.lease.is_lost:
                    turn.release()
                turn.lease = turn.lease or outage.take_turn()
                pause = outage.pause(state)
                self._tell(provider, state, pause)
                if turn.lease is None:
                    await anyio.sleep(self._times.outage_look)
                elif await self._pause(outage, min(pause, max(left, 0.0))):
                    turn.has_waited = True
                    return
        turn.release()

    async def _pause(self, outage: Outage, seconds: float) -> bool:
        """Wait before an attempt; False if the outage is over meanwhile."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            await anyio.sleep(min(left, self._times.outage_look))
            if outage.current() is None:
                return False
        return True

    def _end_outage(self, provider: str, turn: ProbeTurn) -> None:
        """The provider has answered: if it was down, let all continue."""
        if turn.lease is not None:
            self._outage(provider).end()
        if turn.lease is not None or provider in self._told:
            self._tell_end(provider)

    def _outage(self, provider: str) -> Outage:
        made = self._outages.get(provider)
        return made or self._outages.setdefault(
            provider, Outage(self._directory, provider, self._times)
        )

    def _tell(self, provider: str, state: OutageState, pause: float) -> None:
        if self._told.get(provider) == state.since or self.say is None:
            return
        self._told[provider] = state.since
        self.say(
            f"{provider} does not answer since {state.began} ({state.said}): all runs wait; "
            f"next try in {duration_text(pause)}"
        )

    def _tell_end(self, provider: str) -> None:
        since = self._told.pop(provider, None)
        if since is not None and self.say is not None:
            self.say(f"{provider} answers again after {duration_text(time.time() - since)}")

    async def _wait(self, seconds: float) -> None:
        with waiting():
            await anyio.sleep(seconds)


def _gave_up(provider: str, state: OutageState, limits: PlanLimits) -> str:
    return (
        f"{provider} does not answer since {state.began} ({state.said}), for longer than "
        f"--max-outage {duration_text(limits.outage)}; run the same command again to try again"
    )


@cache
def plan_share(directory: Path) -> PlanShare:
    """This process's share in the plan of that directory, OUT/plans/HASH: one for all its runs."""
    return PlanShare(directory)
