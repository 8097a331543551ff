"""Files: atomic writes, appends, locks, files of others, scratch directories, reliable removal."""

import ctypes
import errno
import fcntl
import json
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mlagentbench.errors import UsageError
from mlagentbench.records import Json

MAX_FILE = 512_000_000
"""Bytes of a file in a run directory that is read whole."""
MAX_JSON_DEPTH = 100
MAX_DIGITS = 100
"""Of an integer in JSON; a seed of 128 bits has 39."""
SCRATCH = "mlagentbench-"
"""How the names of scratch directories begin; the pid of their process follows."""

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2

DISK_FIXES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EROFS: "make it writable",
    errno.EACCES: "make it accessible to you",
}
"""What a person can do about an error of the disk."""


def disk_trouble(error: OSError) -> str:
    """What went wrong on a disk and, if a person can fix it, the next step."""
    if error.errno not in DISK_FIXES:
        return str(error.strerror)
    return f"{error.strerror}; {DISK_FIXES[error.errno]}, then run the same command again"


def write_atomically(path: Path, contents: bytes) -> None:
    """Write a file so that a crash leaves the old or the new one: write, fsync, rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = error.filename or str(path)
        raise
    fsync_directory(path.parent)


def create_exclusively(path: Path, contents: bytes, mode: int = 0o644) -> bool:
    """Create a file with these contents in one step; False when there is one of that name.

    Of several processes, also on different machines, exactly one creates it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), mode)
            try:
                os.link(name, path)
            except (FileExistsError, FileNotFoundError):
                # Another process was faster, and may have tidied up our temporary file. Or NFS has
                # repeated a request whose answer was lost: then the second one finds our file.
                return _is_at(path, file.fileno())
    finally:
        Path(name).unlink(missing_ok=True)
    fsync_directory(path.parent)
    return True


def _is_at(path: Path, handle: int) -> bool:
    """Whether the file of that name is the open one."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def remove_half_written(path: Path) -> None:
    """Remove the temporary files that killed writers left beside a file."""
    for temporary in path.parent.glob(f".{path.name}.*"):
        temporary.unlink(missing_ok=True)


def write_all(target: int, contents: bytes | memoryview) -> None:
    """Write all bytes to a descriptor, in as many calls as it takes."""
    view = memoryview(contents)
    while view:
        view = view[os.write(target, view) :]


def open_regular(path: Path) -> BinaryIO:
    """Open a file that others may have put there; UsageError unless it is a regular file.

    Links are not followed: they could lead anywhere. Nothing is waited for.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(path, flags)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        raise _not_regular(path, os.lstat(path).st_mode) from error
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise _not_regular(path, mode)
    return os.fdopen(handle, "rb")


def _not_regular(path: Path, mode: int) -> UsageError:
    kinds = {
        stat.S_IFDIR: "directory",
        stat.S_IFLNK: "link",
        stat.S_IFIFO: "named pipe",
        stat.S_IFSOCK: "socket",
    }
    kind = kinds.get(stat.S_IFMT(mode), "device")
    return UsageError(f"{path} is a {kind}; copy the file of that name from a backup")


def read_regular(path: Path, most: int = MAX_FILE) -> bytes:
    """The bytes of a file that others may have put there; UsageError if there are more."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        contents = b"" if size > most else file.read(most + 1)
    if max(size, len(contents)) > most:
        raise UsageError(f"{path} has {size:,} bytes, more than the {most:,} that are read")
    return contents


def parse_json(raw: bytes) -> Json:
    """A JSON value that others wrote; ValueError unless it has bounds."""
    try:
        value = json.loads(raw, parse_int=_integer)
    except RecursionError as error:
        raise ValueError(f"nested more than {MAX_JSON_DEPTH} levels deep") from error
    if raw.count(b"[") + raw.count(b"{") > MAX_JSON_DEPTH:
        _require_depth(value)
    return value


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def _require_depth(value: Json) -> None:
    level = [value]
    for _depth in range(MAX_JSON_DEPTH):
        lists = [one for one in level if isinstance(one, list)]
        lists += [list(one.values()) for one in level if isinstance(one, dict)]
        level = [value for one in lists for value in one]
    if level:
        raise ValueError(f"nested more than {MAX_JSON_DEPTH} levels deep")


@contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[int]:
    """Hold an exclusive lock on a file, which is created if needed; yields its descriptor.

    For files of this machine: cluster file systems may have no locks. A process that inherits the
    descriptor keeps the lock. Without `wait`, BlockingIOError says that another process holds it.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield handle
    finally:
        os.close(handle)


def fsync_directory(path: Path) -> None:
    """Make renames in a directory durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def exchange(one: Path, other: Path) -> None:
    """Let two directories of a file system change places, in one step where the system can.

    Elsewhere (macOS, some network file systems) `other` is moved away first.
    """
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    names = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    if renameat2 is None or renameat2(*names) != 0:
        aside = one.with_name(f"{one.name}.exchanged")
        other.rename(aside)
        one.rename(other)
        aside.rename(one)


def link(source: Path, target: Path) -> bool:
    """Hard-link a file; False where that is not possible."""
    try:
        target.hardlink_to(source)
    except OSError:  # another file system, or one without links
        return False
    return True


@contextmanager
def scratch_directory(what: str) -> Iterator[Path]:
    """A temporary directory, removed whatever programs have done to it."""
    directory = make_scratch_directory(what)
    try:
        yield directory
    finally:
        remove_tree(directory)


def make_scratch_directory(what: str) -> Path:
    """A temporary directory that the caller removes, or the guardian if this process is killed."""
    return Path(tempfile.mkdtemp(prefix=f"{SCRATCH}{os.getpid()}-{what}-"))


@contextmanager
def whole_directory(target: Path) -> Iterator[Path]:
    """An empty directory that becomes `target` when it is filled, unless another did before.

    No lock is needed: a directory cannot be renamed to one that has something in it.
    """
    unfinished = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    try:
        yield unfinished
        unfinished.chmod(0o755)
        try:
            unfinished.rename(target)
        except OSError:
            if not target.is_dir():
                raise
        fsync_directory(target.parent)
    finally:
        remove_tree(unfinished)


def reset_times(directory: Path) -> None:
    """Set all file times to 0: they tell when files were made, and in which order."""
    for path in (directory, *directory.rglob("*")):
        os.utime(path, (0, 0), follow_symlinks=False)


def remove_tree(directory: Path) -> None:
    """Remove a directory of any depth, even parts that are closed to their owner."""
    found = {"PATH": f"{os.environ.get('PATH', '')}{os.pathsep}{os.defpath}"}

    def run(*command: str) -> bool:
        done = subprocess.run([*command, "--", str(directory)], capture_output=True, env=found)
        return done.returncode == 0

    if not run("rm", "-rf"):
        run("chmod", "-R", "u+rwx")
        run("rm", "-rf")


def chown_tree(uid: int, root: Path) -> None:
    """Make `uid` the owner of `root` and everything in it, without following links."""
    os.lchown(root, uid, uid)
    if not stat.S_ISDIR(os.lstat(root).st_mode):
        return
    for _path, directories, files, descriptor in os.fwalk(root, follow_symlinks=False):
        for name in (*directories, *files):
            status = os.lstat(name, dir_fd=descriptor)
            if (status.st_uid, status.st_gid) != (uid, uid):
                os.chown(name, uid, uid, dir_fd=descriptor, follow_symlinks=False)


def make_accessible(directory: Path) -> None:
    """Give the owner of a directory full access to it."""
    mode = stat.S_IMODE(directory.lstat().st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        directory.chmod(mode | stat.S_IRWXU)
