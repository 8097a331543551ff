"""Read the answers and tables in prepared data, without knowing the task."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from mlagentbench.guest.mlagentbench_task import CANARY_LINE
from mlagentbench.tasks.data.prepared_files import is_data

ANSWERS = ("answers.csv", "answers.npy", "labels.npy")
MAX_TABLE_BYTES = 500_000_000
MAX_ARRAY_COLUMNS = 64


class Table(NamedTuple):
    """A table in a file; all values are text."""

    file: str
    rows: pd.DataFrame


class Answers(NamedTuple):
    """The private answers: one row per id, in the file's order."""

    file: str
    id_column: str | None
    """None if the rows have no ids: then their position is their id."""
    ids: list[str]
    targets: pd.DataFrame


def read_answers(private: Path) -> Answers | None:
    """The answers, from `answers.csv` (ids first, then targets) or from an array of labels."""
    for name in ANSWERS:
        file = private / name
        if not file.is_file():
            continue
        tables = list(read_tables(private, [name]))
        if not tables:
            continue
        rows = tables[0].rows
        if name.endswith(".csv"):
            first = str(rows.columns[0])
            return Answers(name, first, list(rows[first]), rows.drop(columns=first))
        return Answers(name, None, [str(row) for row in range(len(rows))], rows)
    return None


def data_files(root: Path) -> list[str]:
    """All files below a directory, relative to it, that are part of the data."""
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in found if is_data(path))


def read_tables(root: Path, files: list[str] | None = None) -> Iterator[Table]:
    """The tables in a directory's CSV, TSV, npy and npz files; very large files are skipped."""
    for name in data_files(root) if files is None else files:
        file = root / name
        if file.stat().st_size > MAX_TABLE_BYTES:
            continue
        if file.suffix in (".csv", ".tsv"):
            rows = read_csv(file)
            if rows is not None:
                yield Table(name, rows)
        elif file.suffix in (".npy", ".npz"):
            for key, array in read_arrays(file).items():
                rows = _array_rows(array)
                if rows is not None:
                    yield Table(f"{name}[{key}]" if key else name, rows)


def read_csv(file: Path) -> pd.DataFrame | None:
    """All values as text, without the canary line; None if it is not a table."""
    separator = "\t" if file.suffix == ".tsv" else ","
    with file.open("rb") as handle:
        marked = handle.readline().decode("utf-8", "replace").strip() == CANARY_LINE
    try:
        return pd.read_csv(
            file,
            sep=separator,
            skiprows=int(marked),
            dtype=str,
            keep_default_na=False,
            encoding="utf-8-sig",
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError):
        return None


def read_arrays(file: Path) -> dict[str, np.ndarray]:
    """The arrays in a .npy (under the name "") or .npz file, without pickled ones."""
    try:
        loaded = np.load(file, allow_pickle=False)
    except ValueError:
        return {}
    if isinstance(loaded, np.ndarray):
        return {"": loaded}
    found = {}
    with loaded:
        for key in loaded.files:
            try:
                found[key] = loaded[key]
            except ValueError:
                continue
    return found


def _array_rows(array: np.ndarray) -> pd.DataFrame | None:
    if array.ndim not in (1, 2) or array.dtype.kind not in "biufUS":
        return None
    columns = array.reshape(len(array), -1) if len(array) else array.reshape(0, 1)
    if columns.shape[1] > MAX_ARRAY_COLUMNS:
        return None
    text = {str(place): columns[:, place].astype(str) for place in range(columns.shape[1])}
    return pd.DataFrame(text, dtype=str)


def canonical_column(values: pd.Series) -> pd.Series:
    """Values as text in one form: 1 and 1.0 are the same, and so are True and true."""
    text = values.astype(str).str.strip().str.lower()
    numbers = pd.to_numeric(text, errors="coerce").to_numpy(dtype=float)
    plain = text.to_numpy(dtype=object)
    return pd.Series(np.where(np.isfinite(numbers), numbers.astype(str), plain), dtype=str)
