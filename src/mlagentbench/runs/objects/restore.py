"""Restore a workspace from a snapshot: copy its objects, and verify each of them.

A file is replaced only when its new version is complete, so a damaged store never destroys files of
a workspace. Large files are copied by several threads, because hashing takes longest.
"""

import os
import stat
import subprocess
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, read_tree
from mlagentbench.runs.objects.workspace_scan import (
    MAX_DEPTH,
    OPEN_DIRECTORY,
    KnownDirectory,
    KnownFile,
    opened,
)

SET_ID = stat.S_ISUID | stat.S_ISGID
"""Never restored: we may be another user than the one whose file it was."""
LARGE = 1 << 16
"""Smaller files cost less than handing them to a thread."""
NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Restore:
    """One restoring of a workspace, whose files will belong to `owner` if one is given."""

    def __init__(self, store: ObjectStore, owner: int | None) -> None:
        self._store = store
        self._owner = owner

    def run(
        self, top: int, snapshot: str, known: KnownDirectory, skip: Collection[str]
    ) -> KnownDirectory:
        """Restore a snapshot below the descriptor of its top directory."""
        with ThreadPoolExecutor(len(os.sched_getaffinity(0)) + 1) as self._copiers:
            return self._directory(top, snapshot, known, "", skip)

    def _directory(
        self, here: int, digest: str, known: KnownDirectory, path: str, skip: Collection[str] = ()
    ) -> KnownDirectory:
        wanted = {entry.name: entry for entry in read_tree(self._store, digest)}
        result = KnownDirectory()
        result.digest = digest
        present = {name for name in os.listdir(here) if name not in skip}
        copies = _Copies(here)
        try:
            for name, entry in wanted.items():
                if entry.kind == "directory":
                    result.folder_lines[name] = entry.line()
                    old = known.directories.get(name) or KnownDirectory()
                    result.directories[name] = self._subdirectory(here, entry, old, path)
                elif name in present and _is_unchanged(here, known.files.get(name), entry):
                    result.files[name] = known.files[name]
                elif entry.kind == "link":
                    result.files[name] = self._link(here, entry)
                else:
                    beside = _free_name(here) if name in present else name
                    self._file(here, entry, beside, path, copies)
        finally:
            result.files |= copies.settle()
        for name in present - wanted.keys():
            remove(here, name)
        return result

    def _subdirectory(
        self, here: int, entry: Entry, known: KnownDirectory, path: str
    ) -> KnownDirectory:
        if not _is_directory(here, entry.name):
            remove(here, entry.name)
            os.mkdir(entry.name, 0o700, dir_fd=here)
        with opened(here, entry.name, OPEN_DIRECTORY) as (inside, _):
            os.fchmod(inside, 0o700)
            result = self._directory(inside, entry.value, known, f"{path}{entry.name}/")
            if self._owner is not None:
                os.fchown(inside, self._owner, self._owner)
        os.chmod(entry.name, entry.mode, dir_fd=here)
        return result

    def _link(self, here: int, entry: Entry) -> KnownFile:
        remove(here, entry.name)
        os.symlink(entry.value, entry.name, dir_fd=here)
        if self._owner is not None:
            os.chown(entry.name, self._owner, self._owner, dir_fd=here, follow_symlinks=False)
        return _known(here, entry)

    def _file(self, here: int, entry: Entry, name: str, path: str, copies: "_Copies") -> None:
        """Write a file under a name that is free."""
        shown = f"{path}{entry.name}"
        large = self._store.size(entry.value, shown) >= LARGE
        if large:
            copy = self._copiers.submit(self._write, here, name, entry, shown)
            copies.add(entry, name, copy)
            return
        try:
            self._write(here, name, entry, shown)
        except BaseException:
            remove(here, name)
            raise
        copies.add(entry, name)

    def _write(self, here: int, name: str, entry: Entry, shown: str) -> None:
        """Make a file with its bytes, owner and mode."""
        handle = os.open(name, NEW_FILE, 0o600, dir_fd=here)
        try:
            self._store.copy_to(entry.value, handle, shown)
            if self._owner is not None:
                os.fchown(handle, self._owner, self._owner)
            os.fchmod(handle, entry.mode & ~SET_ID)
        finally:
            os.close(handle)


class _Copies:
    """The files of one directory that are being written, beside those that they will replace."""

    def __init__(self, here: int) -> None:
        self._here = here
        self._begun: list[tuple[Entry, str, Future[None] | None]] = []

    def add(self, entry: Entry, name: str, copy: "Future[None] | None" = None) -> None:
        """A file that has this name for now; `copy` writes it still."""
        self._begun.append((entry, name, copy))

    def settle(self) -> dict[str, KnownFile]:
        """Wait for all, give each its name and remove what failed; raises the first failure."""
        failures = []
        for entry, name, copy in self._begun:
            failure = None if copy is None else copy.exception()
            if failure is not None:
                remove(self._here, name)
                failures.append(failure)
            elif name != entry.name:
                remove(self._here, entry.name)
                os.rename(name, entry.name, src_dir_fd=self._here, dst_dir_fd=self._here)
        if failures:
            raise failures[0]
        return {entry.name: _known(self._here, entry) for entry, _, _ in self._begun}


def _known(here: int, entry: Entry) -> KnownFile:
    return KnownFile(os.stat(entry.name, dir_fd=here, follow_symlinks=False), entry, clean=True)


def _free_name(here: int) -> str:
    """A name that nothing has."""
    while True:
        name = f".restoring-{os.urandom(8).hex()}"
        try:
            os.stat(name, dir_fd=here, follow_symlinks=False)
        except FileNotFoundError:
            return name


def _is_directory(here: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _is_unchanged(here: int, known: KnownFile | None, entry: Entry) -> bool:
    if known is None or known.entry != entry:
        return False
    return known.is_still(os.stat(entry.name, dir_fd=here, follow_symlinks=False))


def remove(here: int, name: str, depth: int = 0) -> None:
    """Remove whatever has this name, without following links."""
    if not _is_directory(here, name):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=here)
        return
    with opened(here, name, OPEN_DIRECTORY) as (inside, _):
        os.fchmod(inside, 0o700)
        if depth < MAX_DEPTH:
            for child in os.listdir(inside):  # noqa: PTH208
                remove(inside, child, depth + 1)
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
