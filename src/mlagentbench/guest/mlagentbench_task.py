"""What a task's prepare.py, mini.py, full.py, trivial.py, requests.py and grade.py may import.

Standard library only: it is laid beside the task's files in the sandbox in which they run, where
nothing else of this package is visible.
"""

import csv
import errno
import json
import math
import os
import stat
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

CANARY = (
    "MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: "
    "benchmark data must not be in training corpora"
)
"""Stands in every problem text, solution and answer file; a model that knows it has read them."""
CANARY_LINE = f"# {CANARY}"
"""The first line of every CSV file in private/, put there after prepare()."""
MAX_FILE_BYTES = 2_000_000_000
SPARE_ROWS = 1000
"""A table may have twice the expected rows and so many more: what is wrong is then said exactly."""
MAX_RECORD = 2_000_000
"""Characters of one row of a table."""
LEAST_ROWS = 20
"""A raw table with fewer rows is too small for a training and a test part."""
LONGEST_REASON = 300
"""Characters that are quoted of the error of a file that cannot be read."""
NAMES_SHOWN = 5
CONTROL_TOLERANCE = 0.05
"""Starter against starter: timed grading is repeated when the ratio is further from 1."""
SPREAD_FACTOR = 2.0
"""A submission whose times vary this many times as much as the control's is scored by its worse
quartile."""
USUAL_SPREAD = 0.5
"""Less is never held against a submission: programs of a millisecond vary by up to this much on a
calm machine, in which the control, as long as the starter, varies little."""

_ERRNOS_OF_FILES = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL)
"""A missing file, a folder instead of a file, and a place beyond the end of a damaged archive."""


class InvalidSubmission(Exception):
    """The submission cannot be scored; the text says why, in words that help to mend it."""


class BrokenRule(InvalidSubmission):
    """The submission provably breaks a rule of the task; the text names the rule and the proof."""


@dataclass(frozen=True)
class Grade:
    """A score in the task's metric, and figures reported beside it."""

    score: float
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Findings:
    """What check_raw() returns: how raw files differ from the official data.

    Differences can be accepted. Faults cannot: prepare() would fail, or its data would be useless.
    """

    differences: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def expect(self, what: str, found: object, expected: object) -> None:
        """Note a value that is not the official one."""
        if found != expected:
            self.differences.append(f"{what}: {_as_text(found)}, expected {_as_text(expected)}")

    def expect_between(self, what: str, found: float, least: float, most: float) -> None:
        """Note a value outside of the range that the official data are in."""
        if not least <= found <= most:
            span = f"{_as_text(least)} to {_as_text(most)}"
            self.differences.append(f"{what}: {_as_text(found)}, expected {span}")

    def expect_count(self, what: str, found: int, expected: int) -> None:
        """Note a count that is not the official one; none at all is a fault."""
        (self.expect if found else self.require)(what, found, expected)

    def require(self, what: str, found: object, expected: object) -> None:
        """Note a value without which the files cannot be used."""
        if found != expected:
            self.faults.append(f"{what}: {_as_text(found)}, expected {_as_text(expected)}")

    def require_at_least(self, what: str, found: int, least: int) -> None:
        """Note that there is too little of something for a training and a test part."""
        if found < least:
            self.faults.append(f"{what}: {_as_text(found)}, expected at least {_as_text(least)}")

    @contextmanager
    def reading(self, file: str) -> Iterator[None]:
        """Note that the file cannot be read if the block fails, and go on after it.

        Errors of the machine are raised: too little memory, or too many open files.
        """
        try:
            yield
        except Exception as error:
            if _is_of_the_machine(error):
                raise
            reason = " ".join(f"{_class_name(error)}: {error}".split())
            self.faults.append(f"{file}: cannot be read: {reason[:LONGEST_REASON]}")

    def read_columns(
        self, file: Path, columns: Sequence[str], rows: int, ids: Sequence[str]
    ) -> dict[str, list[str]]:
        """The cells of an official CSV file by column, after its form was checked.

        `rows` is the official number of rows; no two rows have the same values in the columns
        `ids`. Columns that are missing are left out, and so are rows that are too short or long.
        """
        header, found = [], []
        with self.reading(file.name), file.open(newline="", encoding="utf-8-sig") as handle:
            header, *found = [row for row in _csv_records(handle, file.name) if row] or [[]]
            if not header:
                self.faults.append(f"{file.name} is empty")
        if not header:
            return {}
        self._check_header(file.name, header, columns)
        uneven = [number for number, row in enumerate(found, 1) if len(row) != len(header)]
        if uneven:
            what = f"rows of {file.name} with another number of values than the header"
            first = f"the first is row {_as_text(uneven[0])}"
            self.faults.append(f"{what}: {_as_text(len(uneven))}; {first}")
        if len(found) < LEAST_ROWS:
            self.require_at_least(f"rows of {file.name}", len(found), LEAST_ROWS)
        else:
            self.expect(f"rows of {file.name}", len(found), rows)
        even = [row for row in found if len(row) == len(header)]
        cells = {
            name: [row[place] for row in even]
            for place, name in enumerate(header)
            if name in columns
        }
        if all(name in cells for name in ids):
            keys = list(zip(*(cells[name] for name in ids), strict=True))
            what = f"rows of {file.name} with the {' and '.join(ids)} of another row"
            self.require(what, len(keys) - len(set(keys)), 0)
        return cells

    def _check_header(self, file: str, header: Sequence[str], columns: Sequence[str]) -> None:
        missing = [name for name in columns if name not in header]
        if missing:
            count = f"{len(missing)} of {len(columns)}"
            self.faults.append(f"columns missing in {file}: {count}: {_shortened(missing)}")
        others = [name for name in header if name not in columns]
        if others:
            self.differences.append(
                f"columns of {file} that the official file does not have: {len(others)}: "
                f"{_shortened(others)}"
            )
        self.require(f"repeated columns in {file}", len(header) - len(set(header)), 0)

    def check_numbers(
        self, what: str, cells: Sequence[str], least: float, most: float, *, gaps: bool = False
    ) -> None:
        """Note labels that are no numbers, and those outside of the official range.

        With `gaps`, some may be empty, but not all.
        """
        filled = [cell for cell in cells if cell.strip()]
        if not gaps:
            self.require(f"empty cells in {what}", len(cells) - len(filled), 0)
        elif cells and not filled:
            self.faults.append(f"all cells in {what} are empty")
        wrong = [cell for cell in filled if not _is_number(cell)]
        if wrong:
            self.faults.append(
                f"cells in {what} that are no numbers: {_as_text(len(wrong))}, first: "
                f"{wrong[0][:50]!r}"
            )
        numbers = [float(cell) for cell in filled if _is_number(cell)]
        outside = sum(not least <= number <= most for number in numbers)
        self.expect(f"numbers in {what} outside of {least:,} to {most:,}", outside, 0)

    def check_choices(self, what: str, cells: Sequence[str], choices: Sequence[str]) -> None:
        """Note labels other than these."""
        wrong = [cell for cell in cells if cell not in choices]
        if wrong:
            self.faults.append(
                f"cells in {what} that are not {' or '.join(choices)}: {_as_text(len(wrong))}, "
                f"first: {wrong[0][:50]!r}"
            )


