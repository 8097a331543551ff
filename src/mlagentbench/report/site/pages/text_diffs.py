"""Differences between two texts, and the files that a step changed in the workspace."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from mlagentbench.runs.objects.object_store import ObjectLost, ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, PathChange, changes
from mlagentbench.untrusted_text import visible

MOST_BYTES = 60_000
"""Larger files are not compared line by line."""
MOST_LINES = 300
"""Lines of one difference that are shown."""
MOST_FILES = 20
CONTEXT = 3
TABLES = (".csv", ".tsv", ".jsonl", ".log")
"""Data files, whose changes are not shown line by line."""

BlockKind = Literal["same", "removed", "added", "place"]
SIGNS: dict[BlockKind, str] = {"same": " ", "removed": "-", "added": "+", "place": ""}


@dataclass(frozen=True)
class Block:
    """Lines of one kind that follow each other; each begins with the kind's sign."""

    kind: BlockKind
    text: str


@dataclass(frozen=True)
class FileChange:
    """A file that a step created, changed or removed."""

    path: str
    words: str
    blocks: tuple[Block, ...] = ()
    left_out: int = 0
    """Lines of the difference that are not shown."""


@dataclass(frozen=True)
class WorkspaceChange:
    """What a step changed; `missing` is the reason when that is unknown."""

    files: tuple[FileChange, ...] = ()
    left_out: int = 0
    missing: str = ""


def compare(before: Sequence[str], after: Sequence[str], context: int = CONTEXT) -> list[Block]:
    """The difference of two lists of lines, with some lines around each change."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    blocks: list[Block] = []
    for group in matcher.get_grouped_opcodes(context):
        if group[0][1] > 0 or group[0][3] > 0:
            blocks.append(Block("place", f"… line {group[0][3] + 1}\n"))
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                blocks.append(_block("same", after[new_from:new_to]))
                continue
            if old_to > old_from:
                blocks.append(_block("removed", before[old_from:old_to]))
            if new_to > new_from:
                blocks.append(_block("added", after[new_from:new_to]))
    return blocks


def _block(kind: BlockKind, lines: Sequence[str]) -> Block:
    return Block(kind, "".join(f"{SIGNS[kind]} {visible(line)}\n" for line in lines))


def cut(blocks: Sequence[Block], most: int) -> tuple[tuple[Block, ...], int]:
    """The first lines of a difference, and how many more there are."""
    first: list[Block] = []
    room = most
    left_out = 0
    for block in blocks:
        lines = block.text.splitlines(keepends=True)
        if room > 0:
            first.append(Block(block.kind, "".join(lines[:room])))
        left_out += max(0, len(lines) - max(room, 0))
        room -= len(lines)
    return tuple(first), left_out


def workspace_change(
    store: ObjectStore, before: str, after: str, most_lines: int
) -> WorkspaceChange:
    """What differs between the snapshots before and after a step."""
    if before == after:
        return WorkspaceChange()
    try:
        changed = list(_files(changes(store, before, after)))
    except ObjectLost as lost:
        return WorkspaceChange(missing=lost.detail)
    files = [_file_change(store, change, most_lines) for change in changed[:MOST_FILES]]
    return WorkspaceChange(tuple(files), max(0, len(changed) - MOST_FILES))


def _files(found: Iterator[PathChange]) -> Iterator[PathChange]:
    for change in found:
        kinds = {entry.kind for entry in (change.before, change.after) if entry is not None}
        if kinds != {"directory"}:
            yield change


def _file_change(store: ObjectStore, change: PathChange, most_lines: int) -> FileChange:
    try:
        return _compared(store, change, most_lines)
    except ObjectLost as lost:
        return FileChange(visible(change.path), f"unknown: {lost.detail}")


def _compared(store: ObjectStore, change: PathChange, most_lines: int) -> FileChange:
    was, now = _described(store, change.before), _described(store, change.after)
    if change.before is None:
        words = f"new, {now}"
    elif change.after is None:
        words = f"removed, was {was}"
    else:
        words = now if was == now else f"{was}, now {now}"
    path = visible(change.path)
    if change.path.endswith(TABLES):
        return FileChange(path, words)
    before, after = _lines(store, change.before), _lines(store, change.after)
    if before is None or after is None:
        return FileChange(path, f"{words}; not compared: too large, or not text")
    blocks, left_out = cut(compare(before, after), most_lines)
    return FileChange(path, words, blocks, left_out)


def _described(store: ObjectStore, entry: Entry | None) -> str:
    if entry is None:
        return ""
    if entry.kind == "link":
        return f"a link to {visible(entry.value)}"
    if entry.kind == "directory":
        return "a directory"
    return f"{store.size(entry.value, entry.name):,} bytes"


def _lines(store: ObjectStore, entry: Entry | None) -> list[str] | None:
    """A text file's lines; None for a file that is not text or too large."""
    if entry is None:
        return []
    if entry.kind != "file" or store.size(entry.value, entry.name) > MOST_BYTES:
        return None
    contents = store.read(entry.value, entry.name)
    if b"\0" in contents:
        return None
    try:
        return contents.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return None
