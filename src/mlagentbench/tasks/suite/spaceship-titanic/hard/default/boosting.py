# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Boosted trees on fields taken apart, with settings chosen by cross-validation over groups."""

import os

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GroupKFold, cross_val_score

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
SPENDING = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
SETTINGS = [
    {"max_leaf_nodes": leaves, "l2_regularization": penalty}
    for leaves in (6, 16)
    for penalty in (1.0, 10.0)
]


def features(passengers: pd.DataFrame) -> pd.DataFrame:
    group = passengers["PassengerId"].str.split("_").str[0]
    cabin = passengers["Cabin"].str.split("/", expand=True)
    x = pd.DataFrame({"Deck": cabin[0].map("ABCDEFG".index), "Number": cabin[1].astype(float)})
    x["Side"] = (cabin[2] == "S").astype(float)
    x["GroupSize"] = group.map(group.value_counts())
    for column in ("HomePlanet", "Destination", "CryoSleep", "VIP"):
        x[column] = pd.Categorical(passengers[column].astype(str)).codes
    x["Age"] = passengers["Age"]
    x[SPENDING] = np.log1p(passengers[SPENDING])
    x["Total"] = np.log1p(passengers[SPENDING].sum(axis=1))
    x["Child"] = (passengers["Age"] < 13).astype(float)
    x["Missing"] = passengers.isna().sum(axis=1)
    return x


def boosted(settings: dict) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=120, learning_rate=0.06, random_state=SEED, **settings
    )


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    x = features(pd.concat([train.drop(columns="Transported"), test], ignore_index=True))
    seen, unseen, fates = x[: len(train)], x[len(train) :], train["Transported"].astype(bool)
    groups = train["PassengerId"].str.split("_").str[0]
    scores = [
        cross_val_score(boosted(one), seen, fates, groups=groups, cv=GroupKFold(3)).mean()
        for one in SETTINGS
    ]
    print(f"validation accuracy={max(scores):.4f}")
    predicted = boosted(SETTINGS[int(np.argmax(scores))]).fit(seen, fates).predict(unseen)
    submission = pd.DataFrame({"PassengerId": test["PassengerId"], "Transported": predicted})
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
