"""The raw files of the full tier: from a directory of the user, or from the official source."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mlagentbench.errors import UsageError
from mlagentbench.home import downloads_dir
from mlagentbench.records import Record
from mlagentbench.tasks.data import hugging_face, kaggle
from mlagentbench.tasks.data.archives import FilePlace, SearchPlaces
from mlagentbench.tasks.data.download import FileNotInSource, download
from mlagentbench.tasks.data.listed_images import gather_images
from mlagentbench.tasks.data.own_files import (
    Found,
    find_own_files,
    places_of,
    source_name,
)
from mlagentbench.tasks.data.progress import Progress
from mlagentbench.tasks.data.raw_files import Checksums, RawFiles, files_below
from mlagentbench.tasks.spec import Source, SourceFile, SourceRecords
from mlagentbench.tasks.task import Task

SPACE_FACTOR = 3
"""Raw files, the same unpacked or copied, and what prepare() writes."""
MOST_NAMED = 4
"""Missing files of records that an error names."""


class Gathered(Record):
    """What was gathered: its hash, files without a checksum, and accepted differences.

    `refused` are differences that are not accepted; plausibility.py adds what else it finds, unless
    folders, images or records are still to be gathered: nothing large is copied in vain.
    """

    sources: str = ""
    unverified: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    is_complete: bool = True


def bytes_needed(task: Task) -> int:
    """The disk space for the full tier, as far as it is known."""
    files = (file.bytes or 0 for source in task.spec.sources for file in source.files)
    budgets = (part.budget for source in task.spec.sources for part in source.records)
    return SPACE_FACTOR * int(sum(files) + sum(budgets))


async def gather(
    task: Task,
    raw: Path,
    *,
    from_dir: Path | None,
    accept_unverified: bool,
    progress: Progress,
) -> Gathered:
    """Collect the files of all sources in `raw`, under their official names, and verify them.

    Folders, listed images and records are left out if other files are refused.
    """
    sources = official_sources(task)
    if not sources:
        return Gathered()
    gathering = _Gathering(task, RawFiles(raw), from_dir, progress)
    found = await gathering.find(sources)
    wrong = gathering.copy_verified(found, accept_unverified)
    unverified = [one.file.path for one in found if not is_verified(one.file)]
    unverified += [one.path for one in wrong if one.path not in unverified]
    if wrong and not accept_unverified:
        return Gathered(
            sources=gathering.files.hash,
            unverified=tuple(unverified),
            refused=tuple(_refusals(found, wrong)),
            is_complete=not any(source.images or source.records for source in sources)
            and not any(one.is_folder for one in found),
        )
    differences = [f"{one.path}: {one.reason}" for one in wrong]
    chosen = [
        await gathering.choose_records(source, records)
        for source in sources
        for records in source.records
    ]
    gathering.copy_records(chosen)
    unverified += [path for one in chosen for path in one.records.files]
    for source in sources:
        if source.images is not None:
            differences += await gather_images(
                task,
                source.images,
                gathering.files,
                places=None if from_dir is None else places_of(task, source, from_dir),
                accept_unverified=accept_unverified,
                progress=progress,
            )
            unverified.append(f"{source.images.folder}/")
    return Gathered(
        sources=gathering.files.hash,
        unverified=tuple(unverified),
        accepted=tuple(differences),
    )


def official_sources(task: Task) -> list[Source]:
    """The sources of a task's full tier that are not generated."""
    return [source for source in task.spec.sources if source.kind != "generated"]


def require_files(task: Task, directory: Path) -> None:
    """Raise a UsageError that names what is missing in the directory, if anything is."""
    find_own_files(task, official_sources(task), directory)


def is_verified(file: SourceFile) -> bool:
    """Whether a right copy of the file can be told from others."""
    return bool(file.md5 or file.sha256)


class _Wrong(NamedTuple):
    """A file or folder that is not the official one."""

    path: str
    reason: str


class _Chosen(NamedTuple):
    """The records that were chosen: what was found of each, and the files that are missing."""

    source: Source
    records: SourceRecords
    found: list[list[Found]]
    lacking: list[list[str]]
    places: SearchPlaces | None

    @property
    def problems(self) -> list[str]:
        """Archives that cannot be read."""
        return [] if self.places is None else self.places.problems

    @property
    def what_is_missing(self) -> str:
        paths = [path for record in self.lacking for path in record]
        more = ", ..." if len(paths) > MOST_NAMED else ""
        return (
            f"{self.records.listing}: {len(self.lacking):,} of {len(self.found):,} records are "
            f"missing or incomplete; not found: {', '.join(paths[:MOST_NAMED])}{more}"
        )


