# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Which damage of the records shows where the anomaly struck, and whose fate turns with it."""

import itertools

import numpy as np
import pandas as pd
from records import WIDTHS, features, marks, near, places, upper_half

SAME_PLACES = 0.4
"""Kinds of damage are in the same places if they agree by this share of the best agreement."""
AXES = [("number",), ("deck",), ("number", "deck"), ("number", "side"), ("deck", "side"),
        ("number", "deck", "side")]  # fmt: skip
REACH = {"number": 0.15, "deck": 1.5, "side": 1.0}


def find(train: pd.DataFrame, test: pd.DataFrame) -> dict:
    passengers = pd.concat([train, test], ignore_index=True)
    where, voyages, damage = places(passengers), passengers["Voyage"], marks(passengers)
    fates = passengers["Transported"].map({True: 1.0, False: -1.0, "True": 1.0, "False": -1.0})
    known = fates.notna()
    x = features(passengers)
    turns = {column: np.where(upper_half(x[column]), -1, 1)[known] for column in x}
    best = (0.0, {})
    for together in _in_the_same_places(where, voyages, damage):
        sums = damage[together].sum(axis=1)
        found = {"marks": together, **_extent(where, voyages, sums)}
        nearness = near(where, voyages, sums, found)[0][known]
        nearness -= nearness.groupby(voyages[known]).transform("mean")
        pull = nearness * fates[known]
        for column, turn in turns.items():
            strength = float(np.mean(turn * pull) / np.std(pull))
            if abs(strength) > best[0]:
                found |= {"turn": column, "sign": int(np.sign(strength))}
                best = (abs(strength), dict(found))
    return best[1]


def _in_the_same_places(
    where: pd.DataFrame, voyages: pd.Series, damage: pd.DataFrame
) -> list[list[str]]:
    """Sets of kinds of damage that are dense in the same places of the voyages."""
    agreement = np.zeros((damage.shape[1], damage.shape[1]))
    for rows in voyages.groupby(voyages).groups.values():
        scaled = where.loc[rows].to_numpy() / np.array([REACH[axis] for axis in where])
        weight = np.exp(-((scaled[:, None] - scaled[None]) ** 2).sum(axis=2) / 2)
        np.fill_diagonal(weight, 0)
        own = damage.loc[rows].to_numpy()
        own = own - own.mean(axis=0)
        weight -= weight.mean()
        agreement += own.T @ weight @ own
    scale = np.sqrt((damage**2).sum().to_numpy())
    agreement /= np.outer(scale, scale)
    names = list(damage)
    np.fill_diagonal(agreement, -np.inf)
    best = agreement.max()
    left, sets = set(range(len(names))), []
    while left:
        pairs = [(agreement[a, b], a, b) for a in left for b in left if a != b]
        top = max(pairs, default=(-np.inf, 0, 0))
        if top[0] < SAME_PLACES * best:
            return sets
        members = {top[1], top[2]}
        while others := left - members:
            joined = max(others, key=lambda a: agreement[a, list(members)].mean())
            if agreement[joined, list(members)].mean() < SAME_PLACES * top[0]:
                break
            members.add(joined)
        left -= members
        sets.append(sorted(names[a] for a in members))
    return sets


def _extent(where: pd.DataFrame, voyages: pd.Series, damage: pd.Series) -> dict:
    """Along which axes, and how far, the damage reaches: what explains most of it."""
    candidates = [
        {"axes": list(axes), "widths": list(widths)}
        for axes in AXES
        for widths in itertools.product(*(WIDTHS[axis] for axis in axes))
    ]
    return max(candidates, key=lambda extent: near(where, voyages, damage, extent)[1])
