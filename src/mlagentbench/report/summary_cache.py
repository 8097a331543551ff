"""What earlier reports have read, so that only new and changed runs are read again.

One SQLite file per OUT. An entry holds as long as its key does: sizes and times of the run's files,
the code that analysed them, and what the task said. The cache is never needed: one that is damaged
is thrown away, one that cannot be written is done without.
"""

import hashlib
import sqlite3
import zlib
from collections.abc import Callable, Iterable
from contextlib import closing
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.evaluation.judge_rubric import JudgeReport
from mlagentbench.evaluation.summary import RunSummary, UnreadableRun
from mlagentbench.home import report_cache_dir
from mlagentbench.records import Record

PATIENCE = 10.0
"""Seconds to wait for another report that is writing."""
T = TypeVar("T")
_TABLE = "CREATE TABLE IF NOT EXISTS entries (path TEXT PRIMARY KEY, entry BLOB NOT NULL)"


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


def analysis_version() -> str:
    """A hash that changes whenever the code that reads and analyses runs does."""
    sha = hashlib.sha256(version("mlagentbench").encode())
    package = files("mlagentbench")
    for folder in (".", "environment", "evaluation", "evaluation/detectors"):
        for file in sorted((package / folder).iterdir(), key=lambda one: one.name):
            if file.name.endswith(".py"):
                sha.update(file.name.encode() + file.read_bytes())
    return sha.hexdigest()


class SummaryCache:
    """The cache of one OUT; it is empty, and keeps nothing, where there is no place for it."""

    def __init__(self, out: Path) -> None:
        self._file = _place(out)

    def load(self) -> dict[str, CachedRun]:
        """All entries, by the run's path below OUT; those that cannot be read are left out."""
        found: dict[str, CachedRun] = {}
        for path, entry in self._entries():
            try:
                found[path] = CachedRun.unpacked(entry)
            except (ValidationError, zlib.error):
                continue
        return found

    def _entries(self) -> list[tuple[str, bytes]]:
        return self._do(lambda database: list(database.execute("SELECT * FROM entries"))) or []

    def store(self, entries: Iterable[tuple[str, bytes]]) -> None:
        """Keep packed entries for the next report."""
        insert = "INSERT OR REPLACE INTO entries VALUES (?, ?)"
        self._do(lambda database: database.executemany(insert, entries))

    def forget(self, paths: Iterable[str]) -> None:
        """Drop the entries of runs that are not there any more."""
        delete = "DELETE FROM entries WHERE path = ?"
        self._do(lambda database: database.executemany(delete, ((path,) for path in paths)))

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do something with the database in one transaction; nothing where there is none."""
        if self._file is None:
            return None
        try:
            with closing(sqlite3.connect(self._file, timeout=PATIENCE)) as database, database:
                database.execute(_TABLE)
                return work(database)
        except sqlite3.OperationalError:
            self._file = None  # locked for too long, read-only, or the disk is full
        except sqlite3.DatabaseError:
            self._file.unlink(missing_ok=True)
        return None


def _place(out: Path) -> Path | None:
    digest = hashlib.sha256(str(out).encode()).hexdigest()[:32]
    try:
        return report_cache_dir() / f"{digest}.v1.sqlite"
    except UsageError:
        return None
