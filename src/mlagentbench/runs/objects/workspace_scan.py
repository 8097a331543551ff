"""The contents of a workspace, kept in memory, and the walk that updates them.

The walk compares each file's inode, size and ctime, which no process can set, with their last
values; only files that differ are read. Two kinds of files are read again next time: files that
changed so shortly before they were read that a second change could have the same ctime, and files
that are open for writing, because writes to mapped memory need not change the ctime again.
Directories are opened by descriptor and links are never followed, since processes in the workspace
may still be running.
"""

import errno
import fcntl
import os
import signal
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from mlagentbench.runs.objects.inotify import DirectoryWatch, Happened, WatchImpossible
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, put_tree

CLOCK_TICK_NS = 20_000_000
"""More than the coarsest clock that file systems take their times from."""
MAX_DEPTH = 100
"""Directories nested deeper are left out, and noted: they come from mistakes or attacks."""
MAX_NOTES = 20
KEPT_FROM_US = {
    errno.EACCES,
    errno.EPERM,
    errno.EAGAIN,
    errno.EINVAL,
    errno.ELOOP,
    errno.ENXIO,
}
"""Modes, leases, and names that turn into something else while we look."""
OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class KnownFile:
    """A file or link as it was when it was last read."""

    __slots__ = ("clean", "ctime", "entry", "inode", "line", "shared", "size")

    def __init__(self, status: os.stat_result, entry: Entry, clean: bool) -> None:
        self.inode = status.st_ino
        self.size = status.st_size
        self.ctime = status.st_ctime_ns
        self.entry = entry
        self.line = entry.line()
        self.clean = clean
        self.shared = status.st_nlink > 1
        """Whether it has other names, through which it can change unseen here."""

    def is_still(self, status: os.stat_result) -> bool:
        return (
            self.clean
            and self.ctime == status.st_ctime_ns
            and self.inode == status.st_ino
            and self.size == status.st_size
        )


class KnownDirectory:
    """What is known of a directory: files and links, subdirectories, and its listing's hash."""

    __slots__ = ("digest", "directories", "files", "folder_lines", "settled", "watch")

    def __init__(self) -> None:
        self.files: dict[str, KnownFile] = {}
        self.directories: dict[str, Self] = {}
        self.folder_lines: dict[str, str] = {}
        self.digest = ""
        self.watch = -1
        """The number of the watch on it, if there is one."""
        self.settled = False
        """Whether a watch would tell of everything that changes directly in it."""

    def read_again(self, changed_since: int) -> None:
        """Let the next walk read what changed since then, in nanoseconds of the clock."""
        for file in self.files.values():
            file.clean = file.clean and file.ctime < changed_since
        for child in self.directories.values():
            child.read_again(changed_since)

    def unwatch(self) -> None:
        """Forget the watches on it and below."""
        self.watch = -1
        for child in self.directories.values():
            child.unwatch()


