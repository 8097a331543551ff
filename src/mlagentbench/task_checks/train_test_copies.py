"""Count the rows and files that are in the training data and in the test data.

| data               | exact copy                | near copy                                  |
|--------------------|---------------------------|--------------------------------------------|
| rows of CSV tables | equal in all columns that | all but 6 % of the columns, at least all   |
|                    | both have, but for the id | but one; only with 8 columns or more       |
| rows of arrays     | all numbers are equal     | correlation of at least 0.99 with the row  |
|                    |                           | that is most alike in coarse averages      |
| single files       | all bytes are equal       | not searched                               |

Training and test data are recognised by their names: `train.csv` and `test.csv`,
`train_images.npy` and `test_images.npy`, `images/train/` and `images/test/`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from mlagentbench.task_checks.data_tables import (
    MAX_TABLE_BYTES,
    data_files,
    read_answers,
    read_arrays,
    read_csv,
)
from mlagentbench.task_checks.verdicts import Check, CheckResult
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.data.prepared_files import read_facts

NEAR_SHARE = 0.06
MIN_COLUMNS = 8
NEAR_CORRELATION = 0.99
MAX_PARTS = 256
MIN_PARTS = 16
BLOCK = 500
MAX_EXACT = 0.01
MAX_COPIES = 0.05
"""The largest acceptable share of copies among the test rows."""


class Copies(NamedTuple):
    """How many test rows have a copy among the training rows."""

    where: str
    rows: int
    exact: int
    near: int

    def __str__(self) -> str:
        return f"{self.where}: {self.exact} exact, {self.near} near copies of {self.rows}"


def count_copies(data: PreparedData) -> CheckResult:
    """Few test rows are also in the training data."""
    check = Check("copies between train and test")
    found = list(_all_copies(data))
    if not found:
        return check.not_applicable("no pair of files is named as training and test data")
    ok = all(
        part.exact <= MAX_EXACT * part.rows and part.exact + part.near <= MAX_COPIES * part.rows
        for part in found
    )
    return check.result(ok, "; ".join(map(str, found)))


def _all_copies(data: PreparedData) -> Iterator[Copies]:
    answers = read_answers(data.private)
    ids = answers.id_column if answers is not None else None
    paired = set()
    for train, test in _pairs(data.public):
        files = data.public / train, data.public / test
        if max(file.stat().st_size for file in files) > MAX_TABLE_BYTES:
            continue
        if train.endswith((".csv", ".tsv")):
            tables = read_csv(files[0]), read_csv(files[1])
            if tables[0] is not None and tables[1] is not None:
                paired |= {train, test}
                yield _table_copies(tables[0], tables[1], ids, test)
        elif train.endswith(".npy"):
            arrays = read_arrays(files[0]).get(""), read_arrays(files[1]).get("")
            if arrays[0] is not None and arrays[1] is not None and arrays[1].ndim > 1:
                paired |= {train, test}
                yield _array_copies(arrays[0], arrays[1], test)
    yield from _file_copies(data.public, paired)


def _pairs(public: Path) -> Iterator[tuple[str, str]]:
    files = set(data_files(public))
    for file in sorted(files):
        partner = file.replace("train", "test").replace("Train", "Test")
        if partner != file and partner in files:
            yield file, partner


def _table_copies(
    train: pd.DataFrame, test: pd.DataFrame, id_column: str | None, where: str
) -> Copies:
    shared = [name for name in test.columns if name in train.columns and name != id_column]
    if not shared or not len(test) or not len(train):
        return Copies(where, len(test), 0, 0)
    codes = [pd.factorize(pd.concat([test[name], train[name]]))[0] for name in shared]
    mine = np.stack([code[: len(test)] for code in codes]).astype(np.int32)
    others = np.stack([code[len(test) :] for code in codes]).astype(np.int32)
    allowed = max(1, round(NEAR_SHARE * len(shared))) if len(shared) >= MIN_COLUMNS else 0
    least = np.empty(len(test), dtype=np.int32)
    for start in range(0, len(test), BLOCK):
        rows = slice(start, start + BLOCK)
        differing = np.zeros((mine[:, rows].shape[1], len(train)), dtype=np.int16)
        for column in range(len(shared)):
            differing += mine[column, rows][:, None] != others[column][None, :]
        least[rows] = differing.min(axis=1)
    exact = int((least == 0).sum())
    return Copies(where, len(test), exact, int((least <= allowed).sum()) - exact)


def _array_copies(train: np.ndarray, test: np.ndarray, where: str) -> Copies:
    known = {row.tobytes() for row in train}
    exact = np.array([row.tobytes() in known for row in test], dtype=bool)
    near = np.zeros(len(test), dtype=bool)
    if train.shape[1:] == test.shape[1:] and test[0].size >= MIN_PARTS and len(train):
        mine, others = _averages(test), _averages(train)
        for start in range(0, len(test), BLOCK):
            rows = slice(start, start + BLOCK)
            likest = train[np.argmax(mine[rows] @ others.T, axis=1)]
            alike = np.sum(_standardised(test[rows]) * _standardised(likest), axis=1)
            near[rows] = alike >= NEAR_CORRELATION
    return Copies(where, len(test), int(exact.sum()), int((near & ~exact).sum()))


def _averages(rows: np.ndarray) -> np.ndarray:
    """Averages over equal parts of each row, standardised."""
    flat = rows.reshape(len(rows), -1)
    parts = np.array_split(np.arange(flat.shape[1]), min(MAX_PARTS, flat.shape[1]))
    sums = np.add.reduceat(flat, [part[0] for part in parts], axis=1, dtype=np.float32)
    return _standardised(sums / np.array([len(part) for part in parts], dtype=np.float32))


def _standardised(rows: np.ndarray) -> np.ndarray:
    """Rows of mean 0 and length 1: the product of two is their correlation."""
    vectors: np.ndarray = rows.reshape(len(rows), -1).astype(np.float32)
    vectors -= vectors.mean(axis=1, keepdims=True)
    lengths: np.ndarray = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.maximum(lengths, 1e-6)
    return vectors


def _file_copies(public: Path, paired: set[str]) -> Iterator[Copies]:
    """Whole files below a folder of training data and one of test data."""
    parts: dict[str, list[str]] = {"train": [], "test": []}
    for facts in read_facts(public):
        folders = [folder.lower() for folder in Path(facts.path).parts[:-1]]
        for name, digests in parts.items():
            if facts.path not in paired and any(name in folder for folder in folders):
                digests.append(facts.sha256)
    if parts["train"] and parts["test"]:
        known = set(parts["train"])
        exact = sum(digest in known for digest in parts["test"])
        yield Copies("files of test folders", len(parts["test"]), exact, 0)
