"""New names for a task's columns, values and ids; standard library only.

It is used here to rename words in texts and programs, and laid into the folder of a renamed task,
where it renames the prepared tables in the task's own sandbox. Every new name follows from a key
and the old name alone, so that tables, programs and texts agree without a list.
"""

import csv
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

CONSONANTS, VOWELS, SYLLABLES = "bdfgklmnprstvz", "aeiou", 4
KEPT_VALUES = {"", "NA", "True", "False"}
ID_DIGITS = 12
"""With fewer, some of the thousands of ids of a full data set would get the same new one."""


@dataclass(frozen=True)
class Renaming:
    """What is renamed, and the key from which all new names follow."""

    key: str
    columns: list[str]
    """Headers, which programs and texts name too."""
    words: list[str]
    """Values of columns that programs and texts name."""
    values: list[str]
    """Columns whose texts are renamed."""
    ids: list[str]
    """Columns of ids; what stands before the first underscore is replaced."""
    scaled: list[list[str]]
    """Groups of columns whose numbers are multiplied by one factor."""
    shifted: list[list[str]]
    """Groups of columns to whose numbers one number is added."""

    @classmethod
    def read(cls, file: Path) -> "Renaming":
        return cls(**json.loads(file.read_text(encoding="utf-8")))

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    def name(self, word: str) -> str:
        """A word that means nothing."""
        number = self._number("word", word)
        letters = []
        for _ in range(SYLLABLES):
            number, place = divmod(number, len(CONSONANTS) * len(VOWELS))
            letters += [CONSONANTS[place // len(VOWELS)], VOWELS[place % len(VOWELS)]]
        return "".join(letters)

    def id(self, value: str) -> str:
        """Another id; those that share what stands before the first underscore still share it."""
        first, sign, rest = value.partition("_")
        number = self._number("id", first) % (9 * 10 ** (ID_DIGITS - 1)) + 10 ** (ID_DIGITS - 1)
        return f"{number}{sign}{rest}"

    def factor(self, group: list[str]) -> Decimal:
        """Between 0.2 and 5, with two decimals, and not 1."""
        return Decimal(20 + self._number("factor", group[0]) % 480) / 100 + Decimal("0.005")

    def shift(self, group: list[str]) -> Decimal:
        """A whole number between 100 and 1099."""
        return Decimal(100 + self._number("shift", group[0]) % 1000)

    def text(self, text: str) -> str:
        """A text with all columns and words in it renamed."""
        known = sorted({*self.columns, *self.words}, key=len, reverse=True)
        if not known:
            return text
        pattern = "|".join(map(re.escape, known))
        return re.sub(
            rf"(?<![A-Za-z0-9_])(?:{pattern})(?![A-Za-z0-9_])",
            lambda match: self.name(match[0]),
            text,
        )

    def _number(self, *parts: str) -> int:
        digest = hashlib.sha256("/".join([self.key, *parts]).encode()).digest()
        return int.from_bytes(digest[:8], "big")


def rename_tables(directory: Path, renaming: Renaming) -> None:
    """Rename all CSV tables of a directory in place."""
    for file in sorted(directory.rglob("*.csv")):
        new = file.with_name(f"{file.name}.new")
        with (
            file.open(newline="", encoding="utf-8") as source,
            new.open("w", newline="", encoding="utf-8") as target,
        ):
            writer = csv.writer(target, lineterminator="\n")
            writer.writerows(_renamed_rows(csv.reader(source), renaming))
        new.replace(file)


def _renamed_rows(rows: Iterable[list[str]], renaming: Renaming) -> Iterable[list[str]]:
    rows = iter(rows)
    header = next(rows, [])
    factors = {name: renaming.factor(group) for group in renaming.scaled for name in group}
    shifts = {name: renaming.shift(group) for group in renaming.shifted for name in group}
    yield [renaming.name(name) if name in renaming.columns else name for name in header]
    for row in rows:
        yield [
            _renamed(name, value, renaming, factors, shifts)
            for name, value in zip(header, row, strict=True)
        ]


def _renamed(
    column: str,
    value: str,
    renaming: Renaming,
    factors: dict[str, Decimal],
    shifts: dict[str, Decimal],
) -> str:
    if column in renaming.ids:
        return renaming.id(value)
    if column in factors or column in shifts:
        try:
            number = Decimal(value) * factors.get(column, 1) + shifts.get(column, 0)
        except InvalidOperation:
            return value
        return f"{number.normalize():f}"
    if column in renaming.values and value not in KEPT_VALUES:
        return renaming.name(value)
    return value
