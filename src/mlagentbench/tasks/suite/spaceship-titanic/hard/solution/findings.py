# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Which way of writing records shows where the anomaly struck, and whose fate turns with it."""

import itertools

import numpy as np
import pandas as pd
from records import WIDTHS, features, near, places, upper_half, ways

STRONG = 0.1
"""Ways of writing are considered if they are clustered by this share of the most clustered."""
SAME_PLACES = 0.5
"""Correlation from which two ways are in the same places."""
AXES = [("number",), ("deck",), ("number", "deck"), ("number", "side"), ("deck", "side"),
        ("number", "deck", "side")]  # fmt: skip
REACH = {"number": 0.15, "deck": 1.5, "side": 1.0}


def find(train: pd.DataFrame, test: pd.DataFrame) -> dict:
    passengers = pd.concat([train, test], ignore_index=True)
    where, voyages, written = places(passengers), passengers["Voyage"], ways(passengers)
    fates = passengers["Transported"].map({True: 1.0, False: -1.0, "True": 1.0, "False": -1.0})
    known = fates.notna()
    x = features(passengers)
    turns = {column: np.where(upper_half(x[column]), -1, 1)[known] for column in x}
    sets = in_the_same_places(passengers["Cabin"], where, voyages, written)
    marks = pd.DataFrame({n: written[together].sum(axis=1) for n, together in enumerate(sets)})
    extents = _extents(where, voyages, marks)
    best = (0.0, {})
    for n, together in enumerate(sets):
        nearness = near(where, voyages, marks[[n]], extents[n])[0].loc[known, n]
        nearness -= nearness.groupby(voyages[known]).transform("mean")
        pull = nearness * fates[known]
        for column, turn in turns.items():
            strength = float(np.mean(turn * pull) / np.std(pull))
            if abs(strength) > best[0]:
                found = {"turn": column, "sign": int(np.sign(strength))}
                best = (abs(strength), {"marks": together, **extents[n], **found})
    return best[1]


def in_the_same_places(
    cabins: pd.Series, where: pd.DataFrame, voyages: pd.Series, written: pd.DataFrame
) -> list[list[str]]:
    """Sets of ways of writing that neighbours on a voyage share, in the same places."""
    agreement = np.zeros((written.shape[1], written.shape[1]))
    for rows in voyages.groupby(voyages).groups.values():
        scaled = where.loc[rows].to_numpy() / np.array([REACH[axis] for axis in where])
        weight = np.exp(-((scaled[:, None] - scaled[None]) ** 2).sum(axis=2) / 2)
        cabin = cabins[rows].to_numpy()
        weight[cabin[:, None] == cabin[None]] = 0
        own = written.loc[rows].to_numpy()
        own = own - own.mean(axis=0)
        agreement += own.T @ weight @ own
    shared = np.diag(agreement)
    clustering = pd.Series(shared / (written**2).sum().to_numpy(), index=written.columns)
    scale = np.sqrt(shared.clip(min=1e-9))
    correlation = pd.DataFrame(agreement / np.outer(scale, scale), written.columns, written.columns)
    left = clustering[clustering > STRONG * clustering.max()].sort_values(ascending=False)
    sets = []
    while len(left):
        alike = correlation.loc[left.index[0], left.index] > SAME_PLACES
        sets.append(sorted(left.index[alike]))
        left = left[~alike]
    return sets


def _extents(where: pd.DataFrame, voyages: pd.Series, marks: pd.DataFrame) -> list[dict]:
    """Along which axes, and how far, marks reach: what explains most of them, for each column."""
    candidates = [
        {"axes": list(axes), "widths": list(widths)}
        for axes in AXES
        for widths in itertools.product(*(WIDTHS[axis] for axis in axes))
    ]
    gains = pd.DataFrame([near(where, voyages, marks, extent)[1] for extent in candidates])
    return [candidates[n] for n in gains.to_numpy().argmax(axis=0)]
