"""Search the workspace for private data: by name, by contents, by columns of answers.

The workspace is the task's starter files and its public data. File times and the order in which
files were written are checked, too: an agent sees both.
"""

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from mlagentbench.guest.mlagentbench_task import CANARY_LINE
from mlagentbench.task_checks.data_tables import (
    Answers,
    Table,
    canonical_column,
    data_files,
    read_answers,
    read_tables,
)
from mlagentbench.task_checks.verdicts import Check, CheckResult
from mlagentbench.tasks.data.preparation import PreparedData
from mlagentbench.tasks.data.prepared_files import read_facts
from mlagentbench.tasks.task import Task

MIN_ROWS = 20
"""Columns with fewer rows agree by chance too easily."""
FEW_VALUES = 50
"""A column with at most this many different values holds classes."""
SAME_ORDER = 0.9999
"""Numbers with at least this rank correlation are one quantity in two units."""
MIN_FILES = 8
ORDER_SIGMAS = 4.0
MAX_LISTED = 5


def search_names(task: Task, data: PreparedData) -> CheckResult:
    """No file of the workspace has the name of a private one."""
    private = {Path(file).name.lower(): file for file in data_files(data.private)}
    found = [
        f"{place} is named like private/{private[Path(file).name.lower()]}"
        for place, file in _workspace_files(task, data)
        if Path(file).name.lower() in private
    ]
    return _result(Check("no private file by name"), found, f"{len(private)} private files")


def search_contents(task: Task, data: PreparedData) -> CheckResult:
    """No file of the workspace has the contents of a private one."""
    facts_of = {facts.path: facts for facts in read_facts(data.private)}
    private = {facts.sha256: path for path, facts in facts_of.items() if facts.bytes}
    for path in facts_of:
        if path.endswith(".csv"):  # the answers as they were before they were marked
            contents = (data.private / path).read_bytes().removeprefix(f"{CANARY_LINE}\n".encode())
            private[hashlib.sha256(contents).hexdigest()] = path
    found = [
        f"{root.name}/{facts.path} is private/{private[facts.sha256]}"
        for root in (task.starter, data.public)
        for facts in read_facts(root)
        if facts.sha256 in private
    ]
    return _result(Check("no private file by contents"), found, f"{len(facts_of)} private files")


def _workspace_files(task: Task, data: PreparedData) -> Iterator[tuple[str, str]]:
    for root in (task.starter, data.public):
        for file in data_files(root):
            yield f"{root.name}/{file}", file


class Secret(NamedTuple):
    """A private column, with the ids of its rows where they have any."""

    name: str
    ids: pd.Index | None
    values: pd.Series
    is_target: bool


def search_columns(task: Task, data: PreparedData) -> CheckResult:
    """No public column reveals a private one: by row, by id, recoded, rescaled or permuted."""
    answers = read_answers(data.private)
    tables = [
        Table(table.file, table.rows.apply(canonical_column))
        for root in (task.starter, data.public)
        for table in read_tables(root)
    ]
    secrets = list(_secrets(data.private, answers))
    found = [
        f"{table.file}: {column} {how} private/{secret.name}"
        for secret in secrets
        for table in tables
        for column, how in _revealing_columns(secret, table)
    ]
    searched = f"{len(secrets)} private columns, {len(tables)} public tables"
    return _result(Check("no private column"), found, searched)


def _secrets(private: Path, answers: Answers | None) -> Iterator[Secret]:
    """Every private column but the ids, which are public by design."""
    id_column = answers.id_column if answers is not None else None
    for table in read_tables(private):
        rows = table.rows
        has_ids = id_column in rows.columns and rows[id_column].is_unique
        ids = pd.Index(canonical_column(rows[id_column])) if has_ids else None
        for column in rows.columns:
            values = canonical_column(rows[column])
            if column != id_column and len(values) >= MIN_ROWS and values.nunique() > 1:
                is_target = answers is not None and table.file == answers.file
                yield Secret(f"{table.file}: {column}", ids, values, is_target)


def _revealing_columns(secret: Secret, table: Table) -> Iterator[tuple[str, str]]:
    """The columns of a table, in canonical form, that reveal a secret, and how."""
    aligned = _aligned(secret, table.rows)
    for column in table.rows.columns:
        public = table.rows[column]
        how = None
        if aligned is not None and column != aligned.id_column:
            how = relation(public[aligned.public_rows], secret.values[aligned.secret_rows])
        if how is None and len(public) == len(secret.values):
            how = relation(public, secret.values)
        if how is None and secret.is_target:
            how = _permuted(public, secret.values)
        if how is not None:
            yield str(column), how


