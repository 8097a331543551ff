"""The slots of runs: waited for before a run is held, kept until it is graded.

Waiting is not run time: the run's budget has not started yet, and Inspect is told.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mlagentbench.errors import RunFailed
from mlagentbench.machine.allocation import GpusAsked
from mlagentbench.machine.ledger import Need, Slot
from mlagentbench.machine.slots import HeldSlot, take_slot, use_slot


class RunSlots:
    """The slots that the runs of this process hold, by the uuid of their Inspect sample."""

    def __init__(self) -> None:
        self._held: dict[str, HeldSlot] = {}

    async def take(
        self, sample: str, need: Need, who: str, on_wait: Callable[[str], None] | None
    ) -> None:
        """Wait for the slot of a sample's run, and make it the slot in use."""
        from inspect_ai.util import suspend_working_limit

        with suspend_working_limit():
            held = await take_slot(need, who, on_wait)
        self._held[sample] = held
        use_slot(held.slot)

    def of(self, sample: str) -> Slot | None:
        held = self._held.get(sample)
        return None if held is None else held.slot

    def release(self, sample: str) -> None:
        """Give a slot back, if the sample has one."""
        held = self._held.pop(sample, None)
        if held is not None:
            held.release()
            use_slot(None)

    def release_all(self) -> None:
        for sample in tuple(self._held):
            self.release(sample)

    @contextmanager
    def used_up(self, sample: str) -> Iterator[None]:
        """Use a sample's slot once more, and give it back at the end."""
        use_slot(self.of(sample))
        try:
            yield
        finally:
            self.release(sample)


def require_gpus(slot: Slot | None, asked: GpusAsked | None) -> None:
    """RunFailed if a run has fewer GPUs than a person asked for."""
    there = 0 if slot is None else len(slot.gpus)
    if asked is not None and there < asked.count:
        raise RunFailed("harness", asked.refusal(there))
