"""Remove objects that no run below an OUT refers to any more, and prepared draws that no run has.

A run refers to objects only through its journal: to snapshots, and through their listings to
directories and files, and by every other hash in a line: long texts, whole outputs, prompts. The
hashes that chain the lines refer to no object. First all journals are read; an unreadable one stops
the collection before anything is removed. Then the objects without a reference are unlinked, one by
one, in any order. If the process is killed, the next collection finishes the work.

Runs may start meanwhile on other machines. The collection first takes the lease of `objects/`, then
looks whether any run is held, and refuses to work beside one. A run first takes its own lease, then
waits while that of `objects/` is held. So at least one of the two sees the other.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.fs import remove_tree
from mlagentbench.records import Record
from mlagentbench.runs.directory import RunDirectory
from mlagentbench.runs.hash_chain import find_journal_fault, payloads
from mlagentbench.runs.journal import (
    AnyLine,
    EndLine,
    OutcomeLine,
    RunLine,
    read_journal,
    read_lines,
)
from mlagentbench.runs.lease import FILE as LEASE
from mlagentbench.runs.lease import RunHeld, take_lease
from mlagentbench.runs.objects.object_store import ObjectLost, ObjectStore
from mlagentbench.runs.objects.snapshot_trees import read_tree, verify_snapshot
from mlagentbench.runs.resumption import BROKEN_OFF
from mlagentbench.tasks.data.unused_draws import remove_unused, unused_draws

JOURNAL = "journal.jsonl"
RUN_DIRECTORY = {JOURNAL, "run.json"}
"""A directory with one of these, or a lease, is a run; everything below it is the agent's."""
TRACES = ("grades.jsonl", "output.log")
"""What is written only after a journal's first line."""
OBJECTS, RUNS = "objects", "runs"
HASH = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
WORKSPACE = re.compile(r"(work|outputs)(-\d+)?")
SHARD = re.compile(r"[0-9a-f]{2}")
REST = re.compile(r"[0-9a-f]{62}")
KEPT_ALL = "nothing was removed, since this run may refer to anything"


class Amount(Record):
    """How many things, and the bytes that they take on the disk."""

    number: int = 0
    size: int = 0

    def and_one(self, size: int) -> "Amount":
        return Amount(number=self.number + 1, size=self.size + size)


class Freed(Record):
    """What was removed, or would be, and what stays of the objects."""

    dry_run: bool
    objects: Amount = Amount()
    """Objects that no run refers to."""
    leftovers: Amount = Amount()
    """Incomplete files of processes that are gone."""
    workspaces: Amount = Amount()
    """Directories of finished runs: their workspaces, and what was copied out for grading."""
    draws: Amount = Amount()
    """Prepared draws in the user data directory that no run has."""
    kept: Amount = Amount()
    kept_workspaces: tuple[str, ...] = ()
    """Why the workspace of a finished run stays, for each such run."""


def collect_objects(out: Path, *, dry_run: bool) -> Freed:
    """Remove objects that no run below OUT refers to; RunHeld names a run that is at work."""
    store = ObjectStore(out / OBJECTS)
    with take_lease(store.directory) as lease:
        for run in find_runs(out):
            _require_free(RunDirectory(out, run.relative_to(out)))
        referred = referred_objects(out)
        objects, leftovers, kept = Amount(), Amount(), Amount()
        for file in _files_in(store.directory / "new"):
            leftovers = _remove(file, leftovers, dry_run)
        for digest, file in _objects(store.directory):
            if digest in referred:
                kept = kept.and_one(_size(file))
            else:
                lease.require()
                objects = _remove(file, objects, dry_run)
    return Freed(dry_run=dry_run, objects=objects, leftovers=leftovers, kept=kept)


def _require_free(run: RunDirectory) -> None:
    """Raise RunHeld if a process works on a run; a silent one is fenced off from its journal."""
    if run.holder is not None:
        run.hold().release()


def referred_objects(out: Path) -> set[str]:
    """The hashes of all objects that the runs below OUT refer to.

    A UsageError names the journal or the listing that cannot be read.
    """
    store = ObjectStore(out / OBJECTS)
    referred: set[str] = set()
    listings: set[str] = set()
    for run in find_runs(out):
        try:
            lines, text = _read_whole(RunDirectory(out, run.relative_to(out)))
        except UsageError as error:
            raise UsageError(
                f"{error}; {KEPT_ALL}: copy its journal from a backup, or move "
                f"{run} out of {out} if you do not need it"
            ) from error
        referred.update(HASH.findall(text))
        try:
            _add_listings(store, snapshots_of(lines), listings, referred)
        except ObjectLost as lost:
            raise UsageError(
                f"{run}: {lost.detail}, or move the run out of {out} if you do not "
                f"need it; {KEPT_ALL}"
            ) from lost
    return referred | listings


