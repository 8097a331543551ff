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
"""Who follows the skills by less than this share of what is usual is left out."""
UNITS = [None, "form", "term"]
"""What a rater's habits may depend on."""


def find(x: np.ndarray, train: pd.DataFrame, targets: list[str]) -> dict[str, Any]:
    """Look at the readings (`train`) of essays whose features are in the rows of `x`.

    Habits are looked for in raters as a whole and in parts of their readings; that which makes
    the readings agree best with models that did not see them is returned.
    """
    tried = [(*settle(x, train, targets, unit), unit) for unit in UNITS]
    _, habits, unit = max(tried, key=lambda one: one[0])
    return {"unit": unit, "habits": habits}


def settle(
    x: np.ndarray, train: pd.DataFrame, targets: list[str], unit: str | None
) -> tuple[float, dict[str, Any]]:
    """The habits in which the rounds end, and how closely the readings follow the skills then."""
    who, skills = groups(train, unit), first_guess(x, train, targets)
    habits: dict[str, Any] = {}
    for _ in range(ROUNDS):
        before, (closeness, habits) = habits, match(skills, train[targets].to_numpy(), who, targets)
        if habits == before:
            break
        wanted, weights = aligned(train, targets, {"unit": unit, "habits": habits})
        skills = anchored(unseen(x, wanted, weights, train["text_id"]), train, targets)
    return closeness, habits


def groups(train: pd.DataFrame, unit: str | None) -> pd.Series:
    """Whose habits a reading shows: the rater's, or the rater's in one unit."""
    if unit is None:
        return train["rater"]
    return train["rater"].where(train["rater"] == "panel", train["rater"] + " " + train[unit])


def first_guess(x: np.ndarray, train: pd.DataFrame, targets: list[str]) -> np.ndarray:
    """The skills as a model of the panel's essays sees them."""
    panel = (train["rater"] == "panel").to_numpy()
    return Ridge(30.0).fit(x[panel], train.loc[panel, targets]).predict(x)


def anchored(skills: np.ndarray, train: pd.DataFrame, targets: list[str]) -> np.ndarray:
    """The skills in the order and directions that go best with the panel's ratings."""
    panel = (train["rater"] == "panel").to_numpy()
    between = correlations(train.loc[panel, targets].to_numpy(), skills[panel])
    columns, held = linear_sum_assignment(-np.abs(between))
    return skills[:, held] * np.sign(between[columns, held])


def match(
    skills: np.ndarray, ratings: np.ndarray, who: pd.Series, targets: list[str]
) -> tuple[float, dict[str, Any]]:
    """For each group the skill and the sign of each column; none for those who follow no skill."""
    found, closeness = {}, {}
    for name, rows in who.groupby(who).indices.items():
        if name == "panel":
            continue
        between = correlations(ratings[rows], partial(skills[rows]))
        columns, held = linear_sum_assignment(-np.abs(between))
        found[name] = {
            targets[column]: [targets[skill], int(np.sign(between[column, skill]))]
            for column, skill in zip(columns, held, strict=True)
        }
        closeness[name] = np.abs(between[columns, held]).mean()
    usual = float(np.median(list(closeness.values())))
    return usual, {
        name: columns if closeness[name] > TOO_LOOSE * usual else None
        for name, columns in found.items()
    }


def correlations(ratings: np.ndarray, skills: np.ndarray) -> np.ndarray:
    """Of each column of ratings, in the rows, with each skill."""
    return np.corrcoef(ratings.T, skills.T)[: ratings.shape[1], ratings.shape[1] :]


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
    train: pd.DataFrame, targets: list[str], findings: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """All readings on one scale, in the right columns and directions, and their weights."""
    wanted, weights = np.zeros((len(train), len(targets))), np.zeros(len(train))
    for name, rows in train.groupby(groups(train, findings["unit"])).indices.items():
        as_is = {target: [target, 1] for target in targets}
        columns = as_is if name == "panel" else findings["habits"].get(name)
        if columns is None:
            continue
        ratings = train[targets].to_numpy()[rows]
        ratings = (ratings - ratings.mean(axis=0)) / (ratings.std(axis=0) + 1e-9)
        for place, target in enumerate(targets):
            skill, sign = columns[target]
            wanted[rows, targets.index(skill)] = sign * ratings[:, place]
        weights[rows] = PANEL_WEIGHT if name == "panel" else 1.0
    return wanted, weights


def fitted(x: np.ndarray, wanted: np.ndarray, weights: np.ndarray, penalty: float) -> Ridge:
    """A model of the readings that have weight."""
    used = weights > 0
    return Ridge(penalty).fit(x[used], wanted[used], weights[used])


def unseen(
    x: np.ndarray, wanted: np.ndarray, weights: np.ndarray, essays: pd.Series, penalty: float = 30.0
) -> np.ndarray:
    """What models say of essays that they were not fitted to."""
    number = pd.factorize(essays)[0]
    found = np.zeros_like(wanted)
    for fold in range(FOLDS):
        held = number % FOLDS == fold
        model = fitted(x[~held], wanted[~held], weights[~held], penalty)
        found[held] = model.predict(x[held])
    return found
