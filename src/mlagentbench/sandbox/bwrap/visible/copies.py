"""Copies of programs of the host, of which a sandbox shows some and not their neighbours.

bubblewrap needs 0.3 ms for each file that is bound by itself, and the time grows with the square of
their number; a directory of copies is bound at once. The copies are kept in the home, by a hash of
what they are copies of.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from mlagentbench.fs import whole_directory
from mlagentbench.home import sandbox_copies_dir

_FORMAT = 1
_EXECUTABLE = 0o755


def directory_of(
    files: Mapping[str, Path],
    links: Mapping[str, str] | None = None,
    moved: Sequence[tuple[str, str]] = (),
) -> Path:
    """A directory with copies of these files and with these links, by name.

    In the copies, paths of the host are replaced by their places in the sandbox: `moved`.
    """
    real = {name: file.resolve() for name, file in files.items()}
    links = links or {}
    key = hashlib.sha256(json.dumps([_FORMAT, _identity(real), links, moved]).encode()).hexdigest()
    directory = sandbox_copies_dir() / key[:32]
    if not directory.is_dir():
        with whole_directory(directory) as unfinished:
            _fill(unfinished, real, links, moved)
    return directory


def _identity(files: Mapping[str, Path]) -> list[tuple[str, str, int, int]]:
    states = ((name, str(file), file.stat()) for name, file in sorted(files.items()))
    return [(name, file, state.st_size, state.st_mtime_ns) for name, file, state in states]


def _fill(
    directory: Path,
    files: Mapping[str, Path],
    links: Mapping[str, str],
    moved: Sequence[tuple[str, str]],
) -> None:
    copies: dict[Path, Path] = {}
    for name, source in files.items():
        copy = directory / name
        if source in copies:
            os.link(copies[source], copy)
            continue
        contents = source.read_bytes()
        for before, after in moved:
            contents = _with_path(contents, before, after)
        copy.write_bytes(contents)
        copy.chmod(_EXECUTABLE)
        copies[source] = copy
    for name, target in links.items():
        (directory / name).symlink_to(target)


def _with_path(contents: bytes, before: str, after: str) -> bytes:
    """A program that finds its files at another place.

    In an executable file no byte may move, so its path is filled up with slashes.
    """
    old, new = os.fsencode(before), os.fsencode(after)
    if not contents.startswith(b"#!"):
        new = new.ljust(len(old), b"/") if len(new) <= len(old) else old
    return contents.replace(old, new)
