"""The raw files of the full tier: from a directory of the user, or from the official source."""

import errno
import hashlib
import json
import os
import re
from pathlib import Path
from shutil import copyfile, copytree, disk_usage

from mlagentbench.errors import UsageError
from mlagentbench.fs import link
from mlagentbench.home import downloads_dir
from mlagentbench.records import Record
from mlagentbench.tasks.data import hugging_face, kaggle
from mlagentbench.tasks.data.archives import FilePlace, find_in_directory, find_unpacked
from mlagentbench.tasks.data.download import FileNotInSource, download
from mlagentbench.tasks.data.listed_images import gather_images
from mlagentbench.tasks.data.progress import Progress
from mlagentbench.tasks.spec import Source, SourceFile, SourceRecords
from mlagentbench.tasks.task import Task

SPACE_FACTOR = 3
"""Raw files, the same unpacked or copied, and what prepare() writes."""

_CHUNK = 1 << 20


class Gathered(Record):
    """Files that could not be verified, and files accepted despite a wrong checksum."""

    unverified: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()


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
    """Collect the files of all sources in `raw`, under their official names, and verify them."""
    unverified: list[str] = []
    accepted: list[str] = []
    for source in task.spec.sources:
        if source.kind == "generated":
            continue
        if from_dir is not None:
            places = _find_all(task, source, from_dir)
        else:
            places = await _fetch_all(task, source, progress)
        for file, place in places:
            progress.say(f"{task.id}: verifying {file.path}")
            wrong = _copy_verified(place, raw / file.path, file)
            if wrong is not None and not accept_unverified:
                if from_dir is None:
                    place.discard()
                raise UsageError(_refusal(task, source, file, place, wrong))
            if wrong is not None:
                progress.say(f"{task.id}: {file.path}: {wrong}; accepted as unverified")
                accepted.append(file.path)
            if wrong is not None or not (file.md5 or file.sha256):
                unverified.append(file.path)
        if source.images is not None:
            await gather_images(task, source.images, raw, from_dir=from_dir, progress=progress)
            unverified.append(f"{source.images.folder}/")
        for records in source.records:
            await _gather_records(task, source, records, raw, from_dir, progress)
            unverified += records.files
    return Gathered(unverified=tuple(unverified), accepted=tuple(accepted))


def require_files(task: Task, directory: Path) -> None:
    """Raise a UsageError that names what is missing in the directory, if anything is."""
    for source in task.spec.sources:
        if source.kind != "generated":
            _find_all(task, source, directory)


def _find_all(task: Task, source: Source, directory: Path) -> list[tuple[SourceFile, FilePlace]]:
    """Where each file is in the directory; a UsageError names the first that is missing."""
    if not directory.is_dir():
        raise UsageError(f"{task.id}: --from {directory}: no such directory")
    found = []
    for file in source.files:
        place = _find(source, directory, file.path)
        parts = {part: find_unpacked(directory, part) for part in file.unpacked}
        if place is not None:
            found.append((file, place))
        elif any(parts.values()):
            for part, place in parts.items():
                if place is None:
                    raise UsageError(_missing(task, source, directory, part))
                found.append((SourceFile(path=part), place))
        elif not file.optional:
            raise UsageError(_missing(task, source, directory, file.path))
    return found


async def _gather_records(
    task: Task,
    source: Source,
    records: SourceRecords,
    raw: Path,
    from_dir: Path | None,
    progress: Progress,
) -> None:
    """Collect as many records in `raw` as the budget allows; the choice is seeded."""
    names = _listed_records(task, source, raw / records.listing)
    seed = task.public_seed("full")
    names.sort(key=lambda name: hashlib.sha256(f"{seed}/{name}".encode()).digest())
    taken = 0
    for name in names:
        if taken >= records.budget:
            break
        files = tuple(SourceFile(path=path.format(record=name)) for path in records.files)
        part = source.model_copy(update={"files": files})
        progress.say(f"{task.id}: record {name} ({taken / 1e6:,.0f} MB so far)")
        if from_dir is not None:
            places = _find_all(task, part, from_dir)
        else:
            places = await _fetch_all(task, part, progress)
        for file, place in places:
            _copy_verified(place, raw / file.path, file)
        taken += sum(place.size for _, place in places)


def _listed_records(task: Task, source: Source, listing: Path) -> list[str]:
    try:
        names = [str(entry["record_id"]) for entry in json.loads(listing.read_bytes())]
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"{task.id}: {listing.name} is not the file of {_source_name(source)}: "
            "expected a JSON list of objects with a record_id"
        ) from error
    strange = [name for name in names if not re.fullmatch(r"[\w-]+", name)]
    if strange:
        raise UsageError(f"{task.id}: {listing.name}: {strange[0]!r} is not the name of a record")
    return names


def _find(source: Source, directory: Path, name: str) -> FilePlace | None:
    """A file in the directory, or in a clone of its repository there."""
    place = find_in_directory(directory, name)
    clone = directory / source.ref.partition("@")[0].rpartition("/")[2]
    if place is None and source.kind == "huggingface" and clone.is_dir():
        place = find_in_directory(clone, name)
    return place


def _missing(task: Task, source: Source, directory: Path, name: str) -> str:
    return (
        f"{task.id}: {name} not found in {directory}; expected the files of "
        f"{_source_name(source)} (see: mlagentbench tasks show {task.address})"
    )


async def _fetch_all(
    task: Task, source: Source, progress: Progress
) -> list[tuple[SourceFile, FilePlace]]:
    directory = downloads_dir(task.original_id, task.spec.version)
    directory.mkdir(parents=True, exist_ok=True)
    fetched = []
    for file in source.files:
        target = directory / file.path
        if not target.is_file():
            await _fetch(task, source, file, target, progress)
        if target.is_file():
            fetched.append((file, FilePlace(file=target, size=target.stat().st_size, ours=True)))
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


def _copy_verified(place: FilePlace, target: Path, file: SourceFile) -> str | None:
    """Copy one file to raw/; returns what is wrong with it, None when its checksum is right."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if place.file.is_dir():
        copytree(place.file, target, copy_function=copyfile)
        return None
    digests = {"md5": hashlib.md5(usedforsecurity=False), "sha256": hashlib.sha256()}
    size = 0
    linked = place.ours and link(place.file, target)
    if not linked and place.size > disk_usage(target.parent).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
    with place.open() as reader, Path(os.devnull if linked else target).open("wb") as writer:
        while chunk := reader.read(_CHUNK):
            for digest in digests.values():
                digest.update(chunk)
            size += len(chunk)
            writer.write(chunk)
    target.chmod(0o644)
    if file.bytes is not None and size != file.bytes:
        return f"{size:,} bytes, expected {file.bytes:,}"
    for name, expected in (("sha256", file.sha256), ("md5", file.md5)):
        if expected is not None and digests[name].hexdigest() != expected.lower():
            return f"{name} {digests[name].hexdigest()}, expected {expected}"
    return None


def _refusal(task: Task, source: Source, file: SourceFile, place: FilePlace, wrong: str) -> str:
    where = "the downloaded file was removed" if place.ours else f"in {place}"
    return (
        f"{task.id}: {file.path} is not the file of {_source_name(source)}: {wrong} ({where}). "
        "Download it again, or continue with --accept-unverified: every result will then say "
        '"unverified"'
    )


def _source_name(source: Source) -> str:
    names = {"kaggle": "Kaggle's ", "huggingface": "Hugging Face's ", "url": "", "generated": ""}
    return f"{names[source.kind]}{source.ref or source.page or 'its source'}"
