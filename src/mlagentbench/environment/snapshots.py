"""Taking and restoring snapshots of a workspace, at a cost that follows what changed."""

import os
import stat
import subprocess
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from mlagentbench.environment.object_store import ObjectStore
from mlagentbench.environment.sandbox.ownership import open_up
from mlagentbench.environment.scanning import (
    CLOCK_TICK_NS,
    MAX_DEPTH,
    OPEN_DIRECTORY,
    KnownDirectory,
    KnownFile,
    Scan,
    opened,
)
from mlagentbench.environment.snapshot_trees import Entry, copy_to, read_tree
from mlagentbench.environment.watching import Watch, WatchImpossible
from mlagentbench.records import Record

SET_ID = stat.S_ISUID | stat.S_ISGID
"""Never restored: we may be another user than the one whose file it was."""


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
        self._watch: Watch | None = None
        self._watch_is_possible = True

    def take(self, quiet: bool = False) -> Snapshot:
        """Store what changed since the last snapshot; `store.commit()` makes it last.

        `quiet` says that every process that worked here since then has ended: then only the
        directories are looked at in which, as the kernel tells, something happened.
        """
        changed = self._changed_directories(quiet)
        try:
            scan = self._scan(changed if quiet else None)
            if scan.partial and scan.found_shared:
                scan = self._scan(None)
        except WatchImpossible:
            self._watch_is_possible = False
            self._forget_watch()
            scan = self._scan(None)
        return Snapshot(id=self._known.digest, notes=scan.summary())

    def _scan(self, changed: Collection[int] | None) -> Scan:
        scan = Scan(self.store, self._known, self._watch, changed)
        top = self._open_top()
        try:
            self._known = scan.directory(top, self._known, skip=self.skip)
        finally:
            os.close(top)
        return scan

    def _open_top(self) -> int:
        """A descriptor of the workspace, which agents may have closed to everybody."""
        open_up(self.workspace)
        return os.open(self.workspace, OPEN_DIRECTORY)

    def _changed_directories(self, quiet: bool) -> set[int] | None:
        """Where something happened since the last walk; `None` when everywhere must be looked."""
        if self._watch is not None:
            changed = self._watch.changed()
            if changed is not None:
                return changed
            self._forget_watch()
        if quiet and self._watch_is_possible:
            try:
                self._watch = Watch()
            except WatchImpossible:
                self._watch_is_possible = False
        return None

    def _forget_watch(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        self._known.unwatch()

    def close(self) -> None:
        """Let the kernel's watch go."""
        self._forget_watch()

    def restore(self, snapshot: str) -> None:
        """Make the workspace what it was: bytes, modes, links, and nothing else."""
        self._forget_watch()
        top = self._open_top()
        try:
            self._known = self._restore(top, snapshot, self._known, self.skip)
        finally:
            os.close(top)
        # A change from now on bears another ctime than what was just written.
        time.sleep(CLOCK_TICK_NS / 1e9)

    def _restore(
        self, here: int, digest: str, known: KnownDirectory, skip: Collection[str]
    ) -> KnownDirectory:
        wanted = {entry.name: entry for entry in read_tree(self.store, digest)}
        result = KnownDirectory()
        result.digest = digest
        present = {name for name in os.listdir(here) if name not in skip}
        for name in present - wanted.keys():
            _remove(here, name)
        for name, entry in wanted.items():
            if entry.kind == "directory":
                result.folder_lines[name] = entry.line()
                old = known.directories.get(name) or KnownDirectory()
                result.directories[name] = self._restore_directory(here, entry, old)
            elif name in present and _is_unchanged(here, known.files.get(name), entry):
                result.files[name] = known.files[name]
            else:
                result.files[name] = self._restore_file(here, entry, name in present)
        return result

    def _restore_directory(self, here: int, entry: Entry, known: KnownDirectory) -> KnownDirectory:
        if not _is_directory(here, entry.name):
            _remove(here, entry.name)
            os.mkdir(entry.name, 0o700, dir_fd=here)
        with opened(here, entry.name, OPEN_DIRECTORY) as (inside, _):
            os.fchmod(inside, 0o700)
            result = self._restore(inside, entry.value, known, ())
            if self.owner is not None:
                os.fchown(inside, self.owner, self.owner)
        os.chmod(entry.name, entry.mode, dir_fd=here)
        return result

    def _restore_file(self, here: int, entry: Entry, present: bool) -> KnownFile:
        if present:
            _remove(here, entry.name)
        if entry.kind == "link":
            os.symlink(entry.value, entry.name, dir_fd=here)
            if self.owner is not None:
                os.chown(entry.name, self.owner, self.owner, dir_fd=here, follow_symlinks=False)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(entry.name, flags, 0o600, dir_fd=here)
            try:
                copy_to(self.store, entry.value, handle)
                if self.owner is not None:
                    os.fchown(handle, self.owner, self.owner)
                os.fchmod(handle, entry.mode & ~SET_ID)
            finally:
                os.close(handle)
        status = os.stat(entry.name, dir_fd=here, follow_symlinks=False)
        return KnownFile(status, entry, clean=True)


def _is_directory(here: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _is_unchanged(here: int, known: KnownFile | None, entry: Entry) -> bool:
    if known is None or known.entry != entry:
        return False
    return known.is_still(os.stat(entry.name, dir_fd=here, follow_symlinks=False))


def _remove(here: int, name: str, depth: int = 0) -> None:
    """Remove whatever has this name, without following links."""
    if not _is_directory(here, name):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=here)
        return
    with opened(here, name, OPEN_DIRECTORY) as (inside, _):
        os.fchmod(inside, 0o700)
        if depth < MAX_DEPTH:
            for child in os.listdir(inside):  # noqa: PTH208
                _remove(inside, child, depth + 1)
        else:
            _remove_deep(inside)
    os.rmdir(name, dir_fd=here)


def _remove_deep(here: int) -> None:
    """Empty a directory of any depth; rm needs neither a descriptor nor a frame per level."""
    subprocess.run(
        ["find", ".", "-mindepth", "1", "-delete"],
        cwd=f"/proc/self/fd/{here}",
        pass_fds=[here],
        check=True,
        capture_output=True,
    )
