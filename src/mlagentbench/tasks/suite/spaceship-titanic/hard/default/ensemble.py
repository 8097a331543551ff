# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Several usual recipes, blended with the weights that random cross-validation likes best."""

import itertools
import os

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
SPENDING = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]


def features(passengers: pd.DataFrame) -> pd.DataFrame:
    group = passengers["PassengerId"].str.split("_").str[0]
    cabin = passengers["Cabin"].str.split("/", expand=True)
    texts = passengers[["HomePlanet", "Destination", "CryoSleep", "VIP", "Voyage"]].astype(str)
    x = pd.get_dummies(texts.assign(Deck=cabin[0], Side=cabin[2])).astype(float)
    x["Number"] = cabin[1].astype(float)
    x["GroupSize"] = group.map(group.value_counts())
    x["Age"] = passengers["Age"]
    x[SPENDING] = np.log1p(passengers[SPENDING])
    x["Total"] = np.log1p(passengers[SPENDING].sum(axis=1))
    for column in ("Age", "Name", *SPENDING):
        x[f"{column} missing"] = passengers[column].isna().astype(float)
    return x


def recipes() -> list:
    boosted = HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.06, max_leaf_nodes=12, random_state=SEED
    )
    forest = ExtraTreesClassifier(150, min_samples_leaf=3, max_features=0.3, random_state=SEED)
    line = LogisticRegression(C=0.1, max_iter=500)
    return [
        boosted,
        make_pipeline(SimpleImputer(), forest),
        make_pipeline(SimpleImputer(), StandardScaler(), line),
    ]


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    x = features(pd.concat([train.drop(columns="Transported"), test], ignore_index=True))
    seen, unseen, fates = x[: len(train)], x[len(train) :], train["Transported"].astype(bool)
    folds = KFold(4, shuffle=True, random_state=SEED)
    held = [
        cross_val_predict(model, seen, fates, cv=folds, method="predict_proba")[:, 1]
        for model in recipes()
    ]

    def accuracy(weights: tuple[int, ...]) -> float:
        blend = np.average(held, axis=0, weights=weights)
        return float(np.mean((blend > 0.5) == fates))

    best = max((w for w in itertools.product(range(4), repeat=len(held)) if any(w)), key=accuracy)
    print(f"validation accuracy={accuracy(best):.4f}")
    fitted = [model.fit(seen, fates).predict_proba(unseen)[:, 1] for model in recipes()]
    predicted = np.average(fitted, axis=0, weights=best) > 0.5
    submission = pd.DataFrame({"PassengerId": test["PassengerId"], "Transported": predicted})
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
