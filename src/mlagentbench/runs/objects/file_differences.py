"""What distinguishes two submissions, in a few words."""

import hashlib
from itertools import zip_longest
from pathlib import Path

from mlagentbench.untrusted_text import one_line

MAX_TEXT = 50_000_000
"""Bytes of a file that is compared row by row."""
NAMED = 5


def submission_difference(submitted: Path, rebuilt: Path) -> str | None:
    """How the regular files below two directories differ; None if they do not."""
    before, after = _files(submitted), _files(rebuilt)
    found = [f"{name} was not made again" for name in sorted(before.keys() - after.keys())]
    found += [f"{name} was not submitted" for name in sorted(after.keys() - before.keys())]
    for name in sorted(before.keys() & after.keys()):
        difference = _file_difference(before[name], after[name])
        if difference is not None:
            found.append(f"{name}: {difference}")
    more = len(found) - NAMED
    shown = found[:NAMED] + ([f"and {more} more files"] if more > 0 else [])
    return one_line("; ".join(shown)) or None


def _files(directory: Path) -> dict[str, Path]:
    return {
        path.relative_to(directory).as_posix(): path
        for path in directory.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def _file_difference(before: Path, after: Path) -> str | None:
    hashes = [_hash(path) for path in (before, after)]
    if hashes[0] == hashes[1]:
        return None
    rows = _differing_rows(before, after) if before.suffix in (".csv", ".tsv", ".txt") else None
    sizes = [f"{path.stat().st_size:,}" for path in (before, after)]
    facts = (
        f"{sizes[0]} bytes (sha256 {hashes[0][:12]}) submitted, "
        f"{sizes[1]} bytes ({hashes[1][:12]}) made again"
    )
    return facts if rows is None else f"{rows}; {facts}"


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _differing_rows(before: Path, after: Path) -> str | None:
    """Such as "312 of 400 rows differ"; None for files that have no rows, or too many."""
    if max(before.stat().st_size, after.stat().st_size) > MAX_TEXT:
        return None
    old, new = (path.read_bytes().splitlines() for path in (before, after))
    header = 1 if old[:1] == new[:1] else 0
    differing = sum(a != b for a, b in zip_longest(old, new))
    total = max(len(old), len(new)) - header
    return f"{differing:,} of {total:,} rows differ"
