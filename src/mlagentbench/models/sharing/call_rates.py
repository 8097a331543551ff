"""How often all workers of a plan together call a provider: numbered tickets.

Before a call a process creates the next ticket, a file that only one process can create. A ticket
says when its call may start: at once, or a minute after the turn of the ticket N before. So no span
of a minute has more than N turns, whichever processes take them. On a busy machine a call starts a
little after its turn. A ticket of a process that has died is a call that was not made.

Times are those of the file system, by which all machines that share it go.
"""

import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mlagentbench.fs import create_exclusively, read_regular
from mlagentbench.models.sharing.plan_limits import file_name

FOLDER = "calls"
TICKET = re.compile(r"call-(\d{9,})")
CLOCK_CHECK = 300.0
"""Seconds after which the clock of the file system is compared again."""
LATE = 0.02
"""Seconds that a call starts late: the clocks of file systems tick in steps."""


class CallRate:
    """The calls to one provider."""

    def __init__(self, directory: Path, provider: str, window: float) -> None:
        self._folder = directory / FOLDER / file_name(provider)
        self._window = window
        self._clock = SharedClock(self._folder)

    def take_ticket(self, most: int) -> float:
        """Take the next of `most` calls in a window; returns the seconds to wait before it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        while True:
            numbers = sorted(self._numbers())
            number = numbers[-1] + 1 if numbers else 1
            now = self._clock.now()
            start = max(now, self._free_from(number, most, numbers))
            if not create_exclusively(self._ticket(number), repr(start).encode()):
                continue
            if max(self._numbers()) > number + most:  # its name was free again: others have passed
                self._ticket(number).unlink(missing_ok=True)
                continue
            for old in numbers:
                if old < number - 2 * most:
                    self._ticket(old).unlink(missing_ok=True)
            return max(0.0, start - now)

    def _free_from(self, number: int, most: int, numbers: list[int]) -> float:
        """When the call `most` tickets before this one was made, and a window after it."""
        before = number - most
        if before < 1 or not numbers:
            return 0.0
        # After the limit was raised, tickets may be missing: the oldest that is left then counts.
        found = max(before, numbers[0])
        with suppress(FileNotFoundError):  # removed meanwhile: it is long past
            return float(read_regular(self._ticket(found), 100)) + self._window + LATE
        return 0.0

    def _numbers(self) -> Iterator[int]:
        for name in os.listdir(self._folder):  # noqa: PTH208
            if (found := TICKET.fullmatch(name)) is not None:
                yield int(found[1])

    def _ticket(self, number: int) -> Path:
        return self._folder / f"call-{number:09}"


class SharedClock:
    """The clock of a file system, from the times that it gives to new files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ahead = 0.0
        self._checked: float | None = None

    def now(self) -> float:
        if self._checked is None or time.monotonic() - self._checked > CLOCK_CHECK:
            with tempfile.NamedTemporaryFile(dir=self._folder, prefix=".clock") as file:
                file.write(b"0")
                file.flush()
                self._ahead = os.fstat(file.fileno()).st_mtime - time.time()
            self._checked = time.monotonic()
        return time.time() + self._ahead
