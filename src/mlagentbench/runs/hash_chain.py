"""Chained lines: each carries the hash of the line before it, so that changes are noticed.

The journal, grades, judgements and tool replies of a run consist of such lines.

    {"n":3, ... ,"before":"<sha256>","token":"<holder>","check":"<sha256>"}

`before` is the sha256 of the previous line's bytes without its newline. In the first line of a file
it is the sha256 of run.json, which is written first and never rewritten. `check` is the sha256 of
the line's own bytes up to `,"check"`. `token` names the holder of the run. A line of grades or
judgements also carries `journal`, the hash of the journal's last line at that time. A line that was
changed, removed, inserted, repeated or moved breaks the chain.

A line is one write, so a crash can only tear the last line of a file. A torn line is not read.

Tokens begin with a number, the generation of their lease (lease.py): who takes a run over has a
larger one. The first line with a new token follows the last line that its writer has read. Lines of
an older token that the former holder wrote at the same time or later are ignored, and so are lines
that it tore. All readers use `accepted_lines`, so they agree on what a file says.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mlagentbench.errors import RunFailed, UsageError
from mlagentbench.fs import (
    disk_trouble,
    fsync_directory,
    open_regular,
    parse_json,
    read_regular,
    write_all,
)
from mlagentbench.records import Json
from mlagentbench.runs.lease import Lease

FORMAT = 2
"""The version of all files in a run directory."""
READ_BY = {1: "0.1.0", 2: "0.2.0"}
"""The version of mlagentbench that reads each format."""
NO_HOLDER = "none"
"""The token in files that are written whole, or where no other process can write."""
SEAL = {"before", "token", "journal", "check"}
"""What the chain adds to what a line carries."""
RECORD = "run.json"
LONGEST_FORMAT = 40
"""Characters that are shown of what should be a format's number."""
TAIL = 1 << 13
"""Bytes that are read first of a file's end."""
_SEAL = re.compile(
    rb',"before":"(?P<before>[0-9a-f]{64})","token":"(?P<token>[^"\\]*)"'
    rb'(?:,"journal":"(?P<journal>[0-9a-f]{64})")?,"check":"(?P<check>[0-9a-f]{64})"\}\Z'
)
_LONGEST_SEAL = 512
APPENDED = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ChainBroken(UsageError):
    """A line is not the one that was written there."""

    def __init__(self, path: Path, fault: str) -> None:
        either = f"the file or {RECORD} was altered; copy both" if f"from {RECORD}" in fault else ""
        super().__init__(
            f"{path}, {fault}: {either or 'the file was altered; copy it'} from a backup, or start "
            "again with another --out"
        )


def require_format(run: Path, found: Json, file: str = RECORD) -> None:
    """A UsageError when a file of a run directory has another format than this version reads."""
    number = found if isinstance(found, int) and not isinstance(found, bool) else 0
    if number == FORMAT:
        return
    reader, newer = READ_BY.get(number), number > FORMAT
    named = "no format" if found is None else f"format {json.dumps(found)[:LONGEST_FORMAT]}"
    other = f"mlagentbench {reader}" if reader else f"a {'newer' if newer else 'different'} version"
    raise UsageError(
        f"{run}: {file} has {named}, and mlagentbench {READ_BY[FORMAT]} reads format "
        f"{FORMAT}; read this run with {other}"
    )


# Bytes


def line_hash(raw: bytes) -> str:
    """The hash of a line, given without its newline."""
    return hashlib.sha256(raw).hexdigest()


def first_hash(path: Path) -> str:
    """What the first line of a file follows: run.json beside it, or nothing where there is none."""
    return line_hash(_contents(path.with_name(RECORD)))


def _contents(path: Path) -> bytes:
    """The bytes of a file of a run; none for no file."""
    try:
        return read_regular(path)
    except FileNotFoundError:
        return b""