class _Gathering(NamedTuple):
    """Collects the files of one task."""

    task: Task
    files: RawFiles
    from_dir: Path | None
    progress: Progress

    async def find(self, sources: Sequence[Source]) -> list[Found]:
        """Where all files are, after they were downloaded if there is no directory."""
        if self.from_dir is not None:
            return find_own_files(self.task, sources, self.from_dir)
        fetched = []
        for source in sources:
            fetched += await _fetch_all(self.task, source, self.progress)
        return fetched

    def copy_verified(self, found: Sequence[Found], accept_unverified: bool) -> list[_Wrong]:
        """Copy all, and return what is wrong; folders last, and only if they will be used.

        What was downloaded and is wrong is removed from the downloads, unless it is accepted.
        """
        files = sorted((one for one in found if not one.is_folder), key=lambda one: one.place.size)
        folders = [one for one in found if one.is_folder]
        wrong = [_Wrong(one.file.path, why) for one in folders if (why := _wrong_folder(one))]
        for one in files:
            doing = "verifying" if is_verified(one.file) else "copying"
            where = "" if one.place.ours else f", from {one.place}"
            self.progress.say(f"{self.task.id}: {doing} {one.file.path}{where}")
            why = _wrong_file(one.file, self.files.copy(one.place, one.file.path))
            if why is not None:
                wrong.append(_Wrong(one.file.path, why))
                if not accept_unverified:
                    one.place.discard()
        if wrong and not accept_unverified:
            return wrong
        for place, reason in wrong:
            self.progress.say(f"{self.task.id}: {place}: {reason}; accepted as unverified")
        for one in folders:
            self.progress.say(f"{self.task.id}: copying {one.file.path}")
            self.files.copy_folder(one.place.file, one.file.path)
        return wrong

    async def choose_records(self, source: Source, records: SourceRecords) -> _Chosen:
        """Find as many records as the budget allows; the choice is seeded, nothing is copied.

        A record that is missing is taken to be as large as the one before it.
        """
        task = self.task
        names = _listed_records(task, source, self.files.root / records.listing)
        seed = task.public_seed("full")
        names.sort(key=lambda name: hashlib.sha256(f"{seed}/{name}".encode()).digest())
        places = None if self.from_dir is None else places_of(task, source, self.from_dir)
        chosen = _Chosen(source, records, [], [], places)
        taken = size = 0
        for name in names:
            if taken >= records.budget:
                break
            files = tuple(SourceFile(path=path.format(record=name)) for path in records.files)
            if places is None:
                self.progress.say(f"{task.id}: record {name} ({taken / 1e6:,.0f} MB so far)")
                part = source.model_copy(update={"files": files})
                found = await _fetch_all(task, part, self.progress)
            else:
                searched = ((file, places.find(file.path)) for file in files)
                found = [Found(source, file, place) for file, place in searched if place]
            chosen.found.append(found)
            there = {one.file.path for one in found}
            if lacking := [file.path for file in files if file.path not in there]:
                chosen.lacking.append(lacking)
            else:
                size = sum(one.place.size for one in found)
            taken += size
        return chosen

    def copy_records(self, chosen: Sequence[_Chosen]) -> None:
        """Copy the chosen records; a UsageError says how many are missing, if any are."""
        incomplete = [one for one in chosen if one.lacking]
        if incomplete:
            lines = [one.what_is_missing for one in incomplete]
            lines += dict.fromkeys(problem for one in incomplete for problem in one.problems)
            raise UsageError(
                f"{self.task.id}: not all chosen records are in {self.from_dir}; expected the "
                f"files of {source_name(incomplete[0].source)} (see: mlagentbench tasks show "
                f"{self.task.address})" + "".join(f"\n  {line}" for line in lines)
            )
        for one in chosen:
            found = [file for record in one.found for file in record]
            size = sum(file.place.size for file in found)
            self.progress.say(
                f"{self.task.id}: copying {len(one.found):,} records of {one.records.listing} "
                f"({size / 1e6:,.0f} MB)"
            )
            for file in found:
                self.files.copy(file.place, file.file.path)


