"""Objects named by their BLAKE3 hash: stored once, never changed, shared by all runs below one OUT.

A new object is written to a temporary file, synced and renamed. So an object that exists has the
right bytes after any crash, and two processes may store the same object. Later damage on the disk
is found when the object is read: bytes that do not match their name are never returned.

Only a process that holds a run stores objects, and `gc` removes them only while no run is held
(garbage_collection.py). So no object is removed between being found and being named in a journal.
"""

import ctypes
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from blake3 import blake3

from mlagentbench.errors import RunFailed
from mlagentbench.fs import MAX_FILE, disk_trouble, write_all
from mlagentbench.runs.lease import process_is_gone, process_name

FICLONE = 0x40049409
CHUNK = 1 << 18
MAX_OBJECT = 64_000_000_000
"""Bytes of a stored file; more are not copied or verified."""
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
SMALL = 4 << 20
BLOCK = 512
"""What stat counts in: a file with holes has fewer than its size."""
_HOLE = bytes(CHUNK)
SYNC_EACH = 16
"""Up to so many new files are synced one by one; more of them with one syncfs."""


def object_hash(contents: bytes) -> str:
    """The name of an object with these bytes."""
    return blake3(contents).hexdigest()


class ObjectLost(RunFailed):
    """An object is gone, or holds other bytes than were stored; `needed_for` says what it is."""

    def __init__(self, path: Path, trouble: str, needed_for: str = "") -> None:
        what = f" ({needed_for})" if needed_for else ""
        super().__init__(
            "harness",
            f"{path}{what} {trouble}; copy it from a backup of {path.parents[1]}, or start again "
            "with another --out",
        )