def sealed(
    payload: bytes, before: str, token: str = NO_HOLDER, journal: str | None = None
) -> bytes:
    """A line, without its newline, from the JSON object that it carries; all writers use this."""
    named = f',"before":"{before}","token":"{token}"'
    if journal is not None:
        named += f',"journal":"{journal}"'
    body = payload[:-1] + named.encode()
    return body + f',"check":"{line_hash(body)}"}}'.encode()


def payload_of(raw: bytes) -> bytes:
    """The JSON object that a line carries, also of a line that was rewritten; else all of it."""
    seal = _seal_of(raw)
    if seal is not None:
        return raw[: len(raw) - len(seal[0])] + b"}"
    try:
        values = parse_json(raw)
    except ValueError:
        return raw
    if not isinstance(values, dict) or not SEAL & values.keys():
        return raw
    return json.dumps({name: values[name] for name in values if name not in SEAL}).encode()


def chained(payloads: Iterable[bytes], first: str) -> bytes:
    """A whole file of lines; the first one follows the hash given."""
    lines, before = [], first
    for payload in payloads:
        raw = sealed(payload, before)
        before = line_hash(raw)
        lines.append(raw + b"\n")
    return b"".join(lines)


def _seal_of(raw: bytes) -> re.Match[bytes] | None:
    return _SEAL.search(raw[-_LONGEST_SEAL:])


# Reading


@dataclass(frozen=True)
class Accepted:
    """What counts of a file: its lines without newlines, and the number of those ignored."""

    lines: list[bytes]
    ignored: int
    size: int
    """Bytes of all whole lines; a torn last line comes after them."""


def accepted_lines(path: Path) -> Accepted:
    """The lines of a file, without those that a former holder wrote after it had lost the run."""
    contents = _contents(path)
    *lines, tail = contents.split(b"\n")
    kept = list(lines) if _of_one_holder(lines) else _without_stale(lines, first_hash(path))
    while tail and kept and _is_torn(kept[-1]):  # its next holder tore the line below it, too
        kept.pop()
    return Accepted(kept, len(lines) - len(kept), len(contents) - len(tail))


def _of_one_holder(lines: list[bytes]) -> bool:
    return len({None if seal is None else seal["token"] for seal in map(_seal_of, lines)}) <= 1


def _without_stale(lines: Iterable[bytes], first: str) -> list[bytes]:
    """Follow the chain from holder to holder.

    A line is only ignored if it is intact or torn, and the chain passes it by. So a line that was
    altered stays, and is found by its hash.
    """
    kept: list[bytes] = []
    length_at = {first: 0}
    newest = 0
    for raw in lines:
        seal = _seal_of(raw)
        if seal is not None and _is_intact(raw, seal):
            generation = _generation(seal)
            if generation < newest:
                continue
            follows = length_at.get(seal["before"].decode(), len(kept))
            if all(_may_be_stale(one, generation) for one in kept[follows:]):
                del kept[follows:]
            newest = generation
        kept.append(raw)
        length_at[line_hash(raw)] = len(kept)
    return kept


def _may_be_stale(raw: bytes, generation: int) -> bool:
    """Whether a former holder wrote or tore a line that the chain passes by."""
    seal = _seal_of(raw)
    if seal is None:
        return generation > 1 and _is_torn(raw)
    return _is_intact(raw, seal) and _generation(seal) < generation


def _is_torn(raw: bytes) -> bool:
    """Whether a line is only the beginning of one."""
    if _seal_of(raw) is not None:
        return False
    try:
        parse_json(raw)
    except ValueError:
        return True
    return False


def _is_intact(raw: bytes, seal: re.Match[bytes]) -> bool:
    return line_hash(raw[: raw.rindex(b',"check":"')]) == seal["check"].decode()


def _generation(seal: re.Match[bytes]) -> int:
    number = seal["token"].partition(b"-")[0]
    return int(number) if number.isdigit() else 0


