"""Taking and restoring snapshots of a workspace, at a cost that follows what changed.

The walk compares each file's inode, size and ctime, which no process can set, with what they were
last time; only files that differ are read. A file that changed so shortly before it was read that a
second change could bear the same ctime is read again next time. Directories are entered by
descriptor and links are never followed, since processes in the workspace may still be at work.
"""

import errno
import os
import stat
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mlagentbench.environment.object_store import ObjectStore
from mlagentbench.environment.snapshot_trees import Entry, copy_to, put_tree, read_tree
from mlagentbench.records import Record

CLOCK_TICK_NS = 20_000_000
"""More than the coarsest clock that file systems take their times from."""
MAX_DEPTH = 100
"""Directories nested deeper are left out, and noted: they come from mistakes or attacks."""
MAX_NOTES = 20
OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Snapshot(Record):
    """A snapshot that was taken: its id, and what of the workspace is not in it."""

    id: str
    notes: tuple[str, ...] = ()


class _Known:
    """A file or link as it was when it was last read."""

    __slots__ = ("clean", "ctime", "entry", "inode", "line", "size")

    def __init__(self, status: os.stat_result, entry: Entry, clean: bool) -> None:
        self.inode = status.st_ino
        self.size = status.st_size
        self.ctime = status.st_ctime_ns
        self.entry = entry
        self.line = entry.line()
        self.clean = clean

    def is_still(self, status: os.stat_result) -> bool:
        return (
            self.clean
            and self.ctime == status.st_ctime_ns
            and self.inode == status.st_ino
            and self.size == status.st_size
        )


class _Directory:
    """What is known of a directory: files and links, subdirectories, and its listing's hash."""

    __slots__ = ("digest", "directories", "files", "folder_lines")

    def __init__(self) -> None:
        self.files: dict[str, _Known] = {}
        self.directories: dict[str, _Directory] = {}
        self.folder_lines: dict[str, str] = {}
        self.digest = ""


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
        self._known = _Directory()

    def take(self) -> Snapshot:
        """Store what changed since the last snapshot; `store.commit()` makes it last."""
        scan = _Scan(self.store)
        top = os.open(self.workspace, OPEN_DIRECTORY)
        try:
            self._known = scan.directory(top, self._known, skip=self.skip)
        finally:
            os.close(top)
        return Snapshot(id=self._known.digest, notes=scan.summary())

    def restore(self, snapshot: str) -> None:
        """Make the workspace what it was: bytes, modes, links, and nothing else."""
        top = os.open(self.workspace, OPEN_DIRECTORY)
        try:
            self._known = self._restore(top, snapshot, self._known, self.skip)
        finally:
            os.close(top)
        # A change from now on bears another ctime than what was just written.
        time.sleep(CLOCK_TICK_NS / 1e9)

    def _restore(
        self, here: int, digest: str, known: _Directory, skip: Collection[str]
    ) -> _Directory:
        wanted = {entry.name: entry for entry in read_tree(self.store, digest)}
        result = _Directory()
        result.digest = digest
        present = {name for name in os.listdir(here) if name not in skip}
        for name in present - wanted.keys():
            _remove(here, name)
        for name, entry in wanted.items():
            if entry.kind == "directory":
                result.folder_lines[name] = entry.line()
                old = known.directories.get(name) or _Directory()
                result.directories[name] = self._restore_directory(here, entry, old)
            elif name in present and _is_unchanged(here, known.files.get(name), entry):
                result.files[name] = known.files[name]
            else:
                result.files[name] = self._restore_file(here, entry, name in present)
        return result

    def _restore_directory(self, here: int, entry: Entry, known: _Directory) -> _Directory:
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

    def _restore_file(self, here: int, entry: Entry, present: bool) -> _Known:
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
                os.fchmod(handle, entry.mode)
            finally:
                os.close(handle)
        status = os.stat(entry.name, dir_fd=here, follow_symlinks=False)
        return _Known(status, entry, clean=True)


