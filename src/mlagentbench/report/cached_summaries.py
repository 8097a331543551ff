"""What earlier reports have read, so that only new and changed runs are read again.

An entry holds as long as its key does: sizes and times of the run's files, the code that analysed
them, and what the task said.
"""

import zlib
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from mlagentbench.analysis.judge.rubric import JudgeReport
from mlagentbench.analysis.run_summary import RunSummary, UnreadableRun
from mlagentbench.records import Record
from mlagentbench.report.cache import KeptEntries


class CachedRun(Record):
    """What was made of a run directory, and of which state of it.

    `task_path` and `task_version` name the task whose words, by their hash, were used.
    """

    fingerprint: str
    task_path: str = ""
    task_version: int = 0
    task_words: str = ""
    summary: RunSummary | None = None
    unreadable: UnreadableRun | None = None
    judgements: tuple[JudgeReport, ...] = ()

    def packed(self) -> bytes:
        return zlib.compress(self.model_dump_json().encode(), 1)

    @staticmethod
    def unpacked(entry: bytes) -> "CachedRun":
        return CachedRun.model_validate_json(zlib.decompress(entry))


class SummaryCache:
    """The cached runs of one OUT, by their paths below it."""

    def __init__(self, out: Path) -> None:
        self._kept = KeptEntries(str(out))

    def load(self) -> dict[str, CachedRun]:
        """All entries; those that cannot be read are left out."""
        found: dict[str, CachedRun] = {}
        for path, entry in self._kept.load():
            try:
                found[path] = CachedRun.unpacked(entry)
            except (ValidationError, zlib.error):
                continue
        return found

    def store(self, entries: Iterable[tuple[str, bytes]]) -> None:
        """Keep packed entries for the next report."""
        self._kept.store(entries)

    def forget(self, paths: Iterable[str]) -> None:
        """Drop the entries of runs that are not there any more."""
        self._kept.forget(paths)
