"""Small things kept between two reports, in SQLite files of the home.

They are never needed: a damaged file is thrown away, one that cannot be written is done without.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from mlagentbench.errors import UsageError
from mlagentbench.home import report_cache_dir

PATIENCE = 10.0
"""Seconds to wait for another report that is writing."""
PACKAGE = Path(__file__).parents[1]
HASHED = {".py", ".toml", ".json", ".csv", ".md", ".html", ".css", ".js"}
T = TypeVar("T")
_TABLE = "CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, entry BLOB NOT NULL)"


@cache
def package_hash() -> str:
    """A hash that changes whenever anything does that reads, analyses or shows runs."""
    sha = hashlib.sha256(version("mlagentbench").encode())
    for file in sorted(PACKAGE.rglob("*")):
        if file.suffix in HASHED:
            sha.update(file.relative_to(PACKAGE).as_posix().encode() + file.read_bytes())
    return sha.hexdigest()


class KeptEntries:
    """Bytes by their keys; where there is no place for them it is empty, and keeps nothing."""

    def __init__(self, name: str) -> None:
        digest = hashlib.sha256(name.encode()).hexdigest()[:32]
        try:
            self._file: Path | None = report_cache_dir() / f"{digest}.v1.sqlite"
        except UsageError:
            self._file = None

    def load(self) -> list[tuple[str, bytes]]:
        return self._do(lambda database: list(database.execute("SELECT * FROM entries"))) or []

    def get(self, key: str) -> bytes | None:
        select = "SELECT entry FROM entries WHERE key = ?"
        found = self._do(lambda database: database.execute(select, (key,)).fetchone())
        return None if found is None else bytes(found[0])

    def store(self, entries: Iterable[tuple[str, bytes]]) -> None:
        insert = "INSERT OR REPLACE INTO entries VALUES (?, ?)"
        self._do(lambda database: database.executemany(insert, entries))

    def forget(self, keys: Iterable[str]) -> None:
        delete = "DELETE FROM entries WHERE key = ?"
        self._do(lambda database: database.executemany(delete, ((key,) for key in keys)))

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