class _Scan:
    """One walk over the workspace."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self.clean_before = time.time_ns() - CLOCK_TICK_NS
        self.notes: list[str] = []

    def summary(self) -> tuple[str, ...]:
        if len(self.notes) <= MAX_NOTES:
            return tuple(self.notes)
        return (*self.notes[:MAX_NOTES], f"and {len(self.notes) - MAX_NOTES} more")

    def directory(
        self, here: int, known: _Directory, path: str = "", skip: Collection[str] = ()
    ) -> _Directory:
        """What is in a directory now; `known` itself when nothing in it changed."""
        files, folders = self.files(here, known.files, path, skip)
        directories = {}
        lines = {}
        for name in folders:
            old = known.directories.get(name) or _Directory()
            child = self.subdirectory(here, name, old, f"{path}{name}/")
            if child is not None:
                directories[name], lines[name] = child
        same = (
            known.digest
            and lines == known.folder_lines
            and files.keys() == known.files.keys()
            and all(files[name].line == old.line for name, old in known.files.items())
        )
        found = known if same else _Directory()
        found.files, found.directories, found.folder_lines = files, directories, lines
        if not same:
            lines = lines | {name: file.line for name, file in files.items()}
            found.digest = put_tree(self.store, [lines[name] for name in sorted(lines)])
        return found

    def files(
        self, here: int, known: dict[str, _Known], path: str, skip: Collection[str]
    ) -> tuple[dict[str, _Known], list[str]]:
        """The files and links in a directory, and the names of its subdirectories."""
        files = {}
        folders = []
        with os.scandir(here) as items:
            for item in items:
                name = item.name
                if name in skip:
                    continue
                if item.is_dir(follow_symlinks=False):
                    folders.append(name)
                    continue
                old = known.get(name)
                try:
                    if old is None or not old.is_still(item.stat(follow_symlinks=False)):
                        old = self.read(here, name, path)
                except FileNotFoundError:
                    continue
                if old is not None:
                    files[name] = old
        return files, folders

    def subdirectory(
        self, here: int, name: str, known: _Directory, path: str
    ) -> tuple[_Directory, str] | None:
        if path.count("/") > MAX_DEPTH:
            self.notes.append(f"{path[:80]}...: nested deeper than {MAX_DEPTH} directories")
            return None
        try:
            with opened(here, name, OPEN_DIRECTORY) as (inside, mode):
                found = self.directory(inside, known, path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.notes.append(f"{path}: {error.strerror}")
            return None
        return found, Entry(name, "directory", mode, found.digest).line()

    def read(self, here: int, name: str, path: str) -> _Known | None:
        """Read a file or link that is new or changed; `None` when it is special."""
        status = os.stat(name, dir_fd=here, follow_symlinks=False)
        clean = status.st_ctime_ns < self.clean_before
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(name, dir_fd=here)
            return _Known(status, Entry(name, "link", 0o777, target), clean)
        if not stat.S_ISREG(status.st_mode):
            self.notes.append(f"{path}{name}: {_kind_of(status.st_mode)}")
            return None
        try:
            with opened(here, name, OPEN_FILE) as (file, mode):
                status = os.fstat(file)
                digest = self.store.put_file(file, status.st_size)
        except PermissionError as error:
            self.notes.append(f"{path}{name}: {error.strerror}")
            return None
        clean = status.st_ctime_ns < self.clean_before
        return _Known(status, Entry(name, "file", mode, digest), clean)


@contextmanager
def opened(here: int, name: str, flags: int) -> Iterator[tuple[int, int]]:
    """A descriptor and the mode of a file or directory, which is opened up while it is read.

    An owner may forbid itself to read; the mode is changed through a descriptor of the very file,
    since its name could be pointed elsewhere in between.
    """
    try:
        handle = os.open(name, flags, dir_fd=here)
    except PermissionError:
        handle = -1
    if handle >= 0:
        try:
            yield handle, stat.S_IMODE(os.fstat(handle).st_mode)
        finally:
            os.close(handle)
        return
    pinned = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    try:
        status = os.fstat(pinned)
        if stat.S_ISLNK(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
        mode = stat.S_IMODE(status.st_mode)
        itself = Path(f"/proc/self/fd/{pinned}")
        itself.chmod(mode | stat.S_IRWXU)
        try:
            handle = os.open(itself, flags & ~os.O_NOFOLLOW)
            try:
                yield handle, mode
            finally:
                os.close(handle)
        finally:
            itself.chmod(mode)
    finally:
        os.close(pinned)


def _is_directory(here: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _is_unchanged(here: int, known: _Known | None, entry: Entry) -> bool:
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


def _kind_of(mode: int) -> str:
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a named pipe" if stat.S_ISFIFO(mode) else "a device"
