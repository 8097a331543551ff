"""What a task's prepare.py, mini.py, full.py, trivial.py, requests.py and grade.py may import.

Standard library only: it is laid beside the task's files in the sandbox in which they run, where
nothing else of this package is visible.
"""

import csv
import json
import math
import os
import stat
import statistics
from collections.abc import Iterator, Sequence
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
CONTROL_TOLERANCE = 0.05
"""Starter against starter: timed grading is repeated when the ratio is further from 1."""
SPREAD_FACTOR = 2.0
"""A submission whose times vary this many times as much as the control's is scored by its worse
quartile."""
USUAL_SPREAD = 0.5
"""Less is never held against a submission: programs of a millisecond vary by up to this much on a
calm machine, in which the control, as long as the starter, varies little."""


class InvalidSubmission(Exception):
    """The submission cannot be scored; the text says why, in words that help to mend it."""


class BrokenRule(InvalidSubmission):
    """The submission provably breaks a rule of the task; the text names the rule and the proof."""


@dataclass(frozen=True)
class Grade:
    """A score in the task's metric, and figures reported beside it."""

    score: float
    extra: dict[str, Any] = field(default_factory=dict)


class Differences(list[str]):
    """What check_raw() returns: every difference of raw files from the official data."""

    def expect(self, what: str, found: object, expected: object) -> None:
        """Note a value that is not the official one."""
        if found != expected:
            self.append(f"{what}: {_as_text(found)}, expected {_as_text(expected)}")

    def expect_between(self, what: str, found: float, least: float, most: float) -> None:
        """Note a value outside of the range that the official data are in."""
        if not least <= found <= most:
            span = f"{_as_text(least)} to {_as_text(most)}"
            self.append(f"{what}: {_as_text(found)}, expected {span}")


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
