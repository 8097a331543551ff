"""What earlier reports read and computed, kept in SQLite files of the user's data directory.

Summaries of runs are reused while the run's files, its task's text and our code are unchanged;
comparisons while their leaderboards are. A damaged cache file is deleted; without a writable
directory nothing is cached.
"""

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from mlagentbench.analysis.judge.rubric import JudgeReport
from mlagentbench.analysis.run_summary import RunSummary, UnreadableRun
from mlagentbench.errors import UsageError
from mlagentbench.home import report_cache_dir
from mlagentbench.records import Pair, Record
from mlagentbench.statistics.comparison import Comparison, all_comparisons
from mlagentbench.statistics.leaderboard import Leaderboard

LOCK_TIMEOUT = 10.0
"""Seconds to wait for another report that is writing."""
PACKAGE = Path(__file__).parents[1]
HASHED = {".py", ".toml", ".json", ".csv", ".md", ".html", ".css", ".js"}
T = TypeVar("T")
R = TypeVar("R", bound=Record)
_TABLE = "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, entry BLOB NOT NULL)"


@cache
def package_hash() -> str:
    """A hash that changes with any file that reads, analyses or displays runs."""
    sha = hashlib.sha256(version("mlagentbench").encode())
    for file in sorted(PACKAGE.rglob("*")):
        if file.suffix in HASHED:
            sha.update(file.relative_to(PACKAGE).as_posix().encode() + file.read_bytes())
    return sha.hexdigest()


class CachedRun(Record):
    """What was read from a run directory, and from which state of it.

    `task_words` is the hash of the task's text.
    """

    fingerprint: str
    task_words: str = ""
    summary: RunSummary | None = None
    unreadable: UnreadableRun | None = None
    judgements: tuple[JudgeReport, ...] = ()


class CachedComparisons(Record):
    """The comparisons of each leaderboard, and a hash of these leaderboards."""

    fingerprint: str
    comparisons: tuple[tuple[Comparison, ...], ...]


def packed(record: Record) -> bytes:
    return zlib.compress(record.model_dump_json().encode(), 1)


def unpacked(kind: type[R], entry: bytes | None) -> R | None:
    """A cached record; None for one that is missing or cannot be read."""
    try:
        return None if entry is None else kind.model_validate_json(zlib.decompress(entry))
    except (ValidationError, zlib.error):
        return None


class ReportCache:
    """Cached bytes by key; a path may be one, so any bytes may.

    Where the cache cannot be used it is empty and stores nothing.
    """

    def __init__(self, name: str) -> None:
        digest = hashlib.sha256(name.encode()).hexdigest()[:32]
        try:
            self._file: Path | None = report_cache_dir() / f"{digest}.v2.sqlite"
        except UsageError:
            self._file = None

    def load_runs(self) -> dict[str, CachedRun]:
        """All entries by path, without those that cannot be read."""
        rows = self._do(lambda database: list(database.execute("SELECT * FROM entries"))) or []
        found = ((os.fsdecode(path), unpacked(CachedRun, entry)) for path, entry in rows)
        return {path: run for path, run in found if run is not None}

    def get(self, key: str) -> bytes | None:
        select = "SELECT entry FROM entries WHERE key = ?"
        found = self._do(lambda database: database.execute(select, (os.fsencode(key),)).fetchone())
        return None if found is None else bytes(found[0])

    def store(self, entries: Iterable[tuple[str, bytes]]) -> None:
        insert = "INSERT OR REPLACE INTO entries VALUES (?, ?)"
        rows = [(os.fsencode(key), entry) for key, entry in entries]
        self._do(lambda database: database.executemany(insert, rows))

    def forget(self, keys: Iterable[str]) -> None:
        delete = "DELETE FROM entries WHERE key = ?"
        rows = [(os.fsencode(key),) for key in keys]
        self._do(lambda database: database.executemany(delete, rows))

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Work on the database in one transaction; None where there is no database."""
        if self._file is None:
            return None
        try:
            with closing(sqlite3.connect(self._file, timeout=LOCK_TIMEOUT)) as database, database:
                database.execute(_TABLE)
                return work(database)
        except sqlite3.OperationalError:
            self._file = None  # locked for too long, read-only, or the disk is full
        except sqlite3.DatabaseError:
            self._file.unlink(missing_ok=True)
        return None


def cached_comparisons(
    leaderboards: Sequence[Leaderboard], named: Sequence[Pair | None], outs: Sequence[Path]
) -> tuple[tuple[Comparison, ...], ...]:
    """The comparisons on each leaderboard; computing them takes seconds."""
    sha = hashlib.sha256(package_hash().encode())
    sha.update(repr(named).encode())
    for leaderboard in leaderboards:
        sha.update(leaderboard.model_dump_json().encode())
    cache_file, key = ReportCache("comparisons"), "\n".join(map(str, outs))
    known = unpacked(CachedComparisons, cache_file.get(key))
    if known is None or known.fingerprint != sha.hexdigest():
        computed = tuple(
            tuple(all_comparisons(leaderboard, pair))
            for leaderboard, pair in zip(leaderboards, named, strict=True)
        )
        known = CachedComparisons(fingerprint=sha.hexdigest(), comparisons=computed)
        cache_file.store([(key, packed(known))])
    return known.comparisons
