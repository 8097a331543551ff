# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Logistic regression on effects alike in all voyages, no cabin; half of each voyage is taken."""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

SPENT = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
WATCHED = ["HomePlanet", "CryoSleep", "Destination", "Age", "VIP", *SPENT, "Name"]


def truth(column: pd.Series) -> pd.Series:
    return column.astype(str).str.strip().str.lower().map({"true": 1.0, "false": 0.0}).astype(float)


def damage_nearby(people: pd.DataFrame) -> np.ndarray:
    """How damaged the records around a passenger are, as a rank inside the voyage."""
    cabin = people["Cabin"].astype(object).where(people["Cabin"].notna(), "").astype(str)
    parts = cabin.str.extract(r"^([A-Z])/(\d+)/([PS])$")
    deck = parts[0].map({d: float(i) for i, d in enumerate("ABCDEFGT")}).astype(float)
    deck = deck.fillna(3.0).to_numpy()
    number = pd.to_numeric(parts[1], errors="coerce").astype(float).fillna(150.0).to_numpy()
    side = (parts[2] == "S").to_numpy(dtype=float)
    missing = people[WATCHED].isna().sum(axis=1).to_numpy(dtype=float)
    rank = np.zeros(len(people))
    for rows in people.groupby("Voyage").indices.values():
        far = ((number[rows][:, None] - number[rows]) / 40) ** 2
        far += ((deck[rows][:, None] - deck[rows]) / 1.5) ** 2
        far += (side[rows][:, None] - side[rows]) ** 2
        kernel = np.exp(-0.5 * far)
        heat = kernel @ missing[rows] / kernel.sum(axis=1)
        rank[rows] = np.argsort(np.argsort(heat)) / len(rows) - 0.5
    return rank


def features(people: pd.DataFrame) -> np.ndarray:
    group = people["PassengerId"].astype(str).str.split("_").str[0] + people["Voyage"].astype(str)
    spent = people[SPENT].apply(pd.to_numeric, errors="coerce")
    spent = spent.fillna(0.0).clip(lower=0, upper=5000)
    total = spent.sum(axis=1)
    asleep = truth(people["CryoSleep"])
    asleep = asleep.mask(asleep.isna() & (total > 0), 0.0).fillna(0.6)
    age = pd.to_numeric(people["Age"], errors="coerce").fillna(27.0)
    heat = damage_nearby(people)
    columns = [heat, np.abs(heat), heat * asleep, asleep, np.log1p(total) / 5, total == 0]
    columns += [age / 30, age < 13, age < 18, truth(people["VIP"]).fillna(0.0)]
    columns += [np.log1p(spent[c]) / 4 for c in SPENT]
    columns += [people["HomePlanet"].astype(str) == c for c in ["Earth", "Europa", "Mars"]]
    columns += [people["Destination"].astype(str) == c for c in ["55 Cancri e", "PSO J318.5-22"]]
    size = group.groupby(group).transform("size")
    columns += [size > 1, np.minimum(size, 6)]
    columns += [pd.Series(np.log1p(total)).groupby(group).transform("mean") / 5]
    return np.column_stack([np.asarray(c, dtype=float) for c in columns])


def alike(x: np.ndarray, y: np.ndarray, voyage: np.ndarray) -> np.ndarray:
    """Columns whose effect has one sign in most voyages."""
    signs = []
    for v in np.unique(voyage):
        rows = voyage == v
        if 0 < y[rows].sum() < rows.sum():
            signs.append(
                np.sign(LogisticRegression(C=0.1, max_iter=300).fit(x[rows], y[rows]).coef_[0])
            )
    return np.abs(np.mean(signs, axis=0)) >= 0.4


def predict(x, y, voyage, ask, ask_voyage):
    keep = alike(x, y, voyage)
    if not keep.any():
        keep[:] = True
    model = LogisticRegression(C=0.2, max_iter=500).fit(x[:, keep], y)
    logit = model.decision_function(ask[:, keep])
    middle = pd.Series(logit).groupby(ask_voyage).transform("median").to_numpy()
    return logit > 0.5 * middle


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    y = truth(train["Transported"]).to_numpy().astype(int)
    people = pd.concat([train.drop(columns="Transported"), test], ignore_index=True)
    voyage = people["Voyage"].astype(str).to_numpy(dtype=str)
    x = features(people)
    n = len(train)
    right = []
    for v in np.unique(voyage[:n]):
        held = voyage[:n] == v
        fate = predict(x[:n][~held], y[~held], voyage[:n][~held], x[:n][held], voyage[:n][held])
        right.append(fate == (y[held] == 1))
    print(f"validation accuracy={np.mean(np.concatenate(right)):.4f}")
    fate = predict(x[:n], y, voyage[:n], x[n:], voyage[n:])
    submission = pd.DataFrame({"PassengerId": test["PassengerId"], "Transported": fate})
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
