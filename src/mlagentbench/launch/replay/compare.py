"""Compare a step with its replay: observation, output and changed files.

Times, memory addresses and the directories of files are not compared. Numbers may differ by the
tolerance, relative to the larger one; everything else must be the same.
"""

import math
from collections.abc import Iterator

from mlagentbench.launch.replay.result import RANK, Agreement, Compared
from mlagentbench.models.prompt_matching import normalised, numbers_in, without_times
from mlagentbench.records import Observation
from mlagentbench.runs.objects.object_store import ObjectStore
from mlagentbench.runs.objects.snapshot_trees import Entry, changes

LARGEST_TEXT = 20_000_000
"""Larger files, in bytes, are not compared as texts."""
LONGEST_QUOTE = 100
SMALLEST = 1e-12
"""Numbers that differ by less are the same, also near 0."""
COMPILED = ".pyc"
"""These files contain the time of their creation."""

TIME = "wall time"
"""The limit on a command's time."""

Pair = tuple[Entry | None, Entry | None]
"""The entries at a path in the record and in the replay."""


def worst(compared: list[Compared]) -> Agreement:
    """The agreement of several things together."""
    return max((one.agreement for one in compared), key=RANK.__getitem__, default="same")


class StepComparer:
    """Compares step after step; a differing file is reported once, not in every later step."""

    def __init__(self, tolerance: float, objects: ObjectStore) -> None:
        self._tolerance = tolerance
        self._objects = objects
        self._known: dict[str, Pair] = {}

    def observations(self, then: Observation, now: Observation) -> Iterator[Compared]:
        """What differs between two observations."""
        if (then.status, then.exit_code) != (now.status, now.exit_code):
            reason = f"was {_status(then)}, is {_status(now)}"
            yield Compared(what="status", agreement="different", reason=reason)
        if not ended_by_time(then, now):
            yield from self.texts("observation", then.text, now.text)

    def printed_in_time(self, then: str, now: str) -> Iterator[Compared]:
        """Differences in the output of two commands that timed out, as far as both got.

        The last two lines may be incomplete, or about the timeout.
        """
        before, after = then.splitlines()[:-2], now.splitlines()[:-2]
        both = min(len(before), len(after))
        yield from self.texts("output", "\n".join(before[:both]), "\n".join(after[:both]))

    def texts(self, what: str, then: str, now: str) -> Iterator[Compared]:
        """Differences between two texts, ignoring times."""
        old, new = without_times(then), without_times(now)
        if old == new:
            return
        if _without_numbers(old) != _without_numbers(new):
            yield Compared(what=what, agreement="different", reason=_first_difference(then, now))
            return
        pairs = list(zip(numbers_in(old), numbers_in(new), strict=True))
        off = [pair for pair in pairs if not self.close(*pair)]
        if off:
            reason = (
                f"{len(off)} of {len(pairs)} numbers, the first was {off[0][0]:g}, is {off[0][1]:g}"
            )
            yield Compared(what=what, agreement="different", reason=reason)
        elif any(one != other for one, other in pairs):
            most = max(_share(*pair) for pair in pairs)
            reason = f"numbers differ by up to {most:.1g} of their size"
            yield Compared(what=what, agreement="within tolerance", reason=reason)

    def close(self, then: float, now: float) -> bool:
        return math.isclose(then, now, rel_tol=self._tolerance, abs_tol=SMALLEST)

    def files(self, then: str, now: str) -> Iterator[Compared]:
        """Files that differ between two snapshots, unless they differed the same way before."""
        differing = {
            change.path: (change.before, change.after)
            for change in changes(self._objects, then, now)
            if not change.path.endswith(COMPILED) and _contents(change.before, change.after)
        }
        for path, pair in differing.items():
            if self._known.get(path) != pair:
                yield from self._file(path, *pair)
        self._known = differing

    def _file(self, path: str, then: Entry | None, now: Entry | None) -> Iterator[Compared]:
        what = f"file {path}"
        if then is None or now is None or then.kind != now.kind:
            reason = f"was {_kind(then)}, is {_kind(now)}"
            yield Compared(what=what, agreement="different", reason=reason)
            return
        texts = [self._text(then), self._text(now)]
        if texts[0] is None or texts[1] is None:
            yield Compared(what=what, agreement="different", reason="different bytes")
        else:
            yield from self.texts(what, texts[0], texts[1])

    def _text(self, entry: Entry) -> str | None:
        """A file as a text; None when it is not text or too large."""
        if entry.kind == "link":
            return entry.value
        if self._objects.size(entry.value) > LARGEST_TEXT:
            return None
        try:
            return self._objects.read(entry.value).decode()
        except UnicodeDecodeError:
            return None


def ended_by_time(then: Observation, now: Observation) -> bool:
    """Whether both commands timed out; how far they got by then is chance."""
    return then.limit == now.limit == TIME


def _share(then: float, now: float) -> float:
    return abs(then - now) / max(abs(then), abs(now), SMALLEST)


def _without_numbers(text: str) -> tuple[str, int]:
    """A text without its numbers, and their count."""
    return normalised(text), len(numbers_in(text))


def _contents(then: Entry | None, now: Entry | None) -> bool:
    """Whether more differs than modes, or the contents of a directory."""
    kinds = {entry.kind for entry in (then, now) if entry is not None}
    if kinds == {"directory"}:
        return then is None or now is None
    return then is None or now is None or (then.kind, then.value) != (now.kind, now.value)


def _kind(entry: Entry | None) -> str:
    return "missing" if entry is None else f"a {entry.kind}"


def _status(observation: Observation) -> str:
    code = "" if observation.exit_code is None else f", exit code {observation.exit_code}"
    return f"{observation.status}{code}"


def _first_difference(then: str, now: str) -> str:
    old, new = then.splitlines(), now.splitlines()
    pairs = enumerate(zip(old, new, strict=False), start=1)
    parted = next(
        (at for at, (one, other) in pairs if _without_numbers(one) != _without_numbers(other)),
        None,
    )
    if parted is not None:
        return f"line {parted} was {_short(old[parted - 1])}, is {_short(new[parted - 1])}"
    more, what = (old, "is missing") if len(old) > len(new) else (new, "is new")
    place = min(len(old), len(new))
    quote = f": {_short(more[place])}" if place < len(more) else ""
    return f"line {place + 1} {what}{quote}"


def _short(line: str) -> str:
    line = line.strip()
    return repr(line if len(line) <= LONGEST_QUOTE else f"{line[:LONGEST_QUOTE]}…")