class _Alignment(NamedTuple):
    id_column: str
    public_rows: np.ndarray
    secret_rows: np.ndarray


def _aligned(secret: Secret, rows: pd.DataFrame) -> _Alignment | None:
    """The matching rows of table and secret, if a column holds the secret's ids."""
    if secret.ids is None:
        return None
    for column in rows.columns:
        if not rows[column].is_unique:
            continue
        place = secret.ids.get_indexer(pd.Index(rows[column]))
        public_rows = np.flatnonzero(place >= 0)
        if len(public_rows) >= max(MIN_ROWS, 0.5 * min(len(rows), len(secret.ids))):
            return _Alignment(str(column), public_rows, place[public_rows])
    return None


def relation(public: pd.Series, secret: pd.Series) -> str | None:
    """How a public column reveals a secret one with the same rows, both in canonical form.

    None if it does not.
    """
    known, hidden = public.to_numpy(), secret.to_numpy()
    kinds = len(set(hidden))
    if kinds < 2:
        return None
    if (known == hidden).all():
        return "equals"
    if kinds <= FEW_VALUES and len(set(known)) <= min(2 * kinds, len(known) // 5):
        pairs = set(zip(known, hidden, strict=True))
        return "is a code for" if len(pairs) == len(set(known)) else None
    if kinds > FEW_VALUES:
        numbers = [pd.to_numeric(pd.Series(values), errors="coerce") for values in (known, hidden)]
        if all(column.notna().all() for column in numbers):
            ranks = [column.rank().to_numpy() for column in numbers]
            if min(ranks[0].std(), ranks[1].std()) > 0:
                alike = abs(float(np.corrcoef(ranks[0], ranks[1])[0, 1]))
                return "is another measure of" if alike >= SAME_ORDER else None
    return None


def _permuted(public: pd.Series, secret: pd.Series) -> str | None:
    """Whether a column contains all values of a secret with many values, in any order.

    If it is longer than the secret, only fractions count: whole numbers agree by chance.
    """
    kinds = secret.nunique()
    if kinds <= FEW_VALUES:
        return None
    if len(public) == len(secret):
        same = sorted(public) == sorted(secret)
        return "holds the values, in another order, of" if same else None
    fractions = ~secret.str.endswith(".0")
    if fractions.mean() > 0.5 and set(secret) <= set(public):
        return "holds all values of"
    return None


def public_times(data: PreparedData) -> CheckResult:
    """Every public file and directory has the time 0."""
    paths = [data.public, *sorted(data.public.rglob("*"))]
    late = [path for path in paths if path.stat().st_mtime_ns != 0]
    found = [f"{path.relative_to(data.directory)} has another modification time" for path in late]
    return _result(
        Check("public files have the time 0"), found, f"{len(paths)} files and directories"
    )


def writing_order(data: PreparedData) -> CheckResult:
    """Within a directory, neither inodes nor change times follow the order of the names.

    Directories with fewer than eight files are not checked.
    """
    check = Check("public files were written in random order")
    folders = [data.public, *sorted(path for path in data.public.rglob("*") if path.is_dir())]
    checked, found = 0, []
    for folder in folders:
        files = sorted(path for path in folder.iterdir() if path.is_file())
        if len(files) < MIN_FILES:
            continue
        checked += 1
        for what, field in (("inodes", "st_ino"), ("change times", "st_ctime_ns")):
            order = pd.Series([getattr(file.stat(), field) for file in files]).rank()
            if order.nunique() < 2:
                continue
            alike = float(np.corrcoef(order, np.arange(len(files)))[0, 1])
            if abs(alike) * math.sqrt(len(files) - 1) > _order_limit(len(files)):
                where = folder.relative_to(data.directory)
                found.append(f"{where}: {what} follow the names (rank correlation {alike:.2f})")
    if not checked:
        return check.not_applicable(f"no directory with at least {MIN_FILES} files")
    return _result(check, found, f"{checked} directories")


def _order_limit(files: int) -> float:
    """Four sigmas; with few files even a perfect order has only about three."""
    return min(ORDER_SIGMAS, 0.95 * math.sqrt(files - 1))


def _result(check: Check, found: list[str], searched: str) -> CheckResult:
    if not found:
        return check.holds(searched)
    more = f"; and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
    return check.fails("; ".join(found[:MAX_LISTED]) + more)
