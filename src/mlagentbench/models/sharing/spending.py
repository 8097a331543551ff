"""What all runs of a plan have spent: a counter file for each process, whose sum is the total.

A process writes only its own file, so no two ever write to one, and what a killed process spent
remains counted.
"""

import os
import re
import secrets
from pathlib import Path

from mlagentbench.fs import open_regular, write_atomically
from mlagentbench.records import Record
from mlagentbench.runs.lease import process_name

FOLDER = "spent"
COUNTER = re.compile(r"[0-9a-f].*\.json")
"""The names of counters; those of half-written ones begin with a dot."""
MAX_COUNTER = 1000
"""Bytes of a counter that are read."""


class SpendingCounter(Record):
    """What one process has spent."""

    dollars: float


class Spending:
    """The dollars that the processes of a plan have spent."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory / FOLDER
        self._own = self._folder / f"{process_name()}-{secrets.token_hex(4)}.json"
        self._spent_here = 0.0
        self._seen: dict[str, tuple[tuple[int, int], float]] = {}

    def add(self, dollars: float) -> None:
        """Count what this process has spent, on disk before anything else is asked."""
        self._spent_here += dollars
        write_atomically(
            self._own, SpendingCounter(dollars=self._spent_here).model_dump_json().encode()
        )

    def total(self) -> float:
        """What all processes have spent; only counters that have changed are read again."""
        try:
            names = os.listdir(self._folder)  # noqa: PTH208
        except FileNotFoundError:
            return 0.0
        return sum(self._read(name) for name in names if COUNTER.fullmatch(name))

    def _read(self, name: str) -> float:
        # A file is opened before it is looked at: NFS then asks the server, not its cache.
        with open_regular(self._folder / name) as file:
            status = os.fstat(file.fileno())
            version = (status.st_ino, status.st_mtime_ns)
            known = self._seen.get(name)
            if known is None or known[0] != version:
                counter = SpendingCounter.model_validate_json(file.read(MAX_COUNTER))
                known = self._seen[name] = (version, counter.dollars)
        return known[1]
