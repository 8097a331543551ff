"""Find a source's files in a directory of the user, or say all that is missing there."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.archives import (
    FilePlace,
    archives_in,
    find_in_directory,
    only_folder,
)
from mlagentbench.tasks.spec import Source, SourceFile
from mlagentbench.tasks.task import Task


class Found(NamedTuple):
    """A file or folder of a source, and where it is."""

    source: Source
    file: SourceFile
    place: FilePlace
    expected_files: int | None = None
    """The number of files that a folder should have."""

    @property
    def is_folder(self) -> bool:
        return self.place.file.is_dir()


class _Missing(NamedTuple):
    source: Source
    name: str
    unpacked: Sequence[str] = ()
    folders: Sequence[str] = ()


def find_own_files(task: Task, sources: Sequence[Source], directory: Path) -> list[Found]:
    """Where each file of the sources is; a UsageError names all that are missing."""
    if not directory.is_dir():
        raise UsageError(f"{task.id}: --from {directory}: no such directory")
    found: list[Found] = []
    missing: list[_Missing] = []
    for source in sources:
        for file in source.files:
            place = _find(source, directory, file.path)
            if place is not None:
                found.append(Found(source, file, place))
                continue
            parts, lacking = _find_unpacked(source, directory, file)
            found += parts
            if parts:
                missing += [_Missing(source, name) for name in lacking]
            elif not file.optional:
                missing.append(_Missing(source, file.path, lacking, file.folders))
    if missing:
        raise UsageError(_explained(task, directory, missing))
    return found


def source_name(source: Source) -> str:
    """The source's name in a sentence."""
    names = {"kaggle": "Kaggle's ", "huggingface": "Hugging Face's ", "url": "", "generated": ""}
    return f"{names[source.kind]}{source.ref or source.page or 'its source'}"


def _find(source: Source, directory: Path, name: str) -> FilePlace | None:
    """A file in the directory, or in a folder there that is named like the source."""
    place = find_in_directory(directory, name)
    named = _named_folder(source, directory)
    return find_in_directory(named, name) if place is None and named.is_dir() else place


def _named_folder(source: Source, directory: Path) -> Path:
    """Where a clone of a repository, or a competition's unpacked archive, would be."""
    return directory / (source.ref.partition("@")[0].rpartition("/")[2] or ".")


def _find_unpacked(
    source: Source, directory: Path, file: SourceFile
) -> tuple[list[Found], list[str]]:
    """The parts of an unpacked archive, and the names of those that are missing."""
    best: list[Found] = []
    for top in _possible_tops(source, directory, file):
        parts = []
        for part in file.unpacked:
            place = top / part.path.partition("/")[2]
            if place.exists():
                wanted = SourceFile(path=part.path, md5=part.md5)
                size = place.stat().st_size
                parts.append(Found(source, wanted, FilePlace(file=place, size=size), part.files))
        best = max(best, parts, key=len)
    there = {found.file.path for found in best}
    return best, [part.path for part in file.unpacked if part.path not in there]


def _possible_tops(source: Source, directory: Path, file: SourceFile) -> Iterator[Path]:
    """What may be the top folder of an unpacked archive; `directory` itself may be, too."""
    names = {part.path.partition("/")[0] for part in file.unpacked}
    places = [directory, *only_folder(directory)]
    for place in [*places, _named_folder(source, directory)]:
        for name in (*sorted(names), *file.folders):
            yield place / name
    yield from places


def _explained(task: Task, directory: Path, missing: Sequence[_Missing]) -> str:
    names = ", ".join(one.name for one in missing)
    sources = list(dict.fromkeys(source_name(one.source) for one in missing))
    text = (
        f"{task.id}: {names} not found in {directory}; expected the files of "
        f"{' and of '.join(sources)} (see: mlagentbench tasks show {task.address})"
    )
    folders = [folder.name + "/" for folder in only_folder(directory)]
    named = {_named_folder(one.source, directory) for one in missing}
    folders += sorted(folder.name + "/" for folder in named if folder.is_dir())
    inside = [*dict.fromkeys(folders), *(archive.name for archive in archives_in(directory))]
    text += f"\n  looked in: {directory}{''.join(f', {name}' for name in inside)}"
    for one in missing:
        if one.unpacked:
            text += f"\n  or, instead of {one.name}, what it unpacks to: {', '.join(one.unpacked)}"
            text += "".join(f", or the same in {folder}/" for folder in one.folders)
    return text