def _is_of_the_machine(error: Exception) -> bool:
    """Whether an error tells nothing about the file that was read."""
    if isinstance(error, OSError):
        return error.errno is not None and error.errno not in _ERRNOS_OF_FILES
    return isinstance(error, MemoryError)


def _class_name(error: Exception) -> str:
    """The name of an error's class as tracebacks have it."""
    kind = type(error)
    return f"{kind.__module__}.{kind.__name__}".removeprefix("builtins.")


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _shortened(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(name[:50] for name in names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown} and {len(names) - NAMES_SHOWN} more"


def _as_text(value: object) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:,}" if is_number else str(value)


def read_table(
    path: Path, columns: Sequence[str], expected_rows: int | None = None
) -> dict[str, list[str]]:
    """Read a CSV file that must have exactly these columns, in any order, as text.

    A canary in its first line is passed over. Raises InvalidSubmission when the file is missing,
    is not a regular file, is not UTF-8, or its header or a row does not fit. Of a submission
    `expected_rows` says how many rows it should have: one that has far more is refused before it
    is read to its end.
    """
    require_file(path)
    most = math.inf if expected_rows is None else 2 * expected_rows + SPARE_ROWS
    rows: list[list[str]] = []
    try:
        with path.open(newline="", encoding="utf-8-sig") as handle:
            records = _csv_records(handle, path.name)
            header = next(records, None)
            if header is not None and ",".join(header) == CANARY_LINE:
                header = next(records, None)
            if header is None:
                raise InvalidSubmission(f"{path.name} is empty")
            if sorted(header) != sorted(columns):
                raise InvalidSubmission(
                    f"{path.name} has the columns {', '.join(name[:50] for name in header[:20])}; "
                    f"expected {', '.join(columns[:20])}"
                )
            for number, row in enumerate(records, start=2):
                if number > most:
                    raise InvalidSubmission(
                        f"{path.name} has more than {most:,} lines, expected {expected_rows:,} rows"
                    )
                if row and len(row) != len(header):
                    raise InvalidSubmission(
                        f"{path.name}, line {number}: {len(row)} values, expected {len(header)}"
                    )
                if row:
                    rows.append(row)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidSubmission(f"{path.name} is not a UTF-8 CSV file: {error}") from error
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def _csv_records(handle: TextIO, name: str) -> Iterator[list[str]]:
    """The records of a CSV file, none of which may take more than MAX_RECORD characters."""
    size = 0

    def lines() -> Iterator[str]:
        nonlocal size
        while line := handle.readline(MAX_RECORD + 1):
            size += len(line)
            if size > MAX_RECORD:
                raise InvalidSubmission(f"{name}: a row has more than {MAX_RECORD:,} characters")
            yield line

    for record in csv.reader(lines(), strict=True):
        size = 0
        yield record


def read_json(path: Path, max_bytes: int) -> Any:
    """The value in a submitted JSON file, or InvalidSubmission."""
    require_file(path, max_bytes)
    return parse_json(path.read_bytes(), path.name)


