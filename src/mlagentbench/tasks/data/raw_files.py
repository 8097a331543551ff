"""The raw files of the full tier: copied once, and hashed while they are copied.

Their names and contents identify the data that are prepared from them.
"""

import errno
import hashlib
import os
from pathlib import Path
from shutil import disk_usage
from typing import IO

from mlagentbench.fs import link
from mlagentbench.records import Record
from mlagentbench.tasks.data.archives import FilePlace
from mlagentbench.tasks.data.prepared_files import FileFacts, files_hash

_CHUNK = 1 << 20


class Checksums(Record):
    """The size and checksums of a file, as sources publish them."""

    bytes: int
    md5: str
    sha256: str


class RawFiles:
    """A directory of raw files, and the facts of each."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._facts: dict[str, FileFacts] = {}

    @property
    def hash(self) -> str:
        """sha256 over names and contents of all files."""
        return files_hash(self._facts.values())

    def copy(self, place: FilePlace, name: str) -> Checksums:
        """Copy a file, or link it if it is ours."""
        target = self._target(name)
        linked = place.ours and link(place.file, target)
        if not linked and place.size > disk_usage(target.parent).free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
        with place.open() as reader:
            return self._read(reader, None if linked else target, name)

    def copy_folder(self, folder: Path, name: str) -> None:
        """Copy all files below a folder."""
        for file in files_below(folder):
            inside = f"{name}/{file.relative_to(folder).as_posix()}"
            self.copy(FilePlace(file=file, size=file.stat().st_size), inside)

    def take(self, name: str, reader: IO[bytes]) -> None:
        """Copy what the reader gives, unless there is a file of that name."""
        if name not in self._facts:
            self._read(reader, self._target(name), name)

    def __contains__(self, name: object) -> bool:
        return name in self._facts

    def _target(self, name: str) -> Path:
        target = self.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def _read(self, reader: IO[bytes], target: Path | None, name: str) -> Checksums:
        md5, sha256, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
        with (target or Path(os.devnull)).open("wb") as writer:
            while chunk := reader.read(_CHUNK):
                md5.update(chunk)
                sha256.update(chunk)
                size += len(chunk)
                writer.write(chunk)
        (self.root / name).chmod(0o644)
        self._facts[name] = FileFacts(path=name, sha256=sha256.hexdigest(), bytes=size)
        return Checksums(bytes=size, md5=md5.hexdigest(), sha256=sha256.hexdigest())


def files_below(folder: Path) -> list[Path]:
    """All files below a folder, in one order everywhere.

    Names that begin with a dot are left out: file managers put such files into folders.
    """
    found = ((path, path.relative_to(folder).parts) for path in folder.rglob("*"))
    shown = (path for path, parts in found if not any(part[0] == "." for part in parts))
    return sorted(path for path in shown if path.is_file())
