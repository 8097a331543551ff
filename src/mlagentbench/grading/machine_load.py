"""How much of its processors other programs use while one program is timed.

A program that takes as long as the starter does not feel a busy machine as a short one does: the
scheduler gives each its share over a tenth of a second, but a program of a millisecond either runs
at once or waits for its turn. So the control alone cannot tell, and this does: the time that the
processors were busy, without that of the program that was timed.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.records import Record

MAX_BUSY = 0.25
"""The share of the processors which a task needs that other programs may use."""
CLOCK_ERROR = 0.05
"""Seconds by which busy time may be wrong: the kernel counts it in ticks of up to 10 ms."""
_STAT = Path("/proc/stat")
_BUSY_FIELDS = (0, 1, 2, 5, 6, 7)
"""user, nice, system, irq, softirq and steal; what guests use is part of user and nice."""


@dataclass(frozen=True)
class BusyClock:
    """Processor time since boot, by all programs on some processors."""

    seconds: float

    @staticmethod
    def now(cores: Iterable[int]) -> "BusyClock":
        ours = {f"cpu{number}" for number in cores}
        ticks = 0
        for line in _STAT.read_text().splitlines():
            name, *fields = line.split()
            if name in ours:
                ticks += sum(int(fields[place]) for place in _BUSY_FIELDS)
        return BusyClock(ticks / os.sysconf("SC_CLK_TCK"))


class MachineLoad(Record):
    """What other programs used of the processors, in seconds, while one program was timed."""

    others: float = 0.0
    elapsed: float = 0.0

    def __add__(self, other: "MachineLoad") -> "MachineLoad":
        return MachineLoad(others=self.others + other.others, elapsed=self.elapsed + other.elapsed)

    def trouble(self, needed: int | None, there: int) -> str:
        """Why too few of the `needed` processors (None: all) were free; empty if enough were.

        `there` is the number of those that are looked at.
        """
        needed = min(needed or there, there)
        allowed = there - needed * (1 - MAX_BUSY)
        if self.others <= allowed * self.elapsed + CLOCK_ERROR:
            return ""
        used = self.others / self.elapsed
        return f"other programs used {used:.2f} of {there} processors, and the task needs {needed}"
