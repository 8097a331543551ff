"""The source files of a snapshot: what a person writes, not what a program makes.

| file                                            | is                                      |
|-------------------------------------------------|-----------------------------------------|
| programs, scripts, build files, up to 64 KB     | source                                  |
| settings and notes (json, yaml, txt, md ...),   | source                                  |
| up to 32 KB                                     |                                         |
| arrays, weights, tables, notebooks, all others  | a product                               |
| what is in the submission                       | a product, unless the task says that it |
|                                                 | is written by hand                      |
| what is not UTF-8, or has a NUL                 | a product                               |
| what has a name that is not UTF-8               | left out                                |
| links                                           | not followed, and left out              |

What the command runs is taken first, with the files that it names, then programs, then settings and
notes, until there are 1 MB or 1,000 files of them; files near the root come before others.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath

from mlagentbench.records import Record
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, walk
from mlagentbench.untrusted_text import is_unicode, one_line

MAX_PROGRAM = 64_000
"""Bytes of a program."""
MAX_KEPT = 16_000
"""Bytes of a program that is part of the submission and not made again."""
MAX_SETTINGS = 32_000
"""Bytes of a file of settings or notes; a program that needs more reads the data."""
MAX_ALL = 1_000_000
"""Bytes of all sources together."""
MAX_FILES = 1_000
"""The sources of one snapshot."""
MAX_NAMED = 40
"""Files left out that are named; the others are counted."""

PROGRAMS = frozenset(
    {
        ".py", ".pyi", ".pyx", ".pxd", ".sh", ".bash", ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh",
        ".h", ".hpp", ".rs", ".go", ".js", ".ts", ".pl", ".r", ".jl", ".java", ".f", ".f90", ".s",
        ".sql", ".cmake", ".mk",
    }
)  # fmt: skip
SETTINGS = frozenset(
    {
        ".toml", ".yaml", ".yml", ".json", ".cfg", ".ini", ".conf", ".txt", ".md", ".rst", ".in",
    }
)  # fmt: skip
NAMES = frozenset({"makefile", "dockerfile", "license", "readme"})
"""Files without a suffix that are sources, in small letters."""
_WORD = re.compile(r"[\w./+-]+")


class ChosenSources(Record):
    """The sources of a snapshot by their path, and what was left out."""

    files: dict[str, bytes]
    executable: frozenset[str]
    left_out: tuple[str, ...]
    """Each with the reason in brackets; not all of them, if there are many."""
    reasons: dict[str, str] = {}
    """Why files of the command are left out."""


def choose_sources(
    store: ObjectStore,
    snapshot: str,
    submission: str,
    written_by_hand: Collection[str] = (),
    elsewhere: Collection[str] = (),
    first: Collection[str] = (),
) -> ChosenSources:
    """The sources of a snapshot.

    `written_by_hand` are the files and folders in the submission that are sources; `elsewhere` are
    top-level names that are laid out from the task and its data. The files `first`, which the
    command runs, and those that they name are taken before others.
    """
    files: dict[str, bytes] = {}
    executable, size, left_out = set(), 0, {}
    found = {
        path: entry
        for path, entry in walk(store, snapshot)
        if entry.kind != "directory"
        and PurePosixPath(path).parts[0] not in elsewhere
        and not _is_cache(path)
    }
    named = _named_by(store, {path: found[path] for path in first if path in found})

    def place(path: str) -> tuple[bool, bool, int, int, str]:
        depth = len(PurePosixPath(path).parts)
        return path not in first, path not in named, _rank(path), depth, path

    for path, entry in sorted(found.items(), key=lambda one: place(one[0])):
        is_kept = is_within(path, written_by_hand)
        if is_within(path, [submission]) and not is_kept:
            continue
        reason = _no_source(store, path, entry, MAX_KEPT if is_kept else MAX_PROGRAM)
        if reason is None and len(files) == MAX_FILES:
            reason = f"there are more than {MAX_FILES:,} sources"
        if reason is None and size + store.size(entry.value, path) > MAX_ALL:
            reason = f"the sources are larger than {MAX_ALL:,} bytes"
        contents = b"" if reason is not None else store.read(entry.value, path)
        reason = reason or _not_text(contents)
        if reason is not None:
            left_out[path] = reason
            continue
        files[path], size = contents, size + len(contents)
        if entry.mode & 0o100:
            executable.add(path)
    return ChosenSources(
        files=files,
        executable=frozenset(executable),
        left_out=_shortened([f"{one_line(path)} ({why})" for path, why in left_out.items()]),
        reasons={path: left_out[path] for path in first if path in left_out},
    )


def _named_by(store: ObjectStore, programs: Mapping[str, Entry]) -> frozenset[str]:
    """The words of programs that may be paths."""
    words: set[str] = set()
    for path, entry in programs.items():
        if _no_source(store, path, entry, MAX_PROGRAM) is None:
            text = store.read(entry.value, path).decode("utf-8", errors="replace")
            words.update(PurePosixPath(word).as_posix() for word in _WORD.findall(text))
    return frozenset(words)


def is_within(path: str, places: Collection[str]) -> bool:
    """Whether a path is one of these files, or in one of these folders."""
    return any(PurePosixPath(path).is_relative_to(place) for place in places)


def write_sources(sources: ChosenSources, directory: Path) -> None:
    """Write the files below a directory that only this process writes to."""
    for path, contents in sources.files.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(contents)
        target.chmod(0o755 if path in sources.executable else 0o644)


def _is_cache(path: str) -> bool:
    """Whether Python makes it again by itself."""
    return "__pycache__" in PurePosixPath(path).parts


def _rank(path: str) -> int:
    """0 for programs, 1 for settings and notes, 2 for products."""
    name = PurePosixPath(path)
    if name.suffix.lower() in PROGRAMS or name.name.lower() in NAMES:
        return 0
    return 1 if name.suffix.lower() in SETTINGS else 2


def _no_source(store: ObjectStore, path: str, entry: Entry, most: int) -> str | None:
    """Why a file is not a source, as far as its name and size say; None if it may be one."""
    if entry.kind == "link":
        return "a link"
    if not is_unicode(path):
        return "its name is not UTF-8"
    rank = _rank(path)
    if rank > 1:
        return "no source"
    size, most = store.size(entry.value, path), most if rank == 0 else min(most, MAX_SETTINGS)
    return f"{size:,} bytes, more than {most:,}" if size > most else None


def _not_text(contents: bytes) -> str | None:
    try:
        contents.decode("utf-8")
    except UnicodeDecodeError:
        return "not text"
    return "not text" if b"\0" in contents else None


def _shortened(left_out: list[str]) -> tuple[str, ...]:
    more = len(left_out) - MAX_NAMED
    return (*left_out[:MAX_NAMED], *([f"and {more:,} more"] if more > 0 else []))
