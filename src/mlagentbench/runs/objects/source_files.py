"""The source files of a snapshot: what a person writes, not what a program makes.

| file                                            | is                                      |
|-------------------------------------------------|-----------------------------------------|
| programs, scripts, build files, up to 256 KB    | source                                  |
| settings and notes (json, yaml, txt, md ...),   | source                                  |
| up to 32 KB                                     |                                         |
| arrays, weights, tables, notebooks, all others  | a product                               |
| what is in the submission                       | a product, unless the task says that it |
|                                                 | is written by hand                      |
| what is not UTF-8, or has a NUL                 | a product                               |
| links                                           | not followed, and left out              |
"""

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from mlagentbench.records import Record
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, walk

MAX_PROGRAM = 256_000
"""Bytes of a program."""
MAX_SETTINGS = 32_000
"""Bytes of a file of settings or notes; a program that needs more reads the data."""
MAX_ALL = 4_000_000
"""Bytes of all sources together."""
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


class ChosenSources(Record):
    """The sources of a snapshot by their path, and what was left out."""

    files: dict[str, bytes]
    executable: frozenset[str]
    left_out: tuple[str, ...]
    """Each with the reason in brackets."""


def choose_sources(
    store: ObjectStore,
    snapshot: str,
    submission: str,
    written_by_hand: Collection[str] = (),
    elsewhere: Collection[str] = (),
) -> ChosenSources:
    """The sources of a snapshot.

    `written_by_hand` are the files and folders in the submission that are sources; `elsewhere` are
    top-level names that are laid out from the task and its data.
    """
    files: dict[str, bytes] = {}
    executable = set()
    left_out = []
    for path, entry in walk(store, snapshot):
        if entry.kind == "directory" or PurePosixPath(path).parts[0] in elsewhere:
            continue
        if _is_cache(path):
            continue
        is_product = is_within(path, [submission]) and not is_within(path, written_by_hand)
        reason = "in the submission" if is_product else _no_source(store, path, entry)
        if reason is None:
            contents = store.read(entry.value, path)
            reason = _not_text(contents)
            if sum(map(len, files.values())) + len(contents) > MAX_ALL:
                reason = f"the sources are larger than {MAX_ALL:,} bytes"
        if reason is not None:
            left_out.append(f"{path} ({reason})")
            continue
        files[path] = contents
        if entry.mode & 0o100:
            executable.add(path)
    return ChosenSources(
        files=files, executable=frozenset(executable), left_out=_shortened(left_out)
    )


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


def _no_source(store: ObjectStore, path: str, entry: Entry) -> str | None:
    """Why a file is not a source, as far as its name and size say; None if it may be one."""
    if entry.kind == "link":
        return "a link"
    name = PurePosixPath(path)
    is_program = name.suffix.lower() in PROGRAMS or name.name.lower() in NAMES
    if not is_program and name.suffix.lower() not in SETTINGS:
        return "no source"
    size, most = store.size(entry.value, path), MAX_PROGRAM if is_program else MAX_SETTINGS
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