class Scan:
    """One walk over the workspace.

    With a watch, every directory on the way is watched from before it is read. With what `happened`
    there, the walk goes only where it must. A file that was opened, and that a process can still
    write to, is read again even if it looks unchanged.
    """

    def __init__(
        self,
        store: ObjectStore,
        top: KnownDirectory,
        watch: DirectoryWatch | None = None,
        happened: Happened | None = None,
    ) -> None:
        self.store = store
        self.watch = watch
        self.clean_before = time.time_ns() - CLOCK_TICK_NS
        self.notes: list[str] = []
        self.found_shared = False
        """Whether files with several names were seen; a watch on one name misses the others."""
        self.must_see: set[int] | None = None
        self.opened = {} if happened is None else happened.opened
        if happened is not None:
            self.must_see = set()
            self._find_what_must_be_seen(top, happened.changed | happened.opened.keys())

    def _find_what_must_be_seen(self, known: KnownDirectory, changed: Collection[int]) -> bool:
        below = [
            self._find_what_must_be_seen(child, changed) for child in known.directories.values()
        ]
        if any(below) or known.watch in changed or known.watch < 0 or not known.settled:
            assert self.must_see is not None
            self.must_see.add(id(known))
            return True
        return False

    @property
    def partial(self) -> bool:
        return self.must_see is not None

    def summary(self) -> tuple[str, ...]:
        if len(self.notes) <= MAX_NOTES:
            return tuple(self.notes)
        return (*self.notes[:MAX_NOTES], f"and {len(self.notes) - MAX_NOTES} more")

    def directory(
        self, here: int, known: KnownDirectory, path: str = "", skip: Collection[str] = ()
    ) -> KnownDirectory:
        """What is in a directory now; `known` itself when nothing in it changed."""
        if self.must_see is not None and known.digest and id(known) not in self.must_see:
            return known
        notes = len(self.notes)
        watched = known.watch
        if self.watch is not None and watched < 0:
            watched = self.watch.add(here)
        files, folders = self.files(here, known, path, skip)
        directories = {}
        lines = {}
        for name in folders:
            old = known.directories.get(name) or KnownDirectory()
            child = self.subdirectory(here, name, old, f"{path}{name}/")
            if child is not None:
                directories[name], lines[name] = child
        same = (
            known.digest
            and lines == known.folder_lines
            and files.keys() == known.files.keys()
            and all(files[name].line == old.line for name, old in known.files.items())
        )
        found = known if same else KnownDirectory()
        found.files, found.directories, found.folder_lines = files, directories, lines
        found.watch = watched
        found.settled = notes == len(self.notes) and all(
            file.clean and not file.shared for file in files.values()
        )
        if not same:
            lines = lines | {name: file.line for name, file in files.items()}
            found.digest = put_tree(self.store, [lines[name] for name in sorted(lines)])
        return found

    def files(
        self, here: int, known: KnownDirectory, path: str, skip: Collection[str]
    ) -> tuple[dict[str, KnownFile], list[str]]:
        """The files and links in a directory, and the names of its subdirectories."""
        touched = self.opened.get(known.watch, ())
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
                old = known.files.get(name)
                try:
                    is_still = old is not None and old.is_still(item.stat(follow_symlinks=False))
                    if not is_still or (name in touched and self.is_held(here, name, known)):
                        old = self.read(here, name, path)
                except FileNotFoundError:
                    continue
                if old is not None:
                    files[name] = old
                    self.found_shared = self.found_shared or old.shared
        return files, folders

    def subdirectory(
        self, here: int, name: str, known: KnownDirectory, path: str
    ) -> tuple[KnownDirectory, str] | None:
        if path.count("/") > MAX_DEPTH:
            self.notes.append(f"{path[:80]}...: nested deeper than {MAX_DEPTH} directories")
            return None
        try:
            with opened(here, name, OPEN_DIRECTORY) as (inside, mode):
                found = self.directory(inside, known, path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.note_unless_ours(path, error)
            return None
        return found, Entry(name, "directory", mode, found.digest).line()

    def read(self, here: int, name: str, path: str) -> KnownFile | None:
        """Read a file or link that is new or changed; `None` when it is special."""
        status = os.stat(name, dir_fd=here, follow_symlinks=False)
        clean = status.st_ctime_ns < self.clean_before
        if stat.S_ISLNK(status.st_mode):
            try:
                target = os.readlink(name, dir_fd=here)
            except OSError as error:
                self.note_unless_ours(f"{path}{name}", error)
                return None
            return KnownFile(status, Entry(name, "link", 0o777, target), clean)
        if not stat.S_ISREG(status.st_mode):
            self.notes.append(f"{path}{name}: {_kind_of(status.st_mode)}")
            return None
        try:
            with opened(here, name, OPEN_FILE) as (file, mode):
                may_change_unseen = is_open_for_writing(file)
                status = os.fstat(file)
                if not stat.S_ISREG(status.st_mode):
                    return None
                digest = self.store.put_file(file, status.st_size)
        except FileNotFoundError:
            raise
        except OSError as error:
            self.note_unless_ours(f"{path}{name}", error)
            return None
        clean = status.st_ctime_ns < self.clean_before and not may_change_unseen
        return KnownFile(status, Entry(name, "file", mode, digest), clean)

    def is_held(self, here: int, name: str, known: KnownDirectory) -> bool:
        """Whether a process may be able to write to a file; also when that cannot be found out.

        If none is, it must open the file anew to write to it, which the watch then tells.
        """
        watch = self.watch
        if watch is None:
            return True
        try:
            file = os.open(name, OPEN_FILE, dir_fd=here)
        except OSError:
            return True
        try:
            return _lease_error(file, lambda: watch.forget_opens(known.watch, name)) != 0
        finally:
            os.close(file)

    def note_unless_ours(self, path: str, error: OSError) -> None:
        """Note what its owner keeps us from reading; that we cannot store is another matter."""
        if error.errno not in KEPT_FROM_US:
            raise error
        self.notes.append(f"{path}: {error.strerror}")


def is_open_for_writing(file: int) -> bool:
    """Whether a process can write to the file, through a descriptor or mapped memory."""
    return _lease_error(file) == errno.EAGAIN


def _lease_error(file: int, meanwhile: Callable[[], None] = lambda: None) -> int:
    """Why no lease for reading is granted; it is only while no process can write to the file.

    A process that opens the file while we hold the lease waits, and we are told by a signal, which
    must be one that does nothing.
    """
    try:
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        meanwhile()
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno or errno.EIO
    return 0


def watch_opens(watch: DirectoryWatch, here: int, known: KnownDirectory) -> None:
    """Let a watch tell of opened files, too; WatchImpossible if a directory is another one now."""
    watch.opens = True
    if watch.add(here) != known.watch:
        raise WatchImpossible("a directory was replaced")
    for name, child in known.directories.items():
        with opened(here, name, OPEN_DIRECTORY) as (inside, _mode):
            watch_opens(watch, inside, child)


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


def _kind_of(mode: int) -> str:
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a named pipe" if stat.S_ISFIFO(mode) else "a device"
