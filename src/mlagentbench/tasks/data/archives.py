"""Find a file in the user's directory: at the top, one level down, or in an archive.

Archives are never unpacked as a whole. Only named regular files are read, so that paths and links
in them are harmless. The directory is never written to.
"""

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import IO

from mlagentbench.errors import UsageError
from mlagentbench.records import Record

_ZIP = (".zip",)
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError)


class FilePlace(Record):
    """A file, a folder, or a member of an archive; `ours` if it may be linked and removed."""

    file: Path
    size: int
    member: str | None = None
    ours: bool = False

    def __str__(self) -> str:
        return str(self.file) if self.member is None else f"{self.file} ({self.member})"

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Its bytes, at most `size` of them; a UsageError when the archive is damaged."""
        with _damage_explained(self), self._opened() as handle:
            yield handle

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        if self.member is None:
            with self.file.open("rb") as plain:
                yield plain
        elif _is_zip(self.file):
            with zipfile.ZipFile(self.file) as packed, packed.open(self.member) as unpacked:
                yield unpacked
        else:
            with (
                tarfile.open(self.file) as archive,
                _open_in_tar(archive, archive.getmember(self.member)) as inside,
            ):
                yield inside

    def discard(self) -> None:
        """Remove the file, if it is ours to remove."""
        if self.ours:
            self.file.unlink()


@contextmanager
def _damage_explained(what: object) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise UsageError(f"{what} cannot be read: {error}; get it again") from error


def find_in_directory(directory: Path, name: str) -> FilePlace | None:
    """The file of that name: in `directory`, in its only sub directory, or in an archive there."""
    for folder in [directory, *only_folder(directory)]:
        file = folder / name
        if file.is_file():
            return FilePlace(file=file, size=file.stat().st_size)
    for archive in archives_in(directory):
        place = _find_member(archive, name)
        if place is not None:
            return place
    return None


def copy_from_folder(
    directory: Path, folder: str, names: Collection[str], take: Callable[[str, IO[bytes]], None]
) -> None:
    """Give `take` those of the named files that are in `folder`, each open for reading.

    `folder` may be in `directory`, in its only sub directory, or in archives there, each of which
    is read once, in its own order. A file that is in several places is given as often.
    """
    for place in (top / folder for top in [directory, *only_folder(directory)]):
        for name in names if place.is_dir() else ():
            if (place / name).is_file():
                with (place / name).open("rb") as reader:
                    take(name, reader)
    wanted = {(*PurePosixPath(folder).parts, name): name for name in names}
    for archive in archives_in(directory):
        with _damage_explained(archive):
            for member, opened in _regular_files(archive):
                parts = PurePosixPath(member).parts
                found = wanted.get(parts) or wanted.get(parts[1:])
                if found is not None:
                    with opened() as reader:
                        take(found, reader)


def only_folder(directory: Path) -> list[Path]:
    """The sub directory of a directory that has exactly one, hidden ones apart."""
    folders = [path for path in directory.iterdir() if path.is_dir() and path.name[0] != "."]
    return folders if len(folders) == 1 else []


def archives_in(directory: Path) -> list[Path]:
    """The zip and tar archives in a directory."""
    suffixes = _ZIP + _TAR
    files = sorted(path for path in directory.iterdir() if path.is_file())
    return [file for file in files if file.name.lower().endswith(suffixes)]


def _find_member(archive: Path, name: str) -> FilePlace | None:
    """The member of that name, at the top or below a single top folder."""
    status = archive.stat()
    with _damage_explained(archive):
        members = _members(archive, (status.st_size, status.st_mtime_ns))
    return members.get(PurePosixPath(name).parts)


@lru_cache(maxsize=4)
def _members(archive: Path, _version: tuple[int, int]) -> dict[tuple[str, ...], FilePlace]:
    """The members by their path, also by their path below the top folder.

    Cached while the archive is unchanged, since large ones take long to list.
    """
    listed = _zip_members(archive) if _is_zip(archive) else _tar_members(archive)
    found: dict[tuple[str, ...], FilePlace] = {}
    for member, length in sorted(listed.items(), key=lambda item: len(item[0])):
        place = FilePlace(file=archive, member=member, size=length)
        parts = PurePosixPath(member).parts
        for path in (parts, parts[1:]):
            found.setdefault(path, place)
    return found


def _is_zip(archive: Path) -> bool:
    return archive.name.lower().endswith(_ZIP)


def _zip_members(archive: Path) -> dict[str, int]:
    with zipfile.ZipFile(archive) as packed:
        return {info.filename: info.file_size for info in packed.infolist() if not info.is_dir()}


def _tar_members(archive: Path) -> dict[str, int]:
    with tarfile.open(archive) as packed:
        return {info.name: info.size for info in packed if info.isreg()}


def _regular_files(archive: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """The names of an archive's files, each with a function that opens it during iteration."""
    if _is_zip(archive):
        with zipfile.ZipFile(archive) as zipped:
            for member in zipped.infolist():
                if not member.is_dir():
                    yield member.filename, partial(zipped.open, member)
    else:
        with tarfile.open(archive) as tarred:
            for info in tarred:
                if info.isreg():
                    yield info.name, partial(_open_in_tar, tarred, info)


def _open_in_tar(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    inside = archive.extractfile(member)
    if inside is None:
        raise tarfile.TarError(f"{member.name} is not a regular file")
    return inside
