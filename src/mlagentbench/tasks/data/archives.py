"""Find a file in the user's directory: at the top, one level down, or in an archive.

Archives are never unpacked as a whole. Only named regular files are read, so that paths and links
in them are harmless. The directory is never written to.
"""

import gzip
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from mlagentbench.errors import UsageError
from mlagentbench.records import Record

_ZIP = (".zip",)
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    EOFError,
    zlib.error,
    lzma.LZMAError,
)
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


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


class SearchPlaces:
    """The folders and archives where a source's files may be, the likeliest first.

    What is named like the source comes first: a folder, then archives. Then come the directory
    itself, its only sub directory, and the other archives.
    """

    def __init__(self, directory: Path, source: str = "") -> None:
        archives = archives_in(directory)
        places: list[Path] = []
        named = directory / source
        if source and named.is_dir():
            places += [named, *only_folder(named), *archives_in(named)]
        if source:
            places += [archive for archive in archives if _is_named(archive, source)]
        places += [directory, *only_folder(directory), *archives]
        self.directory = directory
        self.places = list(dict.fromkeys(places))
        self.folders = [place for place in self.places if place.is_dir()]
        self.archives = [place for place in self.places if place not in self.folders]

    @property
    def problems(self) -> list[str]:
        """Why archives, or files in them, cannot be read."""
        return [problem for archive in self.archives if (problem := _listing(archive).problem)]

    def find(self, name: str, size: int | None = None) -> FilePlace | None:
        """The file of that name: the first one of the right size, or else the first one.

        Archives that cannot be read are passed over.
        """
        candidates = self._candidates(name)
        first = next(candidates, None)
        if first is None or size in (None, first.size):
            return first
        return next((place for place in candidates if place.size == size), first)

    def _candidates(self, name: str) -> Iterator[FilePlace]:
        for place in self.places:
            if place in self.archives:
                member = _listing(place).members.get(PurePosixPath(name).parts)
                if member is not None:
                    yield member
            elif (place / name).is_file():
                yield FilePlace(file=place / name, size=(place / name).stat().st_size)

    def read(self, folder: str, names: set[str]) -> Iterator[tuple[str, bytes]]:
        """The contents of the named files in `folder`, empty where they cannot be read.

        Each archive is read once, in its own order. A file that is in several places is given as
        often, until the caller removes its name from `names`.
        """
        for place in (top / folder for top in self.folders):
            for name in sorted(names) if place.is_dir() else ():
                if (place / name).is_file():
                    yield name, (place / name).read_bytes()
        for archive in self.archives:
            members = _listing(archive).members
            paths = {name: (*PurePosixPath(folder).parts, name) for name in names}
            found = {members[path].member: name for name, path in paths.items() if path in members}
            for member, opened in _regular_files(archive) if found else ():
                name = found.get(member, "")
                if name in names:
                    yield name, _contents(opened)


def _is_named(archive: Path, source: str) -> bool:
    """Whether an archive is called like a source; browsers number what they download again."""
    suffixes = "|".join(map(re.escape, _ZIP + _TAR))
    pattern = rf"{re.escape(source)}( ?\(\d+\))?({suffixes})"
    return re.fullmatch(pattern, archive.name, re.IGNORECASE) is not None


def _contents(opened: Callable[[], IO[bytes]]) -> bytes:
    try:
        with opened() as reader:
            return reader.read()
    except _DAMAGE:
        return b""


def only_folder(directory: Path) -> list[Path]:
    """The sub directory of a directory that has exactly one, hidden ones apart."""
    folders = [path for path in directory.iterdir() if path.is_dir() and path.name[0] != "."]
    return folders if len(folders) == 1 else []


def archives_in(directory: Path) -> list[Path]:
    """The zip and tar archives in a directory."""
    suffixes = _ZIP + _TAR
    files = sorted(path for path in directory.iterdir() if path.is_file())
    return [file for file in files if file.name.lower().endswith(suffixes)]


class _Listing(NamedTuple):
    """An archive's members by their path, also by their path below the top folder."""

    members: dict[tuple[str, ...], FilePlace]
    problem: str = ""
    """Why the archive, or members of it, cannot be read; those are not listed."""


def _listing(archive: Path) -> _Listing:
    status = archive.stat()
    return _listing_of(archive, (status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=256)
def _listing_of(archive: Path, _version: tuple[int, int]) -> _Listing:
    """Cached while the archive is unchanged, since large ones take long to list."""
    problem = ""
    try:
        if _is_zip(archive):
            listed, problem = _zip_members(archive)
        else:
            listed = _tar_members(archive)
    except (*_DAMAGE, OSError, NotImplementedError) as error:
        return _Listing({}, f"{archive} cannot be read: {error}; get it again")
    members: dict[tuple[str, ...], FilePlace] = {}
    for member, length in sorted(listed.items(), key=lambda item: len(item[0])):
        place = FilePlace(file=archive, member=member, size=length)
        parts = PurePosixPath(member).parts
        for path in (parts, parts[1:]):
            members.setdefault(path, place)
    return _Listing(members, problem)


def _is_zip(archive: Path) -> bool:
    return archive.name.lower().endswith(_ZIP)


def _zip_members(archive: Path) -> tuple[dict[str, int], str]:
    """The sizes of the members that can be read, and why others cannot."""
    sizes: dict[str, int] = {}
    problem = ""
    with zipfile.ZipFile(archive) as packed:
        for info in packed.infolist():
            if why := _unreadable(info):
                problem = f"{archive} {why}; unpack it and name the folder with --from"
            elif not info.is_dir():
                sizes[info.filename] = info.file_size
    return sizes, problem


def _unreadable(member: zipfile.ZipInfo) -> str:
    if member.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if member.compress_type not in _METHODS:
        return f"uses compression method {member.compress_type}, which Python cannot read"
    return ""


def _tar_members(archive: Path) -> dict[str, int]:
    with tarfile.open(archive) as packed:
        return {info.name: info.size for info in packed if info.isreg()}


def _regular_files(archive: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """The names of an archive's files, each with a function that opens it during iteration."""
    if _is_zip(archive):
        with zipfile.ZipFile(archive) as zipped:
            for member in zipped.infolist():
                if not member.is_dir() and not _unreadable(member):
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
