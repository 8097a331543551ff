"""Slots: the cores, the memory and the GPUs that a run holds while it runs and is graded.

All processes of a pool share it: the whole machine, or an allocation of a scheduler
(allocation.py). Each asks for what its task needs, and waits until that is free, first come, first
served; a need that is larger than the pool gets the whole pool. Who holds and who waits is in the
ledger (ledger.py), so a slot is free when its holder has died.

Within a pool no GPU is in two slots, and no core unless a scheduler gave more cores than there are.
The memory of all slots is at most the pool's, with one exception: a process that a control group
limits to less than the pool counts only the slots of its group, against what the group allows. So
the slots of several groups together can have more memory than the machine.
"""

import asyncio
import functools
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Self

from mlagentbench.machine.allocation import Allocation, allocation
from mlagentbench.machine.gpus import Gpu
from mlagentbench.machine.ledger import (
    MAX_NAME,
    Ledger,
    LedgerEntry,
    Need,
    OnWait,
    Slot,
    SlotClaim,
)
from mlagentbench.numeric.number_format import counted
from mlagentbench.records import Record

PAUSE = 0.05
"""Seconds between two looks at the ledger of the first in the queue, at first."""
PAUSE_SHARE = 0.05
"""Pauses grow with the wait, to this share of it: runs that wait long do not disturb timed ones."""
LONGEST_PAUSE = 1.0
NAMED_HOLDERS = 3
_TOPOLOGY = Path("/sys/devices/system/cpu")


class HeldSlot:
    """A slot that this process holds until `release`, or until it dies."""

    def __init__(self, slot: Slot, entry: LedgerEntry) -> None:
        self.slot = slot
        self._entry = entry

    def release(self) -> None:
        """Give it back; again is harmless."""
        self._entry.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.release()


async def take_slot(need: Need, who: str, on_wait: OnWait | None = None) -> HeldSlot:
    """Wait until the need, or at most the whole pool, is free, and hold it.

    `who` is shown to others that wait. `on_wait` is told what this one waits for, whenever that
    changes. Waiting does not block the event loop and can be cancelled.
    """
    place = allocation()
    ledger = Ledger()
    claim = SlotClaim(
        pool=place.pool,
        cgroup=place.cgroup,
        need=within(need, place),
        who=who[:MAX_NAME],
        pid=os.getpid(),
    )
    said = ""

    def tell(text: str) -> None:
        nonlocal said
        if on_wait is not None and text != said:
            said = text
            on_wait(text)

    entry = await ledger.enter(claim, tell)
    began = time.monotonic()
    try:
        while True:
            async with ledger.locked(tell):
                standing = _try_to_take(entry, claim, place, ledger)
            if isinstance(standing, HeldSlot):
                return standing
            tell(standing.text)
            pause = max(PAUSE * (1 + standing.before), PAUSE_SHARE * (time.monotonic() - began))
            await asyncio.sleep(min(LONGEST_PAUSE, pause))
    except BaseException:
        entry.remove()
        raise


class Standing(Record):
    """What a claim waits for, and how many claims are before it."""

    before: int
    text: str


def _try_to_take(
    entry: LedgerEntry, claim: SlotClaim, place: Allocation, ledger: Ledger
) -> HeldSlot | Standing:
    """Take the slot if this claim is the first of its pool and it fits; the ledger is locked."""
    others = [one for one in ledger.claims() if one.number != entry.number]
    held = [one for one in others if one.claim.slot is not None]
    before = sum(
        one.claim.slot is None and one.claim.pool == claim.pool and one.number < entry.number
        for one in others
    )
    if not before:
        slot = fitting_slot(claim.need, place, [one.claim for one in held])
        if slot is not None:
            entry.write(claim.model_copy(update={"slot": slot}))
            return HeldSlot(slot, entry)
    holders = [one.described for one in held if one.claim.pool == claim.pool]
    return Standing(before=before, text=_waiting_text(claim.need, before, holders))


def _waiting_text(need: Need, before: int, holders: Sequence[str]) -> str:
    named = ", ".join(holders[:NAMED_HOLDERS])
    more = len(holders) - NAMED_HOLDERS
    held = f"held by {named}{f' and {more} more' if more > 0 else ''}" if holders else ""
    ahead = f"{before} before it" if before else ""
    details = ", ".join(filter(None, (ahead, held)))
    return f"waiting for a slot of {need}{f': {details}' if details else ''}"


def within(need: Need, place: Allocation) -> Need:
    """A need, or the whole of the place where the need is larger."""
    return Need(
        cpus=min(need.cpus, place.cpus),
        memory=min(need.memory, place.memory),
        gpus=min(need.gpus, len(place.gpus)),
    )