def _read_whole(run: RunDirectory) -> tuple[list[AnyLine], str]:
    """A journal's lines and their text without the chain's own hashes.

    A UsageError when a line is damaged, altered or missing, or all are gone.
    """
    journal = run.journal
    text = b"\n".join(payloads(journal)).decode("utf-8", "replace")
    lines = read_lines(journal) if journal.exists() else []
    traces = (journal.parent / name for name in TRACES)
    if not lines and any(trace.exists() and trace.stat().st_size for trace in traces):
        raise UsageError(f"{journal}: the journal is lost: the run began, and there is no line")
    if (fault := find_journal_fault(journal, run.appended_files)) is not None:
        raise UsageError(f"{journal}, {fault}: the journal was altered")
    return lines, text


def snapshots_of(lines: Iterable[AnyLine]) -> Iterator[str]:
    """The snapshots that a journal's lines name."""
    for line in lines:
        if isinstance(line, RunLine | EndLine | OutcomeLine):
            yield line.snapshot


def _add_listings(
    store: ObjectStore, snapshots: Iterable[str], listings: set[str], files: set[str]
) -> None:
    """Add what snapshots consist of; listings that are known already are not read again."""
    ahead = list(dict.fromkeys(snapshots))
    while ahead:
        listing = ahead.pop()
        if listing in listings:
            continue
        listings.add(listing)
        for entry in read_tree(store, listing):
            if entry.kind == "directory":
                ahead.append(entry.value)
            elif entry.kind == "file":
                files.add(entry.value)


def find_runs(out: Path) -> Iterator[Path]:
    """The runs below an OUT: also those that were moved aside, and where links lead.

    What has objects of its own, as replays do, is another OUT.
    """
    seen: set[tuple[int, int]] = set()
    yield from _runs_below(out / RUNS, seen)
    for directory in sorted(out.iterdir()):
        if directory.is_dir() and directory.name not in (OBJECTS, RUNS):
            yield from _runs_below(directory, seen)


def _runs_below(directory: Path, seen: set[tuple[int, int]]) -> Iterator[Path]:
    """Each run once, whatever links lead in a circle."""
    status = directory.stat()
    place = (status.st_dev, status.st_ino)
    if place in seen:
        return
    seen.add(place)
    entries = {entry.name: entry for entry in os.scandir(directory)}
    if RUN_DIRECTORY & entries.keys() or any(map(LEASE.fullmatch, entries)):
        yield directory
    elif not {OBJECTS, RUNS} <= entries.keys():
        for name in sorted(entries):
            if entries[name].is_dir():
                yield from _runs_below(directory / name, seen)


def remove_workspaces(out: Path, freed: Freed) -> Freed:
    """Remove what finished runs below OUT left outside of the store, where the store has it."""
    store = ObjectStore(out / OBJECTS)
    removed, kept = freed.workspaces, []
    for directory in _runs_below(out / RUNS, set()):
        run = RunDirectory(out, directory.relative_to(out))
        try:
            with run.hold():
                for place in _superfluous(run, store):
                    removed = removed.and_one(_size_below(place))
                    if not freed.dry_run:
                        remove_tree(place)
        except RunHeld as held:
            kept.append(f"{run.work} stays: the run is being written by {held.by}")
        except ObjectLost as lost:
            kept.append(f"{run.work} stays: {lost.detail}")
    return freed.model_copy(update={"workspaces": removed, "kept_workspaces": tuple(kept)})


def remove_draws(out: Path, freed: Freed) -> Freed:
    """Remove prepared draws that no run has: none below OUT, and none that was noted elsewhere."""
    journals = (read_journal(run / JOURNAL) for run in find_runs(out))
    used = {journal.run.data_hash for journal in journals if journal.run is not None}
    removed = freed.draws
    for data in list(unused_draws(used)):
        size = _size_below(data.directory)
        if freed.dry_run or remove_unused(data):
            removed = removed.and_one(size)
    return freed.model_copy(update={"draws": removed})


def _superfluous(run: RunDirectory, store: ObjectStore) -> list[Path]:
    """What a finished run left outside of the store; ObjectLost when the store does not have it."""
    history = read_journal(run.journal)
    if history.outcome is None or history.outcome.kind in BROKEN_OFF:
        return []
    verify_snapshot(store, history.last_steps_snapshot)
    entries = sorted(run.path.iterdir())
    return [one for one in entries if WORKSPACE.fullmatch(one.name) and one.is_dir()]


def _objects(directory: Path) -> Iterator[tuple[str, Path]]:
    for shard in sorted(directory.iterdir()):
        if SHARD.fullmatch(shard.name):
            for file in _files_in(shard):
                if REST.fullmatch(file.name):
                    yield f"{shard.name}{file.name}", file


def _files_in(directory: Path) -> list[Path]:
    """What can be unlinked there; a directory in the store was not made by it, and stays."""
    entries = sorted(directory.iterdir()) if directory.is_dir() else []
    return [entry for entry in entries if entry.is_symlink() or not entry.is_dir()]


def _remove(file: Path, so_far: Amount, dry_run: bool) -> Amount:
    size = _size(file)
    if not dry_run:
        file.unlink()
    return so_far.and_one(size)


def _size(file: Path) -> int:
    return file.lstat().st_blocks * 512


def _size_below(directory: Path) -> int:
    """The bytes of all files below a directory; where it is closed to us, those that we can see."""
    return sum(
        (Path(top) / name).lstat().st_blocks * 512
        for top, _, names in os.walk(directory)
        for name in names
    )
