"""The tables of a prepared data set, as they were in the files that its source publishes.

Preparation shuffles rows and replaces ids, so that neither gives answers away. A model that has
memorised a data set knows the original file, so its order and its ids are restored here, from
private/mapping.csv. Labels are kept apart from the columns that are public for every row.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from mlagentbench.task_checks.data_tables import Answers, data_files, read_answers, read_csv

MAPPING = "mapping.csv"
ORIGINAL = "original"
TRAIN, TEST = "train", "test"


class SourceTable(NamedTuple):
    """A table in the order of the original file; all values are text."""

    file: str
    rows: pd.DataFrame
    """Only columns that are public for training and held-out rows alike."""
    keys: tuple[str, ...]
    """Columns that only say which row it is."""
    held_out: list[bool]
    """Which rows belong to the test part."""
    labels: pd.DataFrame | None
    """What is to be predicted, for the same rows. That of held-out rows is private."""


class _Origins(NamedTuple):
    """The original id of each id of the prepared data, in the order of the original file."""

    column: str
    originals: dict[str, str]


def source_tables(public: Path, private: Path) -> Iterator[SourceTable]:
    """The table of each public file train*.csv, with the rows of test*.csv where they fit."""
    origins, answers = _read_origins(private), read_answers(private)
    for name in data_files(public):
        path = Path(name)
        if path.suffix != ".csv" or TRAIN not in path.name:
            continue
        train = read_csv(public / name)
        if train is None or train.empty:
            continue
        test_file = public / path.with_name(path.name.replace(TRAIN, TEST))
        test = read_csv(test_file) if test_file.is_file() else None
        if test is not None and origins is not None and origins.column not in test:
            test = None  # nothing says which original rows these are
        yield _restored(name, _Parts(train, test), answers, origins)


def _read_origins(private: Path) -> _Origins | None:
    file = private / MAPPING
    mapping = read_csv(file) if file.is_file() else None
    if mapping is None or ORIGINAL not in mapping:
        return None
    column = str(mapping.columns[0])
    return _Origins(column, dict(zip(mapping[column], mapping[ORIGINAL], strict=True)))


class _Parts(NamedTuple):
    train: pd.DataFrame
    test: pd.DataFrame | None

    def columns(self) -> list[str]:
        shared = self.train.columns if self.test is None else self.test.columns
        return [str(column) for column in self.train.columns if column in shared]

    def together(self, columns: list[str]) -> pd.DataFrame:
        parts = [part[columns] for part in self if part is not None]
        return pd.concat(parts, ignore_index=True)

    def labels(self, answers: Answers | None) -> pd.DataFrame | None:
        """The labels of all rows; None if the answers are not those of the test rows."""
        test = self.test
        if answers is None or test is None or answers.id_column not in test:
            return None
        targets = list(answers.targets.columns)
        if not set(targets) <= set(self.train.columns) - set(test.columns):
            return None
        private = answers.targets.set_axis(pd.Index(answers.ids)).reindex(test[answers.id_column])
        return pd.concat([self.train[targets], private.fillna("")], ignore_index=True)


def _restored(
    file: str, parts: _Parts, answers: Answers | None, origins: _Origins | None
) -> SourceTable:
    rows = parts.together(parts.columns())
    labels = parts.labels(answers)
    held_out = pd.Series([place >= len(parts.train) for place in range(len(rows))])
    id_column = answers.id_column if answers is not None else None
    keys = [id_column] if id_column is not None and id_column in rows else []
    if origins is not None and origins.column in rows:
        keys = _key_columns(rows, origins.column)
        order = _original_order(rows, keys, origins)
        rows = _with_original_ids(rows, keys, origins).iloc[order].reset_index(drop=True)
        held_out = held_out.iloc[order]
        labels = None if labels is None else labels.iloc[order].reset_index(drop=True)
    return SourceTable(file, rows, tuple(keys), held_out.tolist(), labels)


def _key_columns(rows: pd.DataFrame, column: str) -> list[str]:
    """The column of ids, and those whose values begin with the id, such as ID_MONTH."""
    others = [str(name) for name in rows.columns if name != column]
    return [column, *(name for name in others if _begin_with(rows[name], rows[column]))]


def _begin_with(values: pd.Series, ids: pd.Series) -> bool:
    return all(value.startswith(f"{one}_") for value, one in zip(values, ids, strict=True))


def _original_order(rows: pd.DataFrame, keys: list[str], origins: _Origins) -> list[int]:
    """By the place of the original id; rows that share one by their other columns."""
    rank = {one: place for place, one in enumerate(origins.originals)}
    by = {"rank": rows[keys[0]].map(rank)}
    if by["rank"].duplicated().any():
        for name in rows.columns.drop(keys):
            numbers = pd.to_numeric(rows[name], errors="coerce")
            by[f"column {name}"] = rows[name] if numbers.isna().any() else numbers
    return list(pd.DataFrame(by).sort_values(list(by), kind="stable").index)


def _with_original_ids(rows: pd.DataFrame, keys: list[str], origins: _Origins) -> pd.DataFrame:
    originals = rows[keys[0]].map(origins.originals).fillna("")
    rest = {name: rows[name].str.partition("_")[2] for name in keys[1:]}
    changed = {name: originals + "_" + tail for name, tail in rest.items()}
    return rows.assign(**{keys[0]: originals, **changed})