def fitting_slot(need: Need, place: Allocation, held: Sequence[SlotClaim]) -> Slot | None:
    """The slot that a need would get beside those that are held; None if it does not fit.

    The least used cores over all pools are chosen, since pools of one machine may overlap.
    """
    here = [one for one in held if one.pool == place.pool]
    limited = [one for one in here if not place.cgroup or one.cgroup == place.cgroup]
    if sum(one.need.memory for one in limited) + need.memory > place.memory:
        return None
    cores = _fitting_cores(need.cpus, place, here, limited, held)
    gpus = _fitting_gpus(need.gpus, place, here, held)
    if cores is None or gpus is None:
        return None
    return Slot(cpus=cores, memory=need.memory, gpus=gpus)


def _fitting_cores(
    count: int,
    place: Allocation,
    here: Sequence[SlotClaim],
    limited: Sequence[SlotClaim],
    held: Sequence[SlotClaim],
) -> tuple[int, ...] | None:
    taken = {core for one in here for core in one.cores}
    exclusive = place.cpus <= len(place.cores)
    free = [core for core in place.cores if core not in taken or not exclusive]
    if exclusive:
        in_use = sum(len(set(one.cores).intersection(place.cores)) for one in limited)
    else:
        in_use = sum(one.need.cpus for one in limited)
    if in_use + count > place.cpus or (exclusive and len(free) < count):
        return None
    used = Counter(core for one in held for core in one.cores)
    chosen = sorted(free, key=lambda core: (used[core], first_sibling(core), core))[:count]
    return tuple(sorted(chosen))


def _fitting_gpus(
    count: int, place: Allocation, here: Sequence[SlotClaim], held: Sequence[SlotClaim]
) -> tuple[Gpu, ...] | None:
    taken = {gpu.uuid for one in here for gpu in one.gpus}
    elsewhere = {gpu.uuid for one in held for gpu in one.gpus}
    free = [gpu for gpu in place.gpus if gpu.uuid not in taken]
    chosen = sorted(free, key=lambda gpu: gpu.uuid in elsewhere)[:count]
    return tuple(chosen) if len(chosen) == count else None


@functools.cache
def first_sibling(core: int) -> int:
    """The first of the hardware threads of a core, so that a slot gets whole cores if it can."""
    try:
        listed = (_TOPOLOGY / f"cpu{core}/topology/thread_siblings_list").read_text("ascii")
        return int(listed.strip().replace("-", ",").split(",")[0])
    except (OSError, ValueError):
        return core


def most_at_once(needs: Iterable[Need]) -> int:
    """How many of these needs could hold a slot together at most; at least 1."""
    place = allocation()
    bounded = [within(need, place) for need in needs]
    without_gpus = sum(need.gpus == 0 for need in bounded)
    return max(
        1,
        min(
            _most((need.cpus for need in bounded), place.cpus),
            _most((need.memory for need in bounded), place.memory),
            without_gpus + _most((one.gpus for one in bounded if one.gpus), len(place.gpus)),
        ),
    )


def _most(amounts: Iterable[int], there: int) -> int:
    """How many of these amounts are there at once, the smallest first."""
    return sum(total <= there for total in accumulate(sorted(amounts)))


class PoolUse(Record):
    """What of a pool is in use, and the claims that wait."""

    place: Allocation
    cpus: int
    memory: int
    gpus: int
    waiting: tuple[str, ...]

    def __str__(self) -> str:
        parts = [
            f"{self.cpus} of {counted(self.place.cpus, 'core')}",
            f"{self.memory / 1e9:.3g} of {self.place.memory / 1e9:.3g} GB",
        ]
        if self.place.gpus:
            parts.append(f"{self.gpus} of {counted(len(self.place.gpus), 'GPU')}")
        return f"{', '.join(parts)} in slots, {len(self.waiting)} waiting"


def pool_use() -> PoolUse | None:
    """What of this process's pool is in use; None if the ledger is being written just now."""
    place = allocation()
    found = Ledger().look()
    if found is None:
        return None
    here = [one for one in found if one.claim.pool == place.pool]
    held = [one.claim for one in here if one.claim.slot is not None]
    return PoolUse(
        place=place,
        cpus=sum(one.need.cpus for one in held),
        memory=sum(one.need.memory for one in held),
        gpus=sum(len(one.gpus) for one in held),
        waiting=tuple(one.described for one in here if one.claim.slot is None),
    )


_IN_USE: ContextVar[Slot | None] = ContextVar("mlagentbench_slot", default=None)


def slot_in_use() -> Slot | None:
    """The slot that the running code works in; None if it has none."""
    return _IN_USE.get()


def use_slot(slot: Slot | None) -> None:
    """Make it the slot that the running sample or task works in from now on."""
    _IN_USE.set(slot)


@asynccontextmanager
async def slot_for(need: Need, who: str, on_wait: OnWait | None = None) -> AsyncIterator[Slot]:
    """The slot that is in use here, else one that is held meanwhile.

    Nothing ever waits for a slot while it holds another, so no two can wait for each other.
    """
    found = slot_in_use()
    if found is not None:
        yield found
        return
    with await take_slot(need, who, on_wait) as held:
        use_slot(held.slot)
        try:
            yield held.slot
        finally:
            use_slot(None)
