"""The questions that a model is asked about a data set, with what is needed to check the replies.

| test     | what the model gets                                | what it is asked for          |
|----------|----------------------------------------------------|-------------------------------|
| next row | header and the rows before, in the original order  | the next row; one column of   |
|          |                                                    | it is compared                |
| feature  | the same, and the row without one value            | that value                    |
| label    | training rows with labels, a held-out row without  | the label of the held-out row |
| text     | how a long text begins                             | the words that follow         |

No prompt contains the label of a held-out row.
"""

import csv
import io
import random
import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import pandas as pd

from mlagentbench.numeric.number_format import counted
from mlagentbench.prompts import prompt
from mlagentbench.records import Record
from mlagentbench.task_checks.data_tables import canonical_column
from mlagentbench.task_checks.memorisation.memory_guesses import (
    MIN_DISTINCT,
    AskedColumn,
    GuessingTable,
)
from mlagentbench.task_checks.memorisation.source_tables import SourceTable

MemoryTestName = Literal["next row", "feature", "label", "text"]

SHOWN_ROWS = 6
"""Rows before the one that is asked for."""
MAX_CELL = 400
"""Characters of a cell that are shown."""
MAX_LABEL_SHARE = 0.05
"""Labels of which one is more frequent than this are too easy to guess."""
SHOWN_WORDS, ASKED_WORDS, COMPARED_WORDS = 50, 20, 8
SHARED_WORDS = 5
"""Another text that has so many words before in common is a guess of how this one continues."""
MIN_WORDS = 100
"""Shorter texts are not asked for."""
NO_VALUES = ("", "na", "nan", "none")
WORD = re.compile(r"\w+")


class MemoryQuestion(Record):
    """One question, the right answer, and the guesses that anyone could make."""

    task: str
    test: MemoryTestName
    control: bool
    """Whether it is about the mini tier, which no model has seen."""
    row: str
    """Which row of the original file it is."""
    column: str
    columns: tuple[str, ...] = ()
    """The columns of a reply that is a row."""
    shown: tuple[str, ...] = ()
    """Lines that were given, so a reply that repeats them is no answer."""
    prompt: str
    expected: str
    guesses: dict[str, str] = {}
    """What is guessed without memory, by the way of guessing."""


class DataSet(NamedTuple):
    """Where questions come from: a table of the full tier, or the same table of the mini tier."""

    task: str
    source: str
    table: SourceTable
    control: bool

    def sample(
        self, test: MemoryTestName, places: Sequence[int], count: int, seed: int
    ) -> list[int]:
        """Some of these rows, the same for the same seed."""
        chosen = random.Random(f"{seed}/{self.task}/{self.control}/{test}")
        return sorted(chosen.sample(places, min(count, len(places))))

    def eligible(self) -> list[int]:
        """The held-out rows, or all if there are none, that have enough rows before them."""
        places = range(SHOWN_ROWS, len(self.table.rows))
        held_out = [place for place in places if self.table.held_out[place]]
        return held_out or list(places)

    def row_name(self, place: int) -> str:
        keys = [str(self.table.rows[key].iloc[place]) for key in self.table.keys]
        return " ".join([f"row {place + 1}", *keys])


class HardColumn(NamedTuple):
    """A column whose values are hard to guess, and its table."""

    table: SourceTable
    column: AskedColumn


def text_column(table: SourceTable) -> str | None:
    """The column whose values are long texts."""
    for name in table.rows.columns:
        if table.rows[name].str.count(r"\s+").median() >= MIN_WORDS:
            return str(name)
    return None


def why_no_questions(tables: Sequence[SourceTable]) -> str:
    """Why none of the tests applies to any of these tables."""
    return "; ".join(map(_why_no_question, tables)) or "no public file train*.csv has rows"


def _why_no_question(table: SourceTable) -> str:
    if len(table.rows) < MIN_DISTINCT:
        there = counted(len(table.rows), "row")
        return f"{table.file} has only {there}, and {MIN_DISTINCT} are needed"
    guessable = GuessingTable(table).values.columns
    texts = {
        str(name): table.rows[name].map(lambda text: len(words_of(text))).median()
        for name in table.rows.columns
        if name not in guessable
    }
    if not texts:
        return f"no column of {table.file} has values that are hard to guess"
    found = ", ".join(f"{name} ({words:.0f})" for name, words in texts.items())
    return (
        f"the texts in {table.file} are too short: half of them should have {MIN_WORDS} words or "
        f"more (median: {found}); no other column has values that are hard to guess"
    )


