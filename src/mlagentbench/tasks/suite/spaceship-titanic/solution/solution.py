# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Boosted trees over several seeds, on fields taken apart and on what a group has in common."""

import os

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
VALIDATION_SHARE = 0.2
BOOSTED_WEIGHT = 0.7
SPENDING = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
CODES = {
    "HomePlanet": ["Earth", "Europa", "Mars"],
    "Destination": ["TRAPPIST-1e", "55 Cancri e", "PSO J318.5-22"],
    "Deck": list("ABCDEFGT"),
    "Side": ["P", "S"],
}


def features(passengers: pd.DataFrame) -> pd.DataFrame:
    """Numbers only; what is missing and follows from other fields is filled in."""
    x = passengers.copy()
    x["Group"] = x["PassengerId"].str.split("_").str[0]
    cabin = x["Cabin"].str.split("/", expand=True)
    x["Deck"], x["Number"], x["Side"] = cabin[0], pd.to_numeric(cabin[1]), cabin[2]
    for column in ("HomePlanet", "Deck", "Number", "Side"):
        x[column] = x[column].fillna(x["Group"].map(x.groupby("Group")[column].first()))
    x["GroupSize"] = x["Group"].map(x["Group"].value_counts())
    asleep = x["CryoSleep"].map({True: 1.0, False: 0.0, "True": 1.0, "False": 0.0})
    spent = x[SPENDING].sum(axis=1)
    asleep = asleep.mask(spent > 0, 0.0)
    asleep = asleep.fillna(((spent == 0) & (x["Age"].fillna(30) > 12)).astype(float))
    x.loc[(asleep == 1) | (x["Age"] < 13), SPENDING] = 0.0

    numbers = pd.DataFrame({"Asleep": asleep, "Age": x["Age"], "Number": x["Number"]})
    numbers["GroupSize"] = x["GroupSize"]
    numbers["Child"] = (x["Age"] < 13).astype(float)
    for column, values in CODES.items():
        for value in values:
            numbers[f"{column} {value}"] = (x[column] == value).astype(float)
    logs = np.log1p(x[SPENDING])
    numbers[SPENDING] = logs
    numbers["Total"] = np.log1p(x[SPENDING].sum(axis=1))
    numbers["Places"] = (x[SPENDING] > 0).sum(axis=1)
    needs, luxury = logs["FoodCourt"] + logs["ShoppingMall"], logs["Spa"] + logs["VRDeck"]
    numbers["NeedsOverLuxury"] = needs - luxury - logs["RoomService"]
    together = numbers.groupby(x["Group"])[["Asleep", "Total", "Age"]].transform("mean")
    return numbers.join(together.add_prefix("Group "))


class Model:
    """Boosted trees and randomised trees, their probabilities averaged."""

    def fit(self, x: pd.DataFrame, transported: pd.Series) -> "Model":
        y = transported.astype(int)
        self.boosted = [_boosted(SEED + k).fit(x, y) for k in range(3)]
        self.randomised = _randomised().fit(x, y)
        return self

    def predict(self, x: pd.DataFrame) -> np.ndarray:
        boosted = np.mean([model.predict_proba(x)[:, 1] for model in self.boosted], axis=0)
        randomised = self.randomised.predict_proba(x)[:, 1]
        return BOOSTED_WEIGHT * boosted + (1 - BOOSTED_WEIGHT) * randomised > 0.5


def _boosted(seed: int) -> Pipeline:
    trees = GradientBoostingClassifier(
        n_estimators=250, learning_rate=0.06, max_depth=4, min_samples_leaf=10,
        subsample=0.6, max_features=0.25, random_state=seed,
    )  # fmt: skip
    return make_pipeline(SimpleImputer(strategy="median"), trees)


def _randomised() -> Pipeline:
    forest = ExtraTreesClassifier(200, min_samples_leaf=4, max_features=0.5, random_state=SEED)
    return make_pipeline(SimpleImputer(strategy="median"), forest)


def split(passengers: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    group = passengers["PassengerId"].str.split("_").str[0]
    groups = np.random.default_rng(SEED).permutation(np.sort(group.unique()))
    validation = group.isin(groups[: round(VALIDATION_SHARE * len(groups))])
    return passengers[~validation], passengers[validation]


def main() -> None:
    train = pd.read_csv("train.csv")
    test = pd.read_csv("test.csv")

    fitting, validation = split(train)
    model = Model().fit(features(fitting), fitting["Transported"])
    hits = model.predict(features(validation)) == validation["Transported"].to_numpy()
    print(f"validation accuracy={hits.mean():.4f}")

    model = Model().fit(features(train), train["Transported"])
    submission = pd.DataFrame(
        {"PassengerId": test["PassengerId"], "Transported": model.predict(features(test))}
    )
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
