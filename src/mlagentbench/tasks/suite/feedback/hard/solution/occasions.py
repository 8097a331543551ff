# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Occasions of readings, as signs: 1 on one half of the readings, -1 on the other.

All that is known of a reading, of the one that the rater did before, and how the two compare is cut
into halves; every half and every product of two is a sign that a habit of the raters could have.
"""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

NOT_TURNED = "1"
SHUFFLES = 40
COLUMNS = ["form", "room", "ink", "desk"]


def products(names: list[str], signs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The signs of columns that follow two occasions at once."""
    return {f"{a} * {b}": signs[a] * signs[b] for a, b in combinations(names, 2)}


def standardised(train: pd.DataFrame, targets: list[str]) -> np.ndarray:
    """Marks without the means and spreads of raters and of circumstances; zero for the panel."""
    marks = train[targets].astype(float).copy()
    for group in [["rater"], *([name] for name in COLUMNS), ["rater"]]:
        marks -= marks.groupby([train[name].fillna("") for name in group]).transform("mean")
    marks /= marks.groupby(train["rater"]).transform("std")
    marks[(train["rater"] == "panel").to_numpy()] = 0.0
    return marks.to_numpy()


def candidates(train: pd.DataFrame, targets: list[str]) -> dict[str, np.ndarray]:
    """Signs by what is known of a reading, of the one before, and by how they compare."""
    readings = train[train["rater"] != "panel"].copy()
    readings["read_at"] = pd.to_datetime(readings["read_at"])
    readings = readings.sort_values(["rater", "read_at"])
    now = known(readings)
    before = now.groupby(readings["rater"]).shift()
    marks = readings[targets].groupby(readings["rater"]).shift()
    compared = (now - before).drop(columns=COLUMNS)
    parts = [now, before.add_prefix("before "), marks.add_prefix("before "),
             compared.add_prefix("more ")]  # fmt: skip
    single = {}
    for name, values in pd.concat(parts, axis=1).items():
        sign = halves(values, readings["rater"])
        single[name] = sign.reindex(train.index).fillna(1.0).to_numpy()
    crossed = products(list(single), single)
    return {NOT_TURNED: np.ones(len(train))} | single | crossed


def known(readings: pd.DataFrame) -> pd.DataFrame:
    """Circumstances, times and sizes, as numbers."""
    text, time = readings["full_text"], readings["read_at"]
    day = [readings["rater"], time.dt.date]
    table = {name: pd.factorize(readings[name], sort=True)[0] for name in COLUMNS}
    table |= {
        "words": text.str.split().str.len(),
        "sentences": text.str.count(r"[.!?]"),
        "paragraphs": text.str.count("\n\n"),
        "letters": text.str.len() / text.str.split().str.len(),
        "seconds": time.groupby(readings["rater"]).diff().dt.total_seconds().fillna(1e9),
        "hour": time.dt.hour + time.dt.minute / 60,
        "place": time.groupby(day).rank(pct=True),
        "odd": time.groupby(day).rank() % 2,
    }
    return pd.DataFrame(table, index=readings.index).astype(float)


def halves(values: pd.Series, rater: pd.Series) -> pd.Series:
    """1 for the upper half of a rater's values, -1 for the lower, cut where they balance best."""

    def cut(mine: pd.Series) -> pd.Series:
        options = np.unique(mine.dropna().quantile(np.linspace(0.3, 0.7, 9), interpolation="lower"))
        best = min(options, key=lambda option: abs((mine > option).mean() - 0.5))
        return pd.Series(np.where(mine > best, 1.0, -1.0), index=mine.index)

    return values.groupby(rater, group_keys=False).apply(cut)


def strength(signs: np.ndarray, x: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """How much signed marks go with the words: above chance, in its standard deviations.

    Chance is the same with signs that are drawn.
    """

    def together(rows: np.ndarray) -> np.ndarray:
        return ((rows @ (marks[:, None] * x)) ** 2).sum(axis=1)

    drawn = np.random.default_rng(0).choice([-1.0, 1.0], (SHUFFLES, len(marks)))
    chance = together(drawn)
    return (together(signs) - chance.mean()) / chance.std()


def sign_of(name: str, signs: dict[str, np.ndarray]) -> np.ndarray:
    """The sign that a product of occasions makes."""
    return np.prod([signs[factor] for factor in name.split(" * ")], axis=0)


def turned_back(train: pd.DataFrame, targets: list[str], found: dict[str, Any]) -> np.ndarray:
    """Standardised marks times the signs found for their columns."""
    signs = candidates(train, targets)
    each = [sign_of(found[target]["sign"], signs) for target in targets]
    return standardised(train, targets) * np.stack(each, axis=1)


def directions(
    x: np.ndarray, train: pd.DataFrame, targets: list[str], found: dict[str, Any]
) -> dict[str, int]:
    """Whether signed marks go with the panel's ratings or against them.

    Readings of the panel's essays say so directly, the words of other readings say it, too.
    """
    marks = turned_back(train, targets, found)
    panel = (train["rater"] == "panel").to_numpy()
    rated = train.loc[panel, targets] - train.loc[panel, targets].mean()
    essays = train["text_id"].map(
        dict(zip(train.loc[panel, "text_id"], range(panel.sum()), strict=True))
    )
    both = (essays.notna() & ~panel).to_numpy()
    seen = rated.to_numpy()[essays[both].astype(int)]
    by_words = x[panel] @ (x[~panel].T @ marks[~panel])
    direct = [np.corrcoef(marks[both, k], seen[:, k])[0, 1] for k in range(len(targets))]
    words = [np.corrcoef(by_words[:, k], rated.iloc[:, k])[0, 1] for k in range(len(targets))]
    return {
        target: int(np.sign(direct[k] * both.sum() ** 0.5 + words[k] * panel.sum() ** 0.5))
        for k, target in enumerate(targets)
    }