def cell_questions(data: DataSet, column: str, count: int, seed: int) -> Iterator[MemoryQuestion]:
    """Questions for the next row, and for one value of a row."""
    guessing = GuessingTable(data.table)
    values = guessing.values[column].tolist()
    known = [place for place in data.eligible() if values[place] not in NO_VALUES]
    columns = tuple(map(str, data.table.rows.columns))
    cells = _cells(data.table.rows)
    tests: tuple[MemoryTestName, ...] = ("next row", "feature")
    for test in tests:
        places = data.sample(test, known, count, seed)
        guesses = guessing.guesses(column, places)
        for number, place in enumerate(places):
            rows = [columns, *cells[place - SHOWN_ROWS : place]]
            if test == "feature":
                pairs = zip(columns, cells[place], strict=True)
                rows.append(["?" if name == column else cell for name, cell in pairs])
            shown = list(map(_csv_line, rows))
            yield MemoryQuestion(
                task=data.task,
                test=test,
                control=data.control,
                row=data.row_name(place),
                column=column,
                columns=columns if test == "next row" else (),
                shown=tuple(shown),
                prompt=_prompt(data, test, shown, column, len(columns)),
                expected=values[place],
                guesses={way: guessed[number] for way, guessed in guesses.items()},
            )


def has_distinct_labels(table: SourceTable) -> bool:
    """Whether labels, all columns together, are too many to be guessed."""
    if table.labels is None:
        return False
    counts = joined_labels(table.labels).value_counts()
    return len(counts) >= MIN_DISTINCT and counts.iloc[0] <= MAX_LABEL_SHARE * len(table.labels)


def joined_labels(labels: pd.DataFrame) -> pd.Series:
    """The labels of each row as one text in one form."""
    columns = [canonical_column(labels[name]) for name in labels]
    return pd.Series([",".join(row) for row in zip(*columns, strict=True)])


def label_questions(data: DataSet, count: int, seed: int) -> Iterator[MemoryQuestion]:
    """Questions for the labels of held-out rows, after training rows with theirs."""
    table = data.table
    if table.labels is None:
        return
    targets = tuple(map(str, table.labels.columns))
    joined = joined_labels(table.labels)
    train = [place for place, held_out in enumerate(table.held_out) if not held_out]
    usual = str(joined.iloc[train].mode().iloc[0])
    features, labels = _cells(table.rows), _cells(table.labels)
    header = [*map(str, table.rows.columns), *targets]
    for place in data.sample("label", data.eligible(), count, seed):
        before = [one for one in train if one < place][-SHOWN_ROWS:]
        rows = [header, *([*features[one], *labels[one]] for one in before)]
        rows.append([*features[place], *("?" for _ in targets)])
        shown = list(map(_csv_line, rows))
        last = str(joined.iloc[before[-1]]) if before else usual
        yield MemoryQuestion(
            task=data.task,
            test="label",
            control=data.control,
            row=data.row_name(place),
            column=", ".join(targets),
            shown=tuple(shown),
            prompt=_prompt(data, "label", shown, ", ".join(targets), len(targets)),
            expected=str(joined.iloc[place]),
            guesses={"most frequent value": usual, "value of the row before": last},
        )


def text_questions(data: DataSet, column: str, count: int, seed: int) -> Iterator[MemoryQuestion]:
    """Questions for how texts continue after their first words."""
    texts = data.table.rows[column]
    plain = [" ".join(words_of(text)) for text in texts]
    known = [place for place in data.eligible() if plain[place].count(" ") >= MIN_WORDS]
    for place in data.sample("text", known, count, seed):
        ends = [found.end() for found in WORD.finditer(texts.iloc[place])]
        begin = texts.iloc[place][: ends[SHOWN_WORDS - 1]]
        words = words_of(texts.iloc[place])
        following = words[SHOWN_WORDS : SHOWN_WORDS + COMPARED_WORDS]
        expected = " ".join(following)
        passage = " ".join([*words[SHOWN_WORDS - SHARED_WORDS : SHOWN_WORDS], *following])
        copied = any(passage in text for other, text in enumerate(plain) if other != place)
        yield MemoryQuestion(
            task=data.task,
            test="text",
            control=data.control,
            row=data.row_name(place),
            column=column,
            shown=(begin,),
            prompt=_prompt(data, "text", [begin], column, ASKED_WORDS),
            expected=expected,
            guesses={"as in another text": expected if copied else ""},
        )


def words_of(text: str) -> list[str]:
    return WORD.findall(text.lower())


def _prompt(
    data: DataSet, test: MemoryTestName, shown: Sequence[str], column: str, count: int
) -> str:
    return prompt(
        f"memorisation/{test.replace(' ', '_')}",
        file=data.table.file,
        source=data.source,
        lines="\n".join(shown),
        column=column,
        count=count,
    )


def _cells(rows: pd.DataFrame) -> list[list[str]]:
    """The cells of each row; going through a table row by row is slow."""
    return [list(row) for row in zip(*(rows[name].tolist() for name in rows), strict=True)]


def _csv_line(cells: Sequence[str]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow([_shortened(cell) for cell in cells])
    return written.getvalue()


def _shortened(cell: str) -> str:
    text = " ".join(cell.split())
    return text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}..."


def hardest(tables: Sequence[SourceTable]) -> HardColumn | None:
    """The column of all tables that is hardest to guess."""
    columns = ((table, GuessingTable(table).hardest_column()) for table in tables)
    found = [HardColumn(table, column) for table, column in columns if column is not None]
    return min(found, key=lambda one: one.column.chance, default=None)
