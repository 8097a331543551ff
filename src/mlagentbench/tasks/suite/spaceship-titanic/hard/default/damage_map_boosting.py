# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Maps damaged records over each voyage's cabins to see where the anomaly struck; boosted trees."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SPENT = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
WATCHED = ["HomePlanet", "CryoSleep", "Destination", "Age", "VIP", *SPENT, "Name"]
WIDTHS = [(15.0, 1.0), (35.0, 1.5), (70.0, 2.5)]


def truth(column: pd.Series) -> pd.Series:
    return column.astype(str).str.strip().str.lower().map({"true": 1.0, "false": 0.0}).astype(float)


def passenger_features(people: pd.DataFrame) -> pd.DataFrame:
    group = people["PassengerId"].astype(str).str.split("_").str[0] + people["Voyage"].astype(str)
    spent = people[SPENT].apply(pd.to_numeric, errors="coerce")
    total = spent.sum(axis=1)
    asleep = truth(people["CryoSleep"])
    asleep = asleep.mask(asleep.isna() & (total > 0), 0.0)
    table = pd.DataFrame({"asleep": asleep.fillna(0.6), "total": np.log1p(total)})
    table["nothing"] = (total == 0).astype(float)
    for name in SPENT:
        table[name] = np.log1p(spent[name].fillna(0.0).clip(lower=0))
    age = pd.to_numeric(people["Age"], errors="coerce")
    table["age"] = age.fillna(age.median())
    table["child"] = (table["age"] < 13).astype(float)
    table["vip"] = truth(people["VIP"]).fillna(0.0)
    table["group"] = group.groupby(group).transform("size").clip(upper=6).astype(float)
    planet = people["HomePlanet"].astype(object)
    planet = planet.fillna(planet.groupby(group).transform("first")).fillna("none").astype(str)
    for name in ["Earth", "Europa", "Mars"]:
        table[name] = (planet == name).astype(float)
    for name in ["TRAPPIST-1e", "55 Cancri e", "PSO J318.5-22"]:
        table[name] = (people["Destination"].astype(str) == name).astype(float)
    return table.astype(float)


def places(people: pd.DataFrame) -> pd.DataFrame:
    cabin = people["Cabin"].astype(object).where(people["Cabin"].notna(), "").astype(str)
    parts = cabin.str.extract(r"^([A-Z])/(\d+)/([PS])$")
    place = pd.DataFrame(
        {
            "deck": parts[0].map({d: float(i) for i, d in enumerate("ABCDEFGT")}).astype(float),
            "number": pd.to_numeric(parts[1], errors="coerce").astype(float),
            "side": parts[2].map({"P": 0.0, "S": 1.0}).astype(float),
        }
    )
    return place.fillna({"deck": 3.0, "number": 150.0, "side": 0.5})


def damage_features(people: pd.DataFrame, place: pd.DataFrame) -> pd.DataFrame:
    signs = people[WATCHED].isna().astype(float)
    spent = people[SPENT].apply(pd.to_numeric, errors="coerce")
    signs["large"] = (spent.max(axis=1).fillna(0) > 5000).astype(float)
    signs["awake"] = ((truth(people["CryoSleep"]) == 1) & (spent.sum(axis=1) > 0)).astype(float)
    signs["any"] = signs.sum(axis=1)
    values = signs.to_numpy()
    out = np.zeros((len(people), 3 * len(WIDTHS) + 3 + values.shape[1]))
    for rows in people.groupby("Voyage").indices.values():
        number, deck, side = (place[c].to_numpy()[rows] for c in ["number", "deck", "side"])
        other = side[:, None] != side[None, :]
        local, total = values[rows], values[rows, -1]
        columns = []
        for along, across in WIDTHS:
            near = np.exp(
                -0.5 * ((number[:, None] - number) / along) ** 2
                - 0.5 * ((deck[:, None] - deck) / across) ** 2
            )
            for kernel in (near * np.where(other, 0.2, 1.0), near):
                kernel = kernel - np.diag(np.diag(kernel))
                columns.append(
                    (kernel @ total + total.mean()) / (kernel.sum(axis=1) + 1) - total.mean()
                )
            if along == 35.0:
                smooth = (kernel @ local + local.mean(axis=0)) / (kernel.sum(axis=1) + 1)[:, None]
                smooth = smooth - local.mean(axis=0)
                heat = columns[-2]
        for along, _ in WIDTHS:
            near = np.exp(-0.5 * ((number[:, None] - number) / along) ** 2)
            columns.append((near @ total) / near.sum(axis=1) - total.mean())
        weight = np.exp(8 * (heat - heat.max()) / (heat.std() + 1e-9) / 4)
        weight = weight / weight.sum()
        columns += [
            np.abs(number - weight @ number),
            np.abs(deck - weight @ deck),
            np.abs(side - weight @ side),
        ]
        out[rows] = np.column_stack([np.column_stack(columns), smooth])
    return pd.DataFrame(out, columns=[f"damage{i}" for i in range(out.shape[1])])


def fit_predict(x: np.ndarray, y: np.ndarray, ask: np.ndarray) -> np.ndarray:
    line = make_pipeline(StandardScaler(), LogisticRegression(C=0.05, max_iter=500)).fit(x, y)
    chance = 0.4 * line.predict_proba(ask)[:, 1]
    trees = HistGradientBoostingClassifier(
        learning_rate=0.06,
        max_iter=90,
        max_leaf_nodes=8,
        min_samples_leaf=40,
        l2_regularization=10.0,
        random_state=0,
    ).fit(x, y)
    return chance + 0.6 * trees.predict_proba(ask)[:, 1]


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    y = truth(train["Transported"]).to_numpy().astype(int)
    people = pd.concat([train.drop(columns="Transported"), test], ignore_index=True)
    place = places(people)
    x = pd.concat([passenger_features(people), damage_features(people, place)], axis=1).to_numpy()
    n = len(train)
    voyages = np.sort(train["Voyage"].unique())
    right = []
    for k in range(4):
        held = train["Voyage"].isin(voyages[k::4]).to_numpy()
        chance = fit_predict(x[:n][~held], y[~held], x[:n][held])
        right.append((chance > 0.5) == (y[held] == 1))
    print(f"validation accuracy={np.mean(np.concatenate(right)):.4f}")
    fate = fit_predict(x[:n], y, x[n:]) > 0.5
    submission = pd.DataFrame({"PassengerId": test["PassengerId"], "Transported": fate})
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
