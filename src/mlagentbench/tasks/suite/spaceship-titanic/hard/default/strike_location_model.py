# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Finds the strike of training voyages by fates, learns its marks in records, finds it by them."""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

SPENT = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
WATCHED = ["HomePlanet", "CryoSleep", "Destination", "Age", "VIP", *SPENT, "Name"]
SHAPES = [(30.0, 1.2, 0.8), (60.0, 2.0, 0.8), (60.0, 1.2, 1.5), (100.0, 2.5, 0.5)]


def truth(column: pd.Series) -> pd.Series:
    return column.astype(str).str.strip().str.lower().map({"true": 1.0, "false": 0.0}).astype(float)


def passenger_features(people: pd.DataFrame) -> np.ndarray:
    group = people["PassengerId"].astype(str).str.split("_").str[0] + people["Voyage"].astype(str)
    spent = people[SPENT].apply(pd.to_numeric, errors="coerce")
    total = spent.sum(axis=1)
    asleep = truth(people["CryoSleep"])
    asleep = asleep.mask(asleep.isna() & (total > 0), 0.0).fillna(0.6)
    age = pd.to_numeric(people["Age"], errors="coerce").fillna(27.0)
    columns = [asleep, np.log1p(total) / 5, (total == 0) * (1 - asleep), age / 30, age < 13]
    columns += [np.log1p(spent[c].fillna(0.0).clip(lower=0)) / 4 for c in SPENT]
    columns += [people["HomePlanet"].astype(str) == c for c in ["Earth", "Europa", "Mars"]]
    columns += [people["Destination"].astype(str) == c for c in ["55 Cancri e", "PSO J318.5-22"]]
    columns += [truth(people["VIP"]).fillna(0.0), group.groupby(group).transform("size") > 1]
    return np.column_stack([np.asarray(c, dtype=float) for c in columns])


def marks_of(people: pd.DataFrame) -> np.ndarray:
    """What may have been done to each record, as 0 or 1."""
    spent = people[SPENT].apply(pd.to_numeric, errors="coerce")
    marks = people[WATCHED].isna().astype(float)
    marks["large"] = (spent.max(axis=1).fillna(0) > 5000).astype(float)
    marks["awake"] = ((truth(people["CryoSleep"]) == 1) & (spent.sum(axis=1) > 0)).astype(float)
    return marks.to_numpy()


def nearness(people: pd.DataFrame, shape: tuple) -> np.ndarray:
    """Nearness of each passenger's cabin to each place that could have been struck."""
    along, across, side_cost = shape
    cabin = people["Cabin"].astype(object).where(people["Cabin"].notna(), "").astype(str)
    parts = cabin.str.extract(r"^([A-Z])/(\d+)/([PS])$")
    deck = parts[0].map({d: float(i) for i, d in enumerate("ABCDEFGT")}).astype(float)
    number = pd.to_numeric(parts[1], errors="coerce").astype(float)
    side = parts[2].map({"P": 0.0, "S": 1.0}).astype(float)
    spots = [(a, b, c) for a in np.arange(0, 301, 20.0) for b in range(7) for c in (0.0, 1.0)]
    a, b, c = np.array(spots).T
    far = ((number.fillna(150.0).to_numpy()[:, None] - a) / along) ** 2
    far += ((deck.fillna(3.0).to_numpy()[:, None] - b) / across) ** 2
    far += side_cost * np.abs(side.fillna(0.5).to_numpy()[:, None] - c)
    return np.exp(-0.5 * far)


def log_chance(logit: np.ndarray, happened: np.ndarray) -> np.ndarray:
    return happened * logit - np.logaddexp(0.0, logit)


def struck(near, x, y, rows_of):
    """Nearness to the place that best explains the fates of each voyage; and how well it does."""
    here = np.zeros(len(x))
    slope, base = 3.0, -1.0
    offset = LogisticRegression(C=1.0, max_iter=300).fit(x, y).decision_function(x)
    for _ in range(3):
        fit = 0.0
        for rows in rows_of:
            logit = offset[rows][:, None] + base + slope * near[rows]
            score = log_chance(logit, y[rows][:, None]).sum(axis=0)
            here[rows] = near[rows, np.argmax(score)]
            fit += score.max()
        model = LogisticRegression(C=1.0, max_iter=300).fit(np.column_stack([x, here]), y)
        slope, base = max(float(model.coef_[0, -1]), 0.5), float(model.intercept_[0])
        offset = x @ model.coef_[0, :-1]
    return here, fit


def mark_models(here, marks):
    """How often each mark occurs, far away and near: intercepts and slopes."""
    lines = []
    for j in range(marks.shape[1]):
        if marks[:, j].sum() < 10:
            lines.append((-5.0, 0.0))
            continue
        line = LogisticRegression(C=0.5, max_iter=300).fit(here[:, None], marks[:, j])
        lines.append((float(line.intercept_[0]), float(line.coef_[0, 0])))
    return lines


def found(near, marks, lines):
    """Expected nearness to the strike in one voyage, by its marks alone."""
    score = np.zeros(near.shape[1])
    for j, (base, slope) in enumerate(lines):
        if abs(slope) > 0.15:
            rate = np.log((marks[:, j].mean() + 0.005) / 0.995)
            logit = 0.5 * (base + rate - slope * near.mean()) + slope * near
            score += log_chance(logit, marks[:, [j]]).sum(axis=0)
    chance = np.exp(score - score.max())
    return near @ (chance / chance.sum())


def design(x: np.ndarray, here: np.ndarray) -> np.ndarray:
    h = here[:, None]
    return np.hstack([x, h, h**2, h * x[:, :5]])


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    y = truth(train["Transported"]).to_numpy().astype(int)
    people = pd.concat([train.drop(columns="Transported"), test], ignore_index=True)
    n = len(train)
    x, marks = passenger_features(people), marks_of(people)
    voyage = people["Voyage"].astype(str).to_numpy(dtype=str)
    names = np.unique(voyage[:n])
    rows_of = [np.flatnonzero(voyage[:n] == v) for v in names]

    fits = []
    for shape in SHAPES:
        near = nearness(people, shape)
        here, fit = struck(near, x[:n], y, rows_of)
        fits.append((fit, shape, here))
    _, shape, here = max(fits, key=lambda f: f[0])
    near = nearness(people, shape)

    guess = np.zeros(len(people))
    for rows in rows_of:
        others = np.setdiff1d(np.arange(n), rows)
        lines = mark_models(here[others], marks[others])
        guess[rows] = found(near[rows], marks[rows], lines)
    lines = mark_models(here, marks[:n])
    for v in np.unique(voyage[n:]):
        rows = n + np.flatnonzero(voyage[n:] == v)
        guess[rows] = found(near[rows], marks[rows], lines)

    full = design(x, guess)
    right = []
    for rows in rows_of:
        others = np.setdiff1d(np.arange(n), rows)
        model = LogisticRegression(C=0.3, max_iter=500).fit(full[others], y[others])
        right.append(model.predict(full[rows]) == y[rows])
    print(f"validation accuracy={np.mean(np.concatenate(right)):.4f}")

    fate = LogisticRegression(C=0.3, max_iter=500).fit(full[:n], y).predict(full[n:]) == 1
    submission = pd.DataFrame({"PassengerId": test["PassengerId"], "Transported": fate})
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