def parse_json(contents: bytes, name: str) -> Any:
    """The value that JSON text in UTF-8 holds, or InvalidSubmission.

    Python itself limits the digits of an integer (ValueError) and the nesting (RecursionError).
    """
    try:
        return json.loads(contents.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidSubmission(f"{name} is not valid JSON: {str(error)[:200]}") from error


def require_file(path: Path, max_bytes: int = MAX_FILE_BYTES) -> None:
    """Raise InvalidSubmission unless `path` is a regular file of at most `max_bytes`."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidSubmission(f"{path.name} not found") from None
    if not stat.S_ISREG(status.st_mode):
        raise InvalidSubmission(f"{path.name} is not a regular file")
    if status.st_size > max_bytes:
        raise InvalidSubmission(f"{path.name} is larger than {max_bytes:,} bytes")


def rows_in_order(ids: Sequence[str], expected: Sequence[str]) -> list[int]:
    """For each expected id, the row of the submission that holds it.

    Raises InvalidSubmission when an id is missing, unknown or there twice.
    """
    place = {value: row for row, value in enumerate(ids)}
    if len(place) != len(ids):
        seen: set[str] = set()
        twice = next(value for value in ids if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise InvalidSubmission(
            f"row ids repeat: {len(ids) - len(place)} too many, first: {twice[:50]}"
        )
    missing = [value for value in expected if value not in place]
    if missing:
        raise InvalidSubmission(f"row ids differ: {len(missing)} missing, first: {missing[0]}")
    if len(ids) != len(expected):
        known = set(expected)
        unknown = [value for value in ids if value not in known]
        raise InvalidSubmission(f"row ids differ: {len(unknown)} unknown, first: {unknown[0][:50]}")
    return [place[value] for value in expected]


def finite_numbers(values: Sequence[str], column: str) -> list[float]:
    """The values of a column as finite floats, or InvalidSubmission with the first bad one."""
    numbers = []
    for row, value in enumerate(values, start=1):
        try:
            number = float(value)
        except ValueError:
            raise InvalidSubmission(
                f"{column}, row {row}: {value[:50]!r} is not a number"
            ) from None
        if not math.isfinite(number):
            raise InvalidSubmission(f"{column}, row {row}: {value[:50]!r} is not finite")
        numbers.append(number)
    return numbers


@dataclass(frozen=True)
class Timings:
    """What timed grading measured, in seconds: one value per timed request, in the same order."""

    submission: list[float]
    starter: list[float]
    control: list[float]
    """A second starter, in the same sitting: how far a ratio can be off without a reason."""
    sittings: int
    own_noise: bool = False
    """Whether rounds are calm without the submission, and never with it."""
    busy: str = ""
    """Why the machine was too busy to time anything, if it was timed anyway."""


def read_timings(outputs: Path) -> Timings:
    values = json.loads((outputs / "timings.json").read_text(encoding="utf-8"))
    return Timings(
        values["submission"],
        values["starter"],
        values["control"],
        values["sittings"],
        values.get("own_noise", False),
        values.get("busy", ""),
    )


def grade_timings(timings: Timings) -> Grade:
    """The median ratio to the starter's time; beside it its spread and the control's ratio.

    If the submission's own times vary, the worse quartile counts.
    """
    ratios = _ratios(timings.submission, timings.starter)
    controls = _ratios(timings.control, timings.starter)
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    spread, usual = _relative_spread(ratios), _relative_spread(controls)
    varies = spread > max(SPREAD_FACTOR * usual, USUAL_SPREAD)
    extra: dict[str, Any] = {
        "ratio_quartiles": [low, high],
        "pairs": len(ratios),
        "submission_seconds": statistics.median(timings.submission),
        "starter_seconds": statistics.median(timings.starter),
        "control_ratio": statistics.median(controls),
        "spread": spread,
        "control_spread": usual,
        "sittings": timings.sittings,
    }
    if timings.busy:
        extra |= {"busy": timings.busy, "warning": "timed on a busy machine, so not comparable"}
        return Grade(median, extra)
    if timings.own_noise:
        extra["warning"] = "timed grading is calm without the submission, and never with it"
    elif varies:
        extra["warning"] = (
            f"the submission's times vary by {100 * spread:.0f} %, the starter's by "
            f"{100 * usual:.0f} %"
        )
    if "warning" in extra:
        extra["warning"] += f": its worse quartile counts, not its median of {median:.4g}"
        return Grade(high, extra)
    return Grade(median, extra)


def _ratios(some: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(some, others, strict=True)]


def _relative_spread(values: Sequence[float]) -> float:
    """The distance of the quartiles, as a share of the median."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / median


def booleans(values: Sequence[str], column: str) -> list[bool]:
    """The values of a column as booleans: True or False in any case, or 1 or 0."""
    known = {"true": True, "1": True, "false": False, "0": False}
    found = [known.get(value.strip().lower()) for value in values]
    for row, value in enumerate(found, start=1):
        if value is None:
            raise InvalidSubmission(
                f"{column}, row {row}: {values[row - 1][:50]!r} is neither True nor False"
            )
    return [bool(value) for value in found]
