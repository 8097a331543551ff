# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Boosted trees on the log price, with the usual features and encoded codes."""

import os

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
GRADES = {"Po": 1, "Fa": 2, "TA": 3, "Gd": 4, "Ex": 5}
SMOOTHING = 10
SETTINGS = [
    {"max_leaf_nodes": 6, "l2_regularization": 1.0},
    {"max_leaf_nodes": 12, "l2_regularization": 10.0},
]


def features(houses: pd.DataFrame) -> pd.DataFrame:
    x = houses.drop(columns=["Id", "SalePrice"], errors="ignore")
    for column in x.select_dtypes(exclude="number"):
        if x[column].dropna().isin(GRADES).all():
            x[column] = x[column].map(GRADES).fillna(0)
        else:
            x[column] = x[column].fillna("NA")
    x["Age"] = x["YrSold"] - x["YearBuilt"]
    x["SinceWork"] = x["YrSold"] - x["YearRemodAdd"]
    x["TotalArea"] = x["GrLivArea"] + x["TotalBsmtSF"]
    x["Baths"] = x["FullBath"] + x["BsmtFullBath"] + 0.5 * (x["HalfBath"] + x["BsmtHalfBath"])
    x["QualityTimesArea"] = x["OverallQual"] * x["TotalArea"]
    x["Time"] = x["YrSold"] + x["MoSold"] / 12
    return x


class Model:
    def __init__(self, settings: dict) -> None:
        self.settings = settings

    def fit(self, x: pd.DataFrame, prices: pd.Series) -> "Model":
        target = np.log(prices)
        self.overall = target.mean()
        self.codes = {}
        for column in x.select_dtypes(exclude="number"):
            groups = target.groupby(x[column])
            sums = groups.sum() + SMOOTHING * self.overall
            self.codes[column] = sums / (groups.size() + SMOOTHING)
        self.trees = HistGradientBoostingRegressor(
            max_iter=200, learning_rate=0.08, random_state=SEED, **self.settings
        ).fit(self._encoded(x), target)
        return self

    def predict(self, x: pd.DataFrame) -> np.ndarray:
        return np.exp(self.trees.predict(self._encoded(x)))

    def _encoded(self, x: pd.DataFrame) -> pd.DataFrame:
        coded = {c: x[c].map(codes).fillna(self.overall) for c, codes in self.codes.items()}
        return x.assign(**coded)


def validate(settings: dict, x: pd.DataFrame, prices: pd.Series) -> float:
    errors = []
    for fitting, held in KFold(3, shuffle=True, random_state=SEED).split(x):
        model = Model(settings).fit(x.iloc[fitting], prices.iloc[fitting])
        errors.append(np.abs(model.predict(x.iloc[held]) - prices.iloc[held]).mean())
    return float(np.mean(errors))


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    x, prices = features(train), train["SalePrice"]
    errors = [validate(settings, x, prices) for settings in SETTINGS]
    print(f"validation MAE={min(errors):.1f}")
    model = Model(SETTINGS[int(np.argmin(errors))]).fit(x, prices)
    predicted = model.predict(features(test))
    pd.DataFrame({"Id": test["Id"], "SalePrice": predicted}).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
