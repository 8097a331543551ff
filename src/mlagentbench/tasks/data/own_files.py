"""Find a source's files in a directory of the user, or say all that is missing there."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mlagentbench.errors import UsageError
from mlagentbench.tasks.data.archives import FilePlace, SearchPlaces, only_folder
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
    found: list[Found] = []
    missing: list[_Missing] = []
    for source in sources:
        places = places_of(task, source, directory)
        for file in source.files:
            place = places.find(file.path, file.bytes)
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


def places_of(task: Task, source: Source, directory: Path) -> SearchPlaces:
    """Where the files of a source may be in the user's directory, the likeliest place first."""
    if directory.is_file():
        raise UsageError(
            f"{task.id}: --from {directory}: is a file, and the directory that it is in is wanted; "
            f"use: --from {shlex.quote(str(directory.parent))}"
        )
    if not directory.is_dir():
        raise UsageError(f"{task.id}: --from {directory}: no such directory")
    return SearchPlaces(directory, _folder_name(source))


def source_name(source: Source) -> str:
    """The source's name in a sentence."""
    names = {"kaggle": "Kaggle's ", "huggingface": "Hugging Face's ", "url": "", "generated": ""}
    return f"{names[source.kind]}{source.ref or source.page or 'its source'}"


def _folder_name(source: Source) -> str:
    """The name of a clone of a repository, or of a competition's archive or folder."""
    return source.ref.partition("@")[0].rpartition("/")[2]


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
    for place in dict.fromkeys([directory / _folder_name(source), *places]):
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
    searched = {source.ref: places_of(task, source, directory) for source, *_ in missing}
    inside = {
        place.relative_to(directory).as_posix() + ("/" if place in places.folders else "")
        for places in searched.values()
        for place in places.places
        if place != directory
    }
    text += f"\n  looked in: {directory}{''.join(f', {name}' for name in sorted(inside))}"
    problems = [problem for places in searched.values() for problem in places.problems]
    text += "".join(f"\n  {problem}" for problem in dict.fromkeys(problems))
    for one in missing:
        if one.unpacked:
            text += f"\n  or, instead of {one.name}, what it unpacks to: {', '.join(one.unpacked)}"
            text += "".join(f", or the same in {folder}/" for folder in one.folders)
    return text
