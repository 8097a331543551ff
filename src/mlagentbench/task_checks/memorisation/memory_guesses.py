"""What can be guessed about a cell of a table without having seen the table before.

A model can answer a question from the rows it is shown, by arithmetic, or by luck. Simple guesses
are made in each of these ways, with the whole table at hand, which a model does not have. A column
is only asked for if all of them mostly fail.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mlagentbench.task_checks.data_tables import canonical_column
from mlagentbench.task_checks.memorisation.source_tables import SourceTable

MIN_DISTINCT = 50
"""A column with fewer values is too easy to guess."""
MAX_CHANCE = 0.10
"""A column that is guessed more often is not asked for."""
CANDIDATES = 8
"""Columns that are tried, those with the rarest values first."""
TRIED_ROWS = 60
LONG_TEXT = 60
"""Characters; longer values are texts, which have a test of their own."""

Guesses = dict[str, list[str]]
"""The guessed values, by the way of guessing."""


class AskedColumn(NamedTuple):
    """A column whose values are hard to guess."""

    name: str
    chance: float
    """How often the best way of guessing is right."""


class GuessingTable:
    """A table, prepared for guessing its cells."""

    def __init__(self, table: SourceTable) -> None:
        columns = [
            name for name in table.rows.columns if _mean_length(table.rows[name]) < LONG_TEXT
        ]
        self.values = pd.DataFrame({name: canonical_column(table.rows[name]) for name in columns})
        self._keys = table.keys
        coded = [pd.factorize(self.values[name])[0] for name in self._plain()]
        self._codes = np.column_stack(coded) if coded else np.zeros((len(table.rows), 0), int)
        numbers = {
            name: pd.to_numeric(self.values[name], errors="coerce") for name in self._plain()
        }
        self._numbers = pd.DataFrame(
            {name: column for name, column in numbers.items() if column.notna().mean() > 0.5}
        )

    def _plain(self) -> list[str]:
        return [name for name in self.values.columns if name not in self._keys]

    def hardest_column(self) -> AskedColumn | None:
        """The column that is guessed least often; None if all are easy."""
        rows = len(self.values)
        if rows < MIN_DISTINCT:
            return None
        counts = {name: self.values[name].value_counts() for name in self._plain()}
        distinct = {name: found for name, found in counts.items() if len(found) >= MIN_DISTINCT}
        rarest = sorted(distinct, key=lambda name: float((distinct[name] ** 2).sum()))[:CANDIDATES]
        tried = np.random.default_rng(0).permutation(np.arange(2, rows))[:TRIED_ROWS].tolist()
        found = [AskedColumn(name, self._chance(name, tried)) for name in rarest]
        best = min(found, key=lambda one: one.chance, default=None)
        return best if best is not None and best.chance <= MAX_CHANCE else None

    def _chance(self, column: str, places: Sequence[int]) -> float:
        truth = self.values[column].iloc[list(places)].tolist()
        ways = self.guesses(column, places).values()
        return max(
            float(np.mean([g == t for g, t in zip(way, truth, strict=True)])) for way in ways
        )

    def guesses(self, column: str, places: Sequence[int]) -> Guesses:
        """The guesses for these rows, none of which uses the cell itself."""
        values = self.values[column].tolist()
        usual = str(self.values[column].mode().iloc[0])
        found = {
            "most frequent value": [usual] * len(places),
            "value of the row before": [values[place - 1] for place in places],
            "nearest other row": [values[self._nearest(column, place)] for place in places],
        }
        if column in self._numbers:
            numbers = self._numbers[column].to_numpy()
            steps = [2 * numbers[place - 1] - numbers[place - 2] for place in places]
            found["the rows before, continued"] = [str(float(one)) for one in steps]
            found.update(self._arithmetic(column, places))
        return found

    def _nearest(self, column: str, place: int) -> int:
        """The other row that has most values in common with this one."""
        others = [name != column for name in self._plain()]
        shared = (self._codes[:, others] == self._codes[place, others]).sum(axis=1)
        shared[place] = -1
        return int(shared.argmax())

    def _arithmetic(self, column: str, places: Sequence[int]) -> Guesses:
        """The copy, sum and difference of other columns of the row that is right most often."""
        others = self._numbers.drop(columns=column).iloc[list(places)].to_numpy()
        truth = self._numbers[column].iloc[list(places)].to_numpy()
        if others.shape[1] == 0:
            return {}
        left, right = others[:, :, None], others[:, None, :]
        found = {
            "another column": others,
            "sum of two columns": (left + right).reshape(len(others), -1),
            "difference of two columns": (left - right).reshape(len(others), -1),
        }
        return {
            way: [str(one) for one in tried[:, (tried == truth[:, None]).sum(axis=0).argmax()]]
            for way, tried in found.items()
        }


def _mean_length(values: pd.Series) -> float:
    return float(values.str.len().mean())
