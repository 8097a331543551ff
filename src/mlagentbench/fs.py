"""Writing files so that a crash leaves the old one or the new one, and removing them for sure."""

import errno
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SCRATCH = "mlagentbench-"
"""How the names of scratch directories begin; then comes the pid of who made them."""

PERSONS_DISK = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EROFS: "make it writable",
    errno.EACCES: "make it accessible to you",
}
"""What only the person can mend, wherever it comes up."""


def disk_trouble(error: OSError) -> str:
    """What went wrong on a disk and, where a person can mend it, the next step."""
    if error.errno not in PERSONS_DISK:
        return str(error.strerror)
    return f"{error.strerror}; {PERSONS_DISK[error.errno]}, then type the same command again"


def write_atomically(path: Path, contents: bytes) -> None:
    """Write a file whole: beside it, fsynced, then renamed over it."""
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


def remove_half_written(path: Path) -> None:
    """Remove what writers of a file left beside it when they were killed."""
    for temporary in path.parent.glob(f".{path.name}.*"):
        temporary.unlink(missing_ok=True)


def sign_lock(handle: int) -> None:
    """Write our process into a lock that we hold, for whoever finds it taken.

    On a full disk it stays unsigned: what frees space needs the lock, too.
    """
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)


def signed_by(handle: int) -> str:
    """The process that holds a lock."""
    return os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"


def write_all(target: int, contents: bytes | memoryview) -> None:
    """Write all bytes to a descriptor, in as many calls as it takes."""
    view = memoryview(contents)
    while view:
        view = view[os.write(target, view) :]


def fsync_directory(path: Path) -> None:
    """Make renames within a directory last."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def link(source: Path, target: Path) -> bool:
    """Give a file a second name, which costs no space; False where that cannot be."""
    try:
        target.hardlink_to(source)
    except OSError:  # another file system, or one without links
        return False
    return True


@contextmanager
def scratch_directory(what: str) -> Iterator[Path]:
    """A new directory for as long as it is needed, whatever foreign programs make of it."""
    directory = make_scratch_directory(what)
    try:
        yield directory
    finally:
        remove_tree(directory)


def make_scratch_directory(what: str) -> Path:
    """A new directory that whoever made it removes; the guardian does when this process is killed.

    It knows them by their names.
    """
    return Path(tempfile.mkdtemp(prefix=f"{SCRATCH}{os.getpid()}-{what}-"))


def remove_tree(directory: Path) -> None:
    """Remove a directory of any depth, also where its owner closed parts of it to itself."""
    remove = ["rm", "-rf", "--", str(directory)]
    if subprocess.run(remove, capture_output=True).returncode != 0:
        subprocess.run(["chmod", "-R", "u+rwx", "--", str(directory)], capture_output=True)
        subprocess.run(remove, capture_output=True)


def give_to(uid: int, root: Path) -> None:
    """Make `uid` the owner of `root` and all below it; links are changed, never followed."""
    os.lchown(root, uid, uid)
    if not stat.S_ISDIR(os.lstat(root).st_mode):
        return
    for _path, directories, files, descriptor in os.fwalk(root, follow_symlinks=False):
        for name in (*directories, *files):
            status = os.lstat(name, dir_fd=descriptor)
            if (status.st_uid, status.st_gid) != (uid, uid):
                os.chown(name, uid, uid, dir_fd=descriptor, follow_symlinks=False)


def open_up(directory: Path) -> None:
    """Let the owner of a directory enter it, whatever its mode has become."""
    mode = stat.S_IMODE(directory.lstat().st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        directory.chmod(mode | stat.S_IRWXU)
