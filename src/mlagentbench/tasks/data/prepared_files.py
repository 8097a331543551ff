"""Prepared files without telling metadata.

The creation order, modes and times of the files that a task's prepare() wrote could reveal
answers. So every file is copied in random order, with mode 0644 and time 0.
"""

import hashlib
import os
import random
import stat
from collections.abc import Iterable
from pathlib import Path
from shutil import copytree

from mlagentbench.errors import RunFailed
from mlagentbench.fs import exchange, fsync_directory
from mlagentbench.guest.mlagentbench_task import CANARY, CANARY_LINE
from mlagentbench.records import Record

SEED_FILE = ".draw_seed"
"""Contains the seed of a secret draw, in private/; not part of the data hash."""

KNOWN_GOOD = ".known_good"
"""Contains a known-good submission, in private/; not part of the data hash."""

CANARY_FILE = "CANARY.txt"
"""Beside answers that are not text, such as arrays."""

_CHUNK = 1 << 20


class FileFacts(Record):
    """A file as the data hash covers it."""

    path: str
    sha256: str
    bytes: int


def move_anonymously(source: Path, target: Path) -> list[FileFacts]:
    """Move all files below `source` to the new directory `target`; returns their facts.

    Raises RunFailed("task") when there is anything but regular files and directories.
    """
    directories, files = _entries(source)
    shuffle = random.SystemRandom().shuffle
    shuffle(directories)
    shuffle(files)
    target.mkdir()
    for directory in directories:
        (target / directory).mkdir(parents=True, exist_ok=True)
    facts = []
    for file in files:
        facts.append(_copy(source / file, target / file, file))
        (source / file).unlink()
    for file in files:  # after all are written: syncing one by one is slow
        _sync(target / file)
    for directory in sorted(directories, key=lambda path: -len(path.parts)):
        _finish_directory(target / directory)
    _finish_directory(target)
    return facts


def mark_answers(private: Path) -> None:
    """Put the canary into all answers: as first line of each table, and as a file beside others."""
    for entry in sorted(private.iterdir()):
        if entry.suffix == ".csv":
            entry.write_bytes(f"{CANARY_LINE}\n".encode() + entry.read_bytes())
        else:
            (private / CANARY_FILE).write_text(f"{CANARY}\n", encoding="utf-8")


def data_hash(public: list[FileFacts], private: list[FileFacts]) -> str:
    """sha256 over names and contents of all public and private files."""
    digest = hashlib.sha256()
    _add_facts(digest, public, "public/")
    _add_facts(digest, private, "private/")
    return digest.hexdigest()


def files_hash(files: Iterable[FileFacts]) -> str:
    """sha256 over names and contents of files; the same in any order."""
    digest = hashlib.sha256()
    _add_facts(digest, files)
    return digest.hexdigest()


def _add_facts(digest: "hashlib._Hash", files: Iterable[FileFacts], folder: str = "") -> None:
    for file in sorted(files, key=lambda facts: os.fsencode(facts.path)):
        digest.update(os.fsencode(f"{folder}{file.path}\0{file.bytes}\0{file.sha256}\n"))


def is_data(file: Path) -> bool:
    """Whether a file of public/ or private/, relative to it, is part of the data."""
    return file.parts[0] not in (SEED_FILE, KNOWN_GOOD)


def read_facts(directory: Path) -> list[FileFacts]:
    """The facts of the files in a prepared directory."""
    facts = []
    for file in _entries(directory)[1]:
        if is_data(file):
            digest, size = _digest(directory / file)
            facts.append(FileFacts(path=file.as_posix(), sha256=digest, bytes=size))
    return facts


def count_files(directory: Path) -> tuple[int, int]:
    """The number of data files in a prepared directory, and their size; fast for many files."""
    files = size = 0
    pending = [str(directory)] if directory.is_dir() else []
    while pending:
        place = pending.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                if place == str(directory) and not is_data(Path(entry.name)):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    files += 1
                    size += entry.stat(follow_symlinks=False).st_size
    return files, size


def _entries(root: Path) -> tuple[list[Path], list[Path]]:
    """All directories and all files below `root`, relative to it."""
    directories: list[Path] = []
    files: list[Path] = []
    for place, names, others in os.walk(root):
        for name in names + others:
            path = Path(place, name)
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                directories.append(path.relative_to(root))
            elif stat.S_ISREG(mode):
                files.append(path.relative_to(root))
            else:
                raise RunFailed(
                    "task",
                    f"prepare() made {root.name}/{path.relative_to(root)}, which is neither a "
                    "regular file nor a directory",
                )
    return directories, files


def _copy(source: Path, target: Path, name: Path) -> FileFacts:
    digest = hashlib.sha256()
    size = 0
    with source.open("rb") as reader, target.open("xb") as writer:
        while chunk := reader.read(_CHUNK):
            digest.update(chunk)
            writer.write(chunk)
            size += len(chunk)
        writer.flush()
        os.fchmod(writer.fileno(), 0o644)
    os.utime(target, ns=(0, 0))
    return FileFacts(path=name.as_posix(), sha256=digest.hexdigest(), bytes=size)


def _sync(file: Path) -> None:
    with file.open("rb") as handle:
        os.fsync(handle.fileno())


def _finish_directory(directory: Path) -> None:
    directory.chmod(0o755)
    os.utime(directory, ns=(0, 0))
    fsync_directory(directory)


def _digest(file: Path) -> tuple[str, int]:
    with file.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
        return digest, handle.tell()


def move_into_place(final: Path, target: Path, keep: str) -> None:
    """Move finished data to their place atomically; data that are there are replaced by them.

    The folder `keep` of those stays: it says which runs have them.
    """
    if target.exists():
        if (target / keep).is_dir():
            copytree(target / keep, final / keep)
        exchange(final, target)
    else:
        final.rename(target)
    fsync_directory(target.parent)
