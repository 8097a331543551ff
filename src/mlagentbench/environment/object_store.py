"""Contents by their sha256: stored once, never changed, shared by all runs below one OUT.

A new object is written beside its place, synced and renamed into it, so that a name that exists
holds the right bytes whatever crashed, and two processes that store the same are both right.
"""

import ctypes
import errno
import fcntl
import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

FICLONE = 0x40049409
CHUNK = 1 << 20
SMALL = 4 << 20
_HOLE = bytes(CHUNK)
SYNC_EACH = 16
"""Up to so many new files are synced one by one; more of them with one syncfs."""


class ObjectStore:
    """A directory of immutable objects, `DIRECTORY/ab/cdef...`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._waiting: dict[str, Path] = {}
        self._known_shards: set[str] = set()

    def path(self, digest: str) -> Path:
        return self.directory / digest[:2] / digest[2:]

    def has(self, digest: str) -> bool:
        return digest in self._waiting or self.path(digest).exists()

    def read(self, digest: str) -> bytes:
        """The bytes of an object; FileNotFoundError when it is not there."""
        return self._place(digest).read_bytes()

    def size(self, digest: str) -> int:
        return self._place(digest).stat().st_size

    def open(self, digest: str) -> int:
        """A descriptor to read an object from."""
        return os.open(self._place(digest), os.O_RDONLY | os.O_CLOEXEC)

    def put(self, contents: bytes) -> str:
        """Store bytes; they last once `commit()` has returned."""
        digest = hashlib.sha256(contents).hexdigest()
        if not self.has(digest):
            temporary, handle = self._temporary()
            try:
                write_all(handle, contents)
            except BaseException:
                temporary.unlink()
                raise
            finally:
                os.close(handle)
            self._waiting[digest] = temporary
        return digest

    def put_file(self, source: int, size: int) -> str:
        """Store what a descriptor reads from its start, as it is while it is being read."""
        if size <= SMALL:
            return self.put(_read_all(source))
        temporary, handle = self._temporary()
        try:
            digest = _copy(source, handle)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            os.close(handle)
        if self.has(digest):
            temporary.unlink()
        else:
            self._waiting[digest] = temporary
        return digest

    def commit(self) -> None:
        """Give the objects put since the last commit their names, once their bytes are on disk."""
        if not self._waiting:
            return
        _sync(list(self._waiting.values()), self.directory)
        shards = {digest[:2] for digest in self._waiting}
        for shard in shards - self._known_shards:
            (self.directory / shard).mkdir(exist_ok=True)
            self._known_shards.add(shard)
        for digest, temporary in self._waiting.items():
            temporary.rename(self.path(digest))
        self._waiting.clear()
        _sync([self.directory / shard for shard in shards], self.directory)

    def remove_leftovers(self) -> None:
        """Remove what processes that are gone had begun to store."""
        for path in (self.directory / "new").glob("*-*"):
            if not Path("/proc", path.name.partition("-")[0]).exists():
                path.unlink(missing_ok=True)

    def _place(self, digest: str) -> Path:
        return self._waiting.get(digest) or self.path(digest)

    def _temporary(self) -> tuple[Path, int]:
        folder = self.directory / "new"
        path = folder / f"{os.getpid()}-{secrets.token_hex(8)}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            return path, os.open(path, flags, 0o444)
        except FileNotFoundError:
            folder.mkdir(parents=True, exist_ok=True)
            return path, os.open(path, flags, 0o444)


def _read_all(source: int) -> bytes:
    parts = []
    while part := os.read(source, CHUNK):
        parts.append(part)
    return b"".join(parts)


def clone_blocks(source: int, target: int) -> bool:
    """Let an empty file share another's blocks, where the file system can."""
    try:
        fcntl.ioctl(target, FICLONE, source)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        return False
    return True


def write_all(target: int, contents: bytes) -> None:
    view = memoryview(contents)
    while view:
        view = view[os.write(target, view) :]


def copy_bytes(source: int, target: int) -> Iterator[bytes]:
    """Copy to an empty file part by part, each of which is given; holes stay holes."""
    while part := os.read(source, CHUNK):
        if part == _HOLE:
            os.lseek(target, CHUNK, os.SEEK_CUR)
        else:
            write_all(target, part)
        yield part
    os.ftruncate(target, os.lseek(target, 0, os.SEEK_CUR))


def _copy(source: int, target: int) -> str:
    """Copy, then name the copy by what is in it: the source may change in between."""
    sha = hashlib.sha256()
    if clone_blocks(source, target):
        while part := os.read(target, CHUNK):
            sha.update(part)
    else:
        for part in copy_bytes(source, target):
            sha.update(part)
    return sha.hexdigest()


def _sync(files: list[Path], directory: Path) -> None:
    """Bring files to disk: each by itself, or many with one call for their file system."""
    many = len(files) > SYNC_EACH
    for path in [directory] if many else files:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if many:
                _syncfs(handle)
            else:
                os.fsync(handle)
        finally:
            os.close(handle)


def _syncfs(handle: int) -> None:
    if ctypes.CDLL(None, use_errno=True).syncfs(handle) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
