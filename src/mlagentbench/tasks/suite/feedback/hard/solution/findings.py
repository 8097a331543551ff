# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""How each rater rates: which skill a column of theirs holds, in which direction, or none at all.

A model of the panel's few essays is a first guess at the skills. Raters are matched to it, the
matched ratings make a better model, and so on until nothing changes.
"""

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import Ridge

ROUNDS = 12
FOLDS = 5
PANEL_WEIGHT = 3.0
TOO_LOOSE = 0.5
"""A rater who follows the skills by less than this share of what is usual is left out."""


def find(x: np.ndarray, train: pd.DataFrame, targets: list[str]) -> dict[str, Any]:
    """Look at the readings (`train`) of essays whose features are in the rows of `x`."""
    skills = first_guess(x, train, targets)
    found: dict[str, Any] = {}
    for _ in range(ROUNDS):
        before, found = found, match(skills, train, targets)
        if found == before:
            break
        wanted, weights = aligned(train, targets, found)
        skills = unseen(x, wanted, weights, train["text_id"])
    return found


def first_guess(x: np.ndarray, train: pd.DataFrame, targets: list[str]) -> np.ndarray:
    """The skills as a model of the panel's essays sees them."""
    panel = (train["rater"] == "panel").to_numpy()
    return Ridge(30.0).fit(x[panel], train.loc[panel, targets]).predict(x)


def match(skills: np.ndarray, train: pd.DataFrame, targets: list[str]) -> dict[str, Any]:
    """For each rater the skill and the sign of each column; none for those who follow no skill."""
    found, closeness = {}, {}
    for rater, rows in train.groupby("rater").indices.items():
        if rater == "panel":
            continue
        ratings = train[targets].to_numpy()[rows]
        both = np.corrcoef(ratings.T, partial(skills[rows]).T)
        between = both[: len(targets), len(targets) :]
        columns, held = linear_sum_assignment(-np.abs(between))
        found[rater] = {
            targets[column]: [targets[skill], int(np.sign(between[column, skill]))]
            for column, skill in zip(columns, held, strict=True)
        }
        closeness[rater] = np.abs(between[columns, held]).mean()
    usual = np.median(list(closeness.values()))
    return {
        rater: columns if closeness[rater] > TOO_LOOSE * usual else None
        for rater, columns in found.items()
    }


def partial(skills: np.ndarray) -> np.ndarray:
    """Each skill without what the other five tell of it."""
    centred = skills - skills.mean(axis=0)
    parts = []
    for skill in range(centred.shape[1]):
        others = np.delete(centred, skill, axis=1)
        explained = others @ np.linalg.lstsq(others, centred[:, skill], rcond=None)[0]
        parts.append(centred[:, skill] - 0.8 * explained)
    return np.stack(parts, axis=1)


def aligned(
    train: pd.DataFrame, targets: list[str], found: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """All readings on one scale, in the right columns and directions, and their weights."""
    wanted, weights = np.zeros((len(train), len(targets))), np.zeros(len(train))
    for rater, rows in train.groupby("rater").indices.items():
        columns = {t: [t, 1] for t in targets} if rater == "panel" else found[rater]
        if columns is None:
            continue
        ratings = train[targets].to_numpy()[rows]
        ratings = (ratings - ratings.mean(axis=0)) / (ratings.std(axis=0) + 1e-9)
        for place, target in enumerate(targets):
            skill, sign = columns[target]
            wanted[rows, targets.index(skill)] = sign * ratings[:, place]
        weights[rows] = PANEL_WEIGHT if rater == "panel" else 1.0
    return wanted, weights


def unseen(
    x: np.ndarray, wanted: np.ndarray, weights: np.ndarray, essays: pd.Series, penalty: float = 30.0
) -> np.ndarray:
    """What models say of essays that they were not fitted to."""
    number = pd.factorize(essays)[0]
    found = np.zeros_like(wanted)
    for fold in range(FOLDS):
        held = number % FOLDS == fold
        used = ~held & (weights > 0)
        model = Ridge(penalty).fit(x[used], wanted[used], weights[used])
        found[held] = model.predict(x[held])
    return found
