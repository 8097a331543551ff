"""Which prepared draws are in use, so that `runs gc` can remove the others.

HOME/data/TASK/vN/TIER/HASH/users/    one file for each run on these data: where the run is

A draw is unused if none of its runs exists any more, and if nothing has asked for it for a day: a
process that has just found it may be about to begin a run. The public draw, the secret draws and
the full tier always stay. Any other draw can be generated again from its name.
"""

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

from mlagentbench.fs import write_atomically
from mlagentbench.home import home, locked
from mlagentbench.tasks.data.preparation import USERS, PreparedData, data_lock, prepared_in
from mlagentbench.tasks.draws import is_fresh, is_public, is_secret

UNUSED_AFTER = 24 * 3600.0
RECORD = "run.json"


def note_user(data: PreparedData, run: Path) -> None:
    """Note that a run has these data, if they could ever be removed."""
    if _is_removable(data):
        users = data.directory / USERS
        users.mkdir(exist_ok=True)
        path = str(run.absolute())
        write_atomically(users / hashlib.sha256(path.encode()).hexdigest()[:32], path.encode())


def unused_draws(used: set[str]) -> Iterator[PreparedData]:
    """The draws that no run has; `used` has the data hashes of runs that are known to exist."""
    for place in _places():
        for data in prepared_in(place):
            if data.hash not in used and _is_unused(data):
                yield data


def remove_unused(data: PreparedData) -> bool:
    """Remove a draw; not if it has come into use meanwhile."""
    place = data.directory.parent
    version, task_id = place.parent.name, place.parent.parent.name
    with locked(data_lock(task_id, int(version.removeprefix("v")), data.tier)):
        if not _is_unused(data):
            return False
        gone = place / f".tmp-unused-{data.directory.name}"
        data.directory.rename(gone)
        rmtree(gone, ignore_errors=True)
    return True


def _places() -> Iterator[Path]:
    yield from sorted((home() / "data").glob("*/v*/*"))


def _is_removable(data: PreparedData) -> bool:
    if data.tier == "full" or is_public(data.draw):
        return False
    return is_fresh(data.draw) or not is_secret(data.draw)


def _is_unused(data: PreparedData) -> bool:
    if not _is_removable(data) or not data.directory.is_dir():
        return False
    if time.time() - data.directory.stat().st_mtime < UNUSED_AFTER:
        return False
    users = data.directory / USERS
    marks = users.iterdir() if users.is_dir() else []
    return not any(
        (Path(mark.read_text(encoding="utf-8")) / RECORD).is_file()
        for mark in marks
        if not mark.name.startswith(".")
    )
