"""Finding a file in a directory of the person's: beside others, one level down, or in an archive.

Nothing is ever unpacked as a whole: one named regular file is read out of an archive, so its paths
and links cannot lead anywhere. The directory itself is never written to.
"""

import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from mlagentbench.errors import UsageError
from mlagentbench.records import Record

_ZIP = (".zip",)
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


class Place(Record):
    """A file, or a member of an archive; `ours` when it may be linked and removed."""

    file: Path
    member: str | None = None
    ours: bool = False

    def __str__(self) -> str:
        return str(self.file) if self.member is None else f"{self.file} ({self.member})"

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        if self.member is None:
            with self.file.open("rb") as plain:
                yield plain
        elif self.file.name.endswith(_ZIP):
            with zipfile.ZipFile(self.file) as packed, packed.open(self.member) as unpacked:
                yield unpacked
        else:
            with tarfile.open(self.file) as archive:
                inside = archive.extractfile(self.member)
                if inside is None:
                    raise UsageError(f"{self}: not a regular file")
                with inside:
                    yield inside

    def discard(self) -> None:
        """Remove the file, if it is ours to remove."""
        if self.ours:
            self.file.unlink()


def find_in_directory(directory: Path, name: str) -> Place | None:
    """The file of that name: in `directory`, in its only sub directory, or in an archive there."""
    for folder in [directory, *_only_folder(directory)]:
        if (folder / name).is_file():
            return Place(file=folder / name)
    for archive in sorted(directory.iterdir()):
        if archive.is_file() and archive.name.lower().endswith(_ZIP + _TAR):
            member = _find_member(archive, name)
            if member is not None:
                return Place(file=archive, member=member)
    return None


def _only_folder(directory: Path) -> list[Path]:
    folders = [path for path in directory.iterdir() if path.is_dir() and path.name[0] != "."]
    return folders if len(folders) == 1 else []


def _find_member(archive: Path, name: str) -> str | None:
    """The member of that name, at the top or below a single top folder."""
    try:
        members = _zip_members(archive) if archive.name.lower().endswith(_ZIP) else _tar(archive)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as error:
        raise UsageError(f"{archive} cannot be read: {error}; get it again") from error
    wanted = PurePosixPath(name).parts
    fitting = [
        member
        for member in members
        if (parts := PurePosixPath(member).parts) == wanted or parts[1:] == wanted
    ]
    return min(fitting, key=len, default=None)


def _zip_members(archive: Path) -> list[str]:
    with zipfile.ZipFile(archive) as packed:
        return [info.filename for info in packed.infolist() if not info.is_dir()]


def _tar(archive: Path) -> list[str]:
    with tarfile.open(archive) as packed:
        return [info.name for info in packed if info.isreg()]