def newest_generation(paths: Iterable[Path]) -> int:
    """The largest generation of a token in some files: they may have come without their leases."""
    return max((_newest_generation(accepted_lines(path).lines) for path in paths), default=0)


def _newest_generation(lines: Iterable[bytes]) -> int:
    seals = map(_seal_of, lines)
    return max((_generation(seal) for seal in seals if seal is not None), default=0)


def whole_lines(path: Path) -> list[bytes]:
    """The lines of a file without their newlines; none for no file. A torn last line is dropped."""
    return accepted_lines(path).lines


def payloads(path: Path) -> Iterator[bytes]:
    """What the lines of a file carry, whether the chain holds or not."""
    return map(payload_of, whole_lines(path))


class PlacedLine(NamedTuple):
    """A line without its newline, and where in its file the newline ends."""

    raw: bytes
    end: int


def lines_from_end(handle: int) -> Iterator[PlacedLine]:
    """The whole lines of a file, the last one first; of a long file only the end is read."""
    start = end = os.fstat(handle).st_size
    block, rest, is_whole = TAIL, b"", False
    while start > 0:
        size = min(block, start)
        start, block = start - size, 2 * block
        rest, *lines = (os.pread(handle, size, start) + rest).split(b"\n")
        if lines and not is_whole:
            end -= len(lines.pop())  # a torn line, or nothing
            is_whole = True
        for raw in reversed(lines):
            yield PlacedLine(raw, end)
            end -= len(raw) + 1
    if is_whole:
        yield PlacedLine(rest, end)


def last_hash(path: Path) -> str:
    """The hash of a file's last whole line; where there is none, what the first would follow."""
    lines = whole_lines(path)
    return line_hash(lines[-1]) if lines else first_hash(path)


def find_fault(lines: Iterable[bytes], first: str) -> str | None:
    """The first line that is not the one that was written there; None when the chain holds."""
    before, previous = first, RECORD
    for number, raw in enumerate(lines, start=1):
        seal = _seal_of(raw)
        if seal is None:
            return f"line {number} carries no hash of the line before it"
        if not _is_intact(raw, seal):
            return f"line {number} does not match its own hash"
        if seal["before"].decode() != before:
            found = seal["before"].decode()
            return (
                f"line {number} does not follow from {previous} "
                f"(expected before {before[:12]}, found {found[:12]})"
            )
        before, previous = line_hash(raw), f"line {number}"
    return None


def require_chain(path: Path, others: Iterable[Path] = ()) -> None:
    """ChainBroken names the first line of a file that is not the one that was written there.

    Of a journal, the run's other files tell whether its end is missing.
    """
    if (fault := find_journal_fault(path, others)) is not None:
        raise ChainBroken(path, fault)


def find_journal_fault(journal: Path, others: Iterable[Path]) -> str | None:
    """Why a journal is not the one that was written; None when it is."""
    return _Chains(journal, others).journal_fault


def find_faults(journal: Path, others: Iterable[Path]) -> Iterator[str]:
    """Why the chains of a run's files do not hold, a sentence a file; nothing when they all do."""
    chains = _Chains(journal, others)
    for name, fault in ((journal.name, chains.journal_fault), *chains.faults.items()):
        if fault is not None:
            yield f"{name} was altered: {fault}"


class _Chains:
    """The first fault of a run's journal, and of each of its other files."""

    def __init__(self, journal: Path, others: Iterable[Path]) -> None:
        first = first_hash(journal)
        read = {path.name: whole_lines(path) for path in others}
        # The journal is read last: it may grow meanwhile, and lines elsewhere name its lines.
        own = whole_lines(journal)
        self.faults = {name: find_fault(lines, first) for name, lines in read.items()}
        sound = {name: lines for name, lines in read.items() if self.faults[name] is None}
        known = {first, *map(line_hash, own)}
        self.journal_fault = find_fault(own, first) or _lost_line(sound, known)


