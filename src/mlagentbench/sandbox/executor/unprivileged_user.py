"""The user whom the processes of a sandbox run as, where root starts it."""

import os
import random
from functools import lru_cache
from pathlib import Path

_WIDE_UIDS = range(1_900_000_000, 2_100_000_000)
_NARROW_UIDS = range(61_184, 65_520)


def unprivileged_uid() -> int | None:
    """An unused uid for a sandbox if this process is root, None for an ordinary user."""
    if os.geteuid() != 0:
        return None
    wide = any(
        int(first) <= _WIDE_UIDS.start and int(first) + int(count) >= _WIDE_UIDS.stop
        for first, _outside, count in _uid_map()
    )
    taken = {_owner(place) for place in Path("/proc").iterdir() if place.name.isdigit()}
    drawn = random.SystemRandom()
    while True:
        uid = drawn.choice(_WIDE_UIDS if wide else _NARROW_UIDS)
        if uid not in taken:
            return uid


@lru_cache(maxsize=1)
def _uid_map() -> list[list[str]]:
    text = Path("/proc/self/uid_map").read_text(encoding="ascii")
    return [line.split() for line in text.splitlines()]


def _owner(place: Path) -> int | None:
    try:
        return place.stat().st_uid
    except OSError:
        return None