class ObjectStore:
    """A directory of immutable objects, `DIRECTORY/ab/cdef...`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._waiting: dict[str, str] = {}
        """Objects that have no name yet, with their temporary files."""
        self._sound: set[str] = set()
        """What this process has stored, or read and found right."""
        self._known_shards: set[str] = set()
        self.written = 0
        """Bytes of the objects that are new."""

    def path(self, digest: str) -> Path:
        return Path(self._address(digest))

    def _address(self, digest: str) -> str:
        """The path as text: making thousands of Path objects is slower than storing the files."""
        return f"{self.directory}/{digest[:2]}/{digest[2:]}"

    # Reading

    def read(self, digest: str, needed_for: str = "") -> bytes:
        """The bytes of an object; ObjectLost when they are not there, or not right."""
        with self._opened(digest, needed_for, MAX_FILE) as source:
            contents = _read_all(source)
            self._require(digest, object_hash(contents), needed_for)
        return contents

    def size(self, digest: str, needed_for: str = "") -> int:
        path = self._place(digest)
        try:
            return path.stat().st_size
        except OSError as error:
            raise self._lost(path, error, needed_for) from error

    def copy_to(self, digest: str, target: int, needed_for: str = "") -> None:
        """Write an object's bytes to an empty file, sharing its blocks where that is possible.

        The file is open for reading, too. On ObjectLost it is the caller's to remove.
        """
        with self._opened(digest, needed_for) as source:
            self._require(digest, _copy(source, target), needed_for)

    def verify(self, digest: str, needed_for: str = "") -> None:
        """Raise ObjectLost unless the object is there with the right bytes."""
        with self._opened(digest, needed_for) as source:
            self._require(digest, hash_file(source), needed_for)
        self._sound.add(digest)

    @contextmanager
    def _opened(self, digest: str, needed_for: str, most: int = MAX_OBJECT) -> Iterator[int]:
        path = self._place(digest)
        try:
            handle = os.open(path, READ)
        except OSError as error:
            raise self._lost(path, error, needed_for) from error
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise ObjectLost(path, "is damaged: it is no file", needed_for)
            if os.fstat(handle).st_size > most:
                raise ObjectLost(path, "is damaged: it is too large", needed_for)
            yield handle
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            raise self._lost(path, error, needed_for) from error
        finally:
            os.close(handle)

    def _place(self, digest: str) -> Path:
        return Path(self._waiting.get(digest) or self._address(digest))

    def _lost(self, path: Path, error: OSError, needed_for: str) -> ObjectLost:
        if not isinstance(error, FileNotFoundError):
            return ObjectLost(path, f"cannot be read: {error.strerror}", needed_for)
        alone = "" if self.directory.is_dir() else ": objects/ is not beside the run"
        return ObjectLost(path, f"is missing{alone}", needed_for)

    def _require(self, digest: str, found: str, needed_for: str) -> None:
        if found != digest:
            trouble = "is damaged: its bytes are not those that were stored"
            raise ObjectLost(self.path(digest), trouble, needed_for)

    def has(self, digest: str) -> bool:
        """Whether an object is there, with the right bytes: storing others repairs it."""
        if digest in self._waiting:
            return True
        if not os.path.exists(self._address(digest)):  # noqa: PTH110
            return False
        if digest in self._sound:
            return True
        try:
            self.verify(digest)
        except ObjectLost:
            return False
        return True

    # Storing

    def put(self, contents: bytes) -> str:
        """Store bytes; they last once `commit()` has returned."""
        digest = object_hash(contents)
        if not self.has(digest):
            with self._storing():
                temporary, handle = self._temporary()
                try:
                    write_all(handle, contents)
                except BaseException:
                    Path(temporary).unlink()
                    raise
                finally:
                    os.close(handle)
            self._waiting[digest] = temporary
            self.written += len(contents)
        return digest

    def put_file(self, source: int, size: int) -> str:
        """Store what a descriptor reads from its start, as it is while it is being read."""
        if size <= SMALL:
            return self.put(_read_all(source))
        with self._storing():
            temporary, handle = self._temporary()
            try:
                digest = _copy(source, handle)
                state = os.fstat(handle)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
            finally:
                os.close(handle)
        if self.has(digest):
            Path(temporary).unlink()
        else:
            self._waiting[digest] = temporary
            self.written += min(state.st_size, state.st_blocks * BLOCK)
        return digest

    def commit(self) -> None:
        """Give the objects put since the last commit their names, once their bytes are on disk."""
        if not self._waiting:
            return
        shards = {digest[:2] for digest in self._waiting}
        with self._storing():
            _sync(list(self._waiting.values()), self.directory)
            for shard in shards - self._known_shards:
                (self.directory / shard).mkdir(exist_ok=True)
                self._known_shards.add(shard)
            for digest in list(self._waiting):
                os.rename(self._waiting[digest], self._address(digest))  # noqa: PTH104
                del self._waiting[digest]
                self._sound.add(digest)
            _sync([f"{self.directory}/{shard}" for shard in shards], self.directory)

    def close(self) -> None:
        """Forget what was not committed, and what was found right."""
        for temporary in self._waiting.values():
            with suppress(OSError):
                Path(temporary).unlink()
        self._waiting.clear()
        self._sound.clear()
        self._known_shards.clear()

    @contextmanager
    def _storing(self) -> Iterator[None]:
        """A disk that is full or broken is a RunFailed that says what to do."""
        try:
            yield
        except OSError as error:
            reason = f"cannot store in {self.directory}: {disk_trouble(error)}"
            raise RunFailed("harness", reason) from error

    def _temporary(self) -> tuple[str, int]:
        path = f"{self.directory}/new/{process_name()}-{secrets.token_hex(8)}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            return path, os.open(path, flags, 0o444)
        except FileNotFoundError:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            return path, os.open(path, flags, 0o444)

    # Removing

    def remove_leftovers(self) -> None:
        """Remove what processes of this machine had begun to store, and are gone."""
        for path in (self.directory / "new").glob("*-*"):
            if process_is_gone(path.name.rpartition("-")[0]):
                path.unlink(missing_ok=True)


class JoinedObjects(ObjectStore):
    """The objects of several stores, to be read only: of runs below different --out directories."""

    def __init__(self, *directories: Path) -> None:
        super().__init__(directories[0])
        self._stores = [ObjectStore(directory) for directory in dict.fromkeys(directories)]

    def _address(self, digest: str) -> str:
        """Where an object is; its place in the first store when it is nowhere."""
        places = [store.path(digest) for store in self._stores]
        return str(next((place for place in places if place.exists()), places[0]))


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


def _copy(source: int, target: int) -> str:
    """Copy to an empty file, and give the hash of what is in the copy; holes stay holes.

    The source may change meanwhile, so that only what was written counts.
    """
    hasher = blake3()
    buffer = _buffer_for(source)
    if len(buffer) == CHUNK and clone_blocks(source, target):
        return hash_file(target)
    view = memoryview(buffer)
    ends_in_hole = False
    while count := os.readv(source, [buffer]):
        part = view[:count]
        hasher.update(part)
        ends_in_hole = count == CHUNK and buffer == _HOLE
        if ends_in_hole:
            os.lseek(target, CHUNK, os.SEEK_CUR)
        else:
            write_all(target, part)
    if ends_in_hole:
        os.ftruncate(target, os.lseek(target, 0, os.SEEK_CUR))
    return hasher.hexdigest()


def hash_file(file: int) -> str:
    """The hash of what a descriptor reads from its start."""
    hasher = blake3()
    buffer = _buffer_for(file)
    view = memoryview(buffer)
    while count := os.readv(file, [buffer]):
        hasher.update(view[:count])
    return hasher.hexdigest()


def _buffer_for(file: int) -> bytearray:
    return bytearray(min(CHUNK, os.fstat(file).st_size + 1))


def _sync(files: Sequence[str], directory: Path) -> None:
    """Bring files to disk: each by itself, or many with one call for their file system."""
    many = len(files) > SYNC_EACH
    for path in [str(directory)] if many else files:
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