def _listed_records(task: Task, source: Source, listing: Path) -> list[str]:
    try:
        names = [str(entry["record_id"]) for entry in json.loads(listing.read_bytes())]
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"{task.id}: {listing.name} is not the file of {source_name(source)}: "
            "expected a JSON list of objects with a record_id"
        ) from error
    strange = [name for name in names if not re.fullmatch(r"[\w-]+", name)]
    if strange:
        raise UsageError(f"{task.id}: {listing.name}: {strange[0]!r} is not the name of a record")
    return names


async def _fetch_all(task: Task, source: Source, progress: Progress) -> list[Found]:
    directory = downloads_dir(task.original_id, task.spec.version)
    directory.mkdir(parents=True, exist_ok=True)
    fetched = []
    for file in source.files:
        target = directory / file.path
        if not target.is_file():
            await _fetch(task, source, file, target, progress)
        if target.is_file():
            place = FilePlace(file=target, size=target.stat().st_size, ours=True)
            fetched.append(Found(source, file, place))
    return fetched


async def _fetch(
    task: Task, source: Source, file: SourceFile, target: Path, progress: Progress
) -> None:
    """Download the file to `target`; where that fails, a UsageError says the next step.

    An optional file that the source does not have is left out.
    """
    size = "size unknown" if file.bytes is None else f"{file.bytes / 1e6:,.1f} MB"
    progress.say(f"{task.id}: fetching {file.path} ({size})")
    try:
        if source.kind == "kaggle":
            await kaggle.fetch(source, file, target, progress)
        elif source.kind == "huggingface":
            await hugging_face.fetch(source, file, target, progress)
        else:
            await download(file.url or f"{source.ref.rstrip('/')}/{file.path}", target, progress)
    except UsageError as error:
        if not (file.optional and isinstance(error, FileNotInSource)):
            raise UsageError(f"{task.id}: {error}\n{_by_hand(task, source)}") from error
        progress.say(f"{task.id}: {file.path} is optional and not in the source: left out")


def _by_hand(task: Task, source: Source) -> str:
    names = ", ".join(file.path for file in source.files if not file.optional)
    pages = {
        "kaggle": kaggle.page(source.ref, "data"),
        "huggingface": f"https://huggingface.co/{source.ref.partition('@')[0]}",
    }
    page = source.page or pages.get(source.kind, source.ref)
    return (
        f"Or download {names} from {page} into a directory DIR yourself, and run: "
        f"mlagentbench tasks prepare {task.address} --tier full --from DIR"
    )


def _wrong_folder(found: Found) -> str | None:
    """What is wrong with the number of files in a folder, if it is known."""
    if found.expected_files is None:
        return None
    files, expected = files_below(found.place.file), found.expected_files
    if len(files) == expected:
        return None
    text = f"{len(files):,} files, expected {expected:,}"
    if len(files) < expected:
        return text
    return f"{text}; one too many may be {_strangest(files).relative_to(found.place.file)}"


def _strangest(files: Sequence[Path]) -> Path:
    """The first file of another type than most of them; the last one if all have one type."""
    usual, _ = Counter(file.suffix for file in files).most_common(1)[0]
    return next((file for file in files if file.suffix != usual), files[-1])


def _wrong_file(file: SourceFile, checksums: Checksums) -> str | None:
    """What is wrong with a file; None when its checksum is right, or not known."""
    if file.bytes is not None and checksums.bytes != file.bytes:
        return f"{checksums.bytes:,} bytes, expected {file.bytes:,}"
    for name, expected in (("sha256", file.sha256), ("md5", file.md5)):
        computed = getattr(checksums, name)
        if expected is not None and computed != expected.lower():
            return f"{name} {computed}, expected {expected}"
    return None


def _refusals(found: Sequence[Found], wrong: Sequence[_Wrong]) -> Iterator[str]:
    """A sentence for each file or folder that is not the official one."""
    known = {one.file.path: one for one in found}
    for path, reason in wrong:
        one = known[path]
        kind = "folder" if one.is_folder else "file"
        where = "the downloaded file was removed" if one.place.ours else f"in {one.place}"
        yield f"{path} is not the {kind} of {source_name(one.source)}: {reason} ({where})"
