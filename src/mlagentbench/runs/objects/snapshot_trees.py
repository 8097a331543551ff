"""What a snapshot is: one object per directory, named by its hash, listing what is in it.

A snapshot's id is the hash of its top directory's listing. Directories that did not change keep
their listing, so two snapshots share everything that they have in common. A listing has one JSON
array per line, `[name, kind, mode, value]`, sorted by name; value is the hash of a file's bytes or
of a directory's listing, or the target of a link.
"""

import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple, get_args

from mlagentbench.errors import MLAgentBenchError, RunFailed
from mlagentbench.fs import disk_trouble
from mlagentbench.runs.objects.object_store import ObjectLost, ObjectStore, hash_file

Kind = Literal["file", "directory", "link"]
LISTING = "the listing of a directory in a snapshot"
NO_LISTING = "is damaged: it is not a listing"
_AS_JSON = json.JSONEncoder(separators=(",", ":")).encode


class NotCollected(MLAgentBenchError):
    """Files of a snapshot cannot be handed over; the text is a reason for people and agents."""


class Entry(NamedTuple):
    """One thing in a directory."""

    name: str
    kind: Kind
    mode: int
    value: str

    def line(self) -> str:
        return _AS_JSON(self)


class PathChange(NamedTuple):
    """A path whose entry differs between two snapshots; `None` where it is not there."""

    path: str
    before: Entry | None
    after: Entry | None


def put_tree(store: ObjectStore, lines: Iterable[str]) -> str:
    """Store a listing from its entries' lines, already sorted by name."""
    return store.put("".join(f"{line}\n" for line in lines).encode())


def store_directory(store: ObjectStore, directory: Path) -> str:
    """Store a directory that no process is changing, and return its snapshot's id."""
    lines = []
    for path in sorted(directory.iterdir()):
        status = path.lstat()
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            entry = Entry(path.name, "directory", mode, store_directory(store, path))
        elif stat.S_ISLNK(status.st_mode):
            entry = Entry(path.name, "link", mode, str(path.readlink()))
        elif stat.S_ISREG(status.st_mode):
            entry = Entry(path.name, "file", mode, _stored_file(store, path, status.st_size))
        else:
            continue
        lines.append(entry.line())
    return put_tree(store, lines)


def _stored_file(store: ObjectStore, path: Path, size: int) -> str:
    """Most files of one step are those of the step before: known contents are only read."""
    with path.open("rb") as file:
        digest = hash_file(file.fileno())
        if store.has(digest):
            return digest
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        return store.put_file(file.fileno(), size)


def read_tree(store: ObjectStore, digest: str) -> list[Entry]:
    """The entries of a directory."""
    listing = store.read(digest, LISTING)
    try:
        entries = [Entry(*json.loads(line)) for line in listing.splitlines()]
        if all(map(_is_entry, entries)):
            return entries
    except (ValueError, TypeError, RecursionError) as error:
        raise ObjectLost(store.path(digest), NO_LISTING, LISTING) from error
    raise ObjectLost(store.path(digest), NO_LISTING, LISTING)


def _is_entry(entry: Entry) -> bool:
    """Whether it is one: a name that leads elsewhere is no name."""
    name = entry.name
    return (
        isinstance(name, str)
        and isinstance(entry.value, str)
        and isinstance(entry.mode, int)
        and entry.kind in get_args(Kind)
        and name not in ("", ".", "..")
        and "/" not in name
        and "\0" not in name
    )


def entry_at(store: ObjectStore, snapshot: str, path: str) -> Entry | None:
    """The entry at a path relative to the top, without following links."""
    found = Entry("", "directory", 0o755, snapshot)
    for part in PurePosixPath(path).parts:
        if found.kind != "directory":
            return None
        inside = {entry.name: entry for entry in read_tree(store, found.value)}
        if part not in inside:
            return None
        found = inside[part]
    return found


def walk(store: ObjectStore, snapshot: str, below: str = "") -> Iterator[tuple[str, Entry]]:
    """Every path in a snapshot with its entry, directories before what is in them."""
    ahead = [(below, entry) for entry in reversed(read_tree(store, snapshot))]
    while ahead:
        above, entry = ahead.pop()
        path = f"{above}{entry.name}"
        yield path, entry
        if entry.kind == "directory":
            ahead += ((f"{path}/", one) for one in reversed(read_tree(store, entry.value)))


def verify_snapshot(store: ObjectStore, snapshot: str | None) -> None:
    """Raise ObjectLost unless all of a snapshot is there; of no snapshot, nothing is missing."""
    for path, entry in walk(store, snapshot) if snapshot else ():
        if entry.kind == "file":
            store.verify(entry.value, path)


def changes(store: ObjectStore, before: str, after: str) -> Iterator[PathChange]:
    """What differs between two snapshots; reads only the directories that differ."""
    ahead = _differing(store, before, after, "")
    while ahead:
        change = ahead.pop()
        was_tree, now_tree = _tree_of(change.before), _tree_of(change.after)
        modes = {entry.mode for entry in (change.before, change.after) if entry is not None}
        if not (was_tree and now_tree) or len(modes) == 2:
            yield change
        ahead += _differing(store, was_tree, now_tree, f"{change.path}/")


def _differing(store: ObjectStore, before: str, after: str, below: str) -> list[PathChange]:
    """The entries that differ between two directories, the last one first."""
    if before == after:
        return []
    old = {entry.name: entry for entry in read_tree(store, before)} if before else {}
    new = {entry.name: entry for entry in read_tree(store, after)} if after else {}
    names = sorted(old.keys() | new.keys(), reverse=True)
    found = (PathChange(f"{below}{name}", old.get(name), new.get(name)) for name in names)
    return [change for change in found if change.before != change.after]


def _tree_of(entry: Entry | None) -> str:
    return entry.value if entry is not None and entry.kind == "directory" else ""


def materialise(
    store: ObjectStore,
    snapshot: str,
    directory: Path,
    paths: Sequence[str],
    max_bytes: float | None = None,
) -> None:
    """Copy files and directories of a snapshot out, under their own paths, regular files only.

    Raises NotCollected, with the reason, when a path is missing, holds a link, or all together
    are larger than `max_bytes`; nothing is written then. RunFailed when what is to be copied is
    lost, or does not fit.
    """
    chosen: list[tuple[str, Entry]] = []
    for path in paths:
        found = entry_at(store, snapshot, path)
        if found is None:
            raise NotCollected(f"{path} not found")
        chosen.append((path, found))
        if found.kind == "directory":
            chosen.extend(walk(store, found.value, f"{path}/"))
    total = 0
    for path, entry in chosen:
        if entry.kind == "link":
            raise NotCollected(f"{path} is a symbolic link; only regular files are collected")
        if entry.kind == "file":
            total += store.size(entry.value, path)
    if max_bytes is not None and total > max_bytes:
        raise NotCollected(
            f"{', '.join(paths)}: {total:,} bytes, more than the {max_bytes:,.0f} allowed"
        )
    try:
        for path, entry in chosen:
            target = directory / path
            if entry.kind == "directory":
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                _copy_object(store, entry.value, target, path)
    except OSError as error:
        reason = f"cannot write {directory}: {disk_trouble(error)}"
        raise RunFailed("harness", reason) from error


def _copy_object(store: ObjectStore, digest: str, target: Path, path: str) -> None:
    handle = os.open(target, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
    try:
        store.copy_to(digest, handle, path)
    except BaseException:
        target.unlink()
        raise
    finally:
        os.close(handle)
