# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Boosted trees that also see what is usual in each neighbourhood; outliers are dropped first."""

import os

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
SMALLEST_AREA = 500


def features(houses: pd.DataFrame) -> pd.DataFrame:
    """Numbers of the house and, beside them, their means and spreads in its neighbourhood."""
    x = houses.drop(columns=["Id", "SalePrice"])
    for column in x.select_dtypes(exclude="number").columns.drop("Neighborhood"):
        x[column] = pd.factorize(x[column], sort=True)[0]
    x["TotalArea"] = x["GrLivArea"] + x["TotalBsmtSF"]
    x["Age"] = x["YrSold"] - x["YearBuilt"]
    x["Time"] = x["YrSold"] + x["MoSold"] / 12
    groups = x.groupby("Neighborhood")
    usual = groups.transform("mean").add_prefix("mean ")
    spread = groups.transform("std").add_prefix("spread ")
    return pd.concat([x.drop(columns="Neighborhood"), usual, spread], axis=1)


def boosted() -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(
        max_iter=150, learning_rate=0.1, max_leaf_nodes=10, l2_regularization=5.0,
        max_features=0.3, random_state=SEED,
    )  # fmt: skip


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    houses = pd.concat([train, test], ignore_index=True)
    x, prices = features(houses), houses["SalePrice"]
    usable = prices.notna() & (houses["GrLivArea"] > SMALLEST_AREA)
    seen, target, places = x[usable], np.log(prices[usable]), houses["Neighborhood"][usable]
    errors = []
    for fitting, held in GroupKFold(3).split(seen, groups=places):
        model = boosted().fit(seen.iloc[fitting], target.iloc[fitting])
        predicted = np.exp(model.predict(seen.iloc[held]))
        errors.append(np.abs(predicted - np.exp(target.iloc[held])).mean())
    print(f"validation MAE={np.mean(errors):.1f}")
    predicted = np.exp(boosted().fit(seen, target).predict(x[prices.isna()]))
    pd.DataFrame({"Id": test["Id"], "SalePrice": predicted}).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