def _lost_line(files: dict[str, list[bytes]], known: set[str]) -> str | None:
    """Which line of other files was written after a line that the journal does not have."""
    for name, lines in files.items():
        for number, raw in enumerate(lines, start=1):
            seal = _seal_of(raw)
            if seal is not None and seal["journal"] and seal["journal"].decode() not in known:
                return f"the line is missing after which line {number} of {name} was written"
    return None


# Writing


class ChainedFile:
    """A file of chained lines open for appending; its last hash is kept, not read again."""

    def __init__(
        self, path: Path, lease: Lease | None = None, read: Accepted | None = None
    ) -> None:
        """Open a file after the lines `read`; without a lease, no other process may write to it."""
        self.path = path
        self._lease = lease
        is_new = not path.exists()
        self._handle = os.open(path, APPENDED, 0o644)
        try:
            if is_new:
                fsync_directory(path.parent)
            self.last_hash, self._size = self._end() if read is None else self._end_of(read)
            if lease is None and self._size < os.fstat(self._handle).st_size:
                os.ftruncate(self._handle, self._size)
        except BaseException:
            os.close(self._handle)
            raise

    def _end(self) -> tuple[str, int]:
        """The last hash, and where the next line begins; of our own lines only the last is read."""
        last, size = next(lines_from_end(self._handle), (None, 0))
        seal = None if last is None else _seal_of(last)
        if last is not None and seal is not None and seal["token"].decode() == self._token:
            return line_hash(last), size
        return self._end_of(accepted_lines(self.path))

    def _end_of(self, read: Accepted) -> tuple[str, int]:
        if self._lease is None and _newest_generation(read.lines) > 0:
            reason = f"{self.path} belongs to a run that this process does not hold"
            raise RunFailed("harness", reason)
        last = line_hash(read.lines[-1]) if read.lines else first_hash(self.path)
        return last, read.size

    @property
    def _token(self) -> str:
        return NO_HOLDER if self._lease is None else self._lease.token

    def append(self, payload: bytes, *, sync: bool = True, journal: str | None = None) -> None:
        """Add a line, on disk where `sync` says so; one that does not fit is a RunFailed.

        Then the file is as it was before. LeaseLost when another process has taken the run over.
        """
        if self._lease is not None:
            self._lease.require()
        raw = sealed(payload, self.last_hash, self._token, journal)
        size = os.fstat(self._handle).st_size
        # A part of a line may be a former holder's, who may still write: it is not cut off.
        contents = (b"\n" if size != self._size and self._is_torn(size) else b"") + raw + b"\n"
        try:
            write_all(self._handle, contents)
            if sync:
                os.fdatasync(self._handle)
        except OSError as error:
            if os.fstat(self._handle).st_size <= size + len(contents):
                os.ftruncate(self._handle, size)
            raise _not_written(self.path, error) from error
        self.last_hash = line_hash(raw)
        self._size = size + len(contents)

    def _is_torn(self, size: int) -> bool:
        return size > 0 and os.pread(self._handle, 1, size - 1) != b"\n"

    def close(self) -> None:
        os.close(self._handle)


def append_line(
    path: Path, payload: bytes, journal: Path | None = None, lease: Lease | None = None
) -> None:
    """Append one line to a file of a run that this process holds; it is on disk then.

    With a journal, the line names the journal's last line. RunFailed when the line does not fit.
    """
    try:
        with closing(ChainedFile(path, lease)) as file:
            file.append(payload, journal=None if journal is None else _synced_hash(journal))
    except OSError as error:
        raise _not_written(path, error) from error


def _synced_hash(journal: Path) -> str:
    """The hash of a journal's last line, which is on disk then: no crash takes it back."""
    if journal.exists():
        with open_regular(journal) as file:
            os.fdatasync(file.fileno())
    return last_hash(journal)


def _not_written(path: Path, error: OSError) -> RunFailed:
    return RunFailed("harness", f"cannot write {path}: {disk_trouble(error)}")
