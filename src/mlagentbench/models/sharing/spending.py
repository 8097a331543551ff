"""What all runs of a plan have spent: a counter file for each process, whose sum is the total.

A process writes only its own file, so no two ever write to one, and what a killed process spent
remains counted.
"""

import os
import secrets
from pathlib import Path

from mlagentbench.fs import parse_json, read_regular, write_atomically
from mlagentbench.runs.lease import process_name

FOLDER = "spent"
MAX_COUNTER = 1000
"""Bytes of a counter that are read."""


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
        write_atomically(self._own, f'{{"dollars": {self._spent_here!r}}}'.encode())

    def total(self) -> float:
        """What all processes have spent; only counters that have changed are read again."""
        try:
            with os.scandir(self._folder) as entries:
                files = [entry for entry in entries if entry.name.endswith(".json")]
        except FileNotFoundError:
            return 0.0
        return sum(map(self._read, files))

    def _read(self, file: "os.DirEntry[str]") -> float:
        if file.name.startswith("."):  # half-written
            return 0.0
        # A DirEntry's own stat may be that of the file that was there before the last rename.
        status = Path(file.path).stat()
        version = (status.st_ino, status.st_mtime_ns)
        known = self._seen.get(file.name)
        if known is None or known[0] != version:
            value = parse_json(read_regular(Path(file.path), MAX_COUNTER))
            dollars = value.get("dollars") if isinstance(value, dict) else None
            if not isinstance(dollars, float | int):
                raise ValueError(f"{file.path} is not a counter of dollars")
            known = self._seen[file.name] = (version, float(dollars))
        return known[1]
