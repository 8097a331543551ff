"""Take and restore snapshots of a workspace; the cost depends on what changed."""

import os
import time
from collections.abc import Collection
from pathlib import Path

from mlagentbench.errors import RunFailed
from mlagentbench.fs import disk_trouble, make_accessible
from mlagentbench.records import Record
from mlagentbench.runs.objects.inotify import DirectoryWatch, Happened, WatchImpossible
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.restore import Restore
from mlagentbench.runs.objects.workspace_scan import (
    CLOCK_TICK_NS,
    OPEN_DIRECTORY,
    KnownDirectory,
    Scan,
    watch_opens,
)


class Snapshot(Record):
    """A snapshot that was taken: its id, and what of the workspace is not in it."""

    id: str
    notes: tuple[str, ...] = ()


class Snapshots:
    """The snapshots of one workspace. `skip` names top-level entries that are not the agent's."""

    def __init__(
        self,
        store: ObjectStore,
        workspace: Path,
        skip: Collection[str] = (),
        owner: int | None = None,
    ) -> None:
        self.store = store
        self.workspace = workspace
        self.skip = frozenset(skip)
        self.owner = owner
        self._known = KnownDirectory()
        self._watch: DirectoryWatch | None = None
        self._watch_is_possible = True

    def take(self, quiet: bool = False) -> Snapshot:
        """Store what changed since the last snapshot; `store.commit()` makes it last.

        `quiet` says that every process that worked here since then has ended: then only the
        directories are looked at in which, as the kernel tells, something happened. The same holds
        for processes that were expected. Otherwise the status of every file is read, because a
        process that has mapped a file can write to it without the kernel telling.
        """
        happened = self._what_happened(quiet)
        known = quiet or (self._watch is not None and self._watch.opens)
        if quiet and happened is not None:
            happened.opened.clear()
        try:
            scan = self._scan(happened if known else None)
            if scan.partial and scan.found_shared:
                scan = self._scan(None)
        except WatchImpossible:
            self._watch_is_possible = False
            self._forget_watch()
            scan = self._scan(None)
        return Snapshot(id=self._known.digest, notes=scan.summary())

    def expect_processes(self) -> None:
        """Prepare for processes that will still run when snapshots are taken; now there are none.

        From now on the kernel tells which files they open, so that the others need no look.
        """
        self.take(quiet=True)
        if self._watch is None:
            return
        top = self._open_top()
        try:
            watch_opens(self._watch, top, self._known)
        except (OSError, WatchImpossible):
            self._forget_watch()
        finally:
            os.close(top)

    def _scan(self, happened: Happened | None) -> Scan:
        scan = Scan(self.store, self._known, self._watch, happened)
        top = self._open_top()
        try:
            self._known = scan.directory(top, self._known, skip=self.skip)
        finally:
            os.close(top)
        return scan

    def _open_top(self) -> int:
        """A descriptor of the workspace, which agents may have closed to everybody."""
        make_accessible(self.workspace)
        return os.open(self.workspace, OPEN_DIRECTORY)

    def _what_happened(self, quiet: bool) -> Happened | None:
        """What happened since the last walk; `None` when everywhere must be looked."""
        if self._watch is not None:
            happened = self._watch.happened()
            if happened is not None:
                return happened
            self._forget_watch()
        if quiet and self._watch_is_possible:
            try:
                self._watch = DirectoryWatch()
            except WatchImpossible:
                self._watch_is_possible = False
        return None

    def _forget_watch(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        self._known.unwatch()

    def close(self) -> None:
        """Stop the kernel's watch."""
        self._forget_watch()

    def restore(self, snapshot: str) -> None:
        """Make the workspace what it was: bytes, modes, links, and nothing else.

        ObjectLost when a part of the snapshot is missing or damaged: then the files that were to
        be replaced by that part are there still.
        """
        self._forget_watch()
        try:
            top = self._open_top()
            try:
                known, self._known = self._known, KnownDirectory()
                self._known = Restore(self.store, self.owner).run(top, snapshot, known, self.skip)
            finally:
                os.close(top)
        except OSError as error:
            reason = f"cannot restore {self.workspace}: {disk_trouble(error)}"
            raise RunFailed("harness", reason) from error
        # A change from now on can bear the same ctime as what was just written.
        self._known.read_again(changed_since=time.time_ns() - CLOCK_TICK_NS)
