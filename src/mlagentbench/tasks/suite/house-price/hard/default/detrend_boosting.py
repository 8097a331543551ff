# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Learns each kind of house's growth, takes it out of the prices, boosts trees on what is left."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from upright import grade, number, standard, upright_quality

GRADED = ["ExterQual", "ExterCond", "BsmtQual", "HeatingQC", "KitchenQual", "FireplaceQu"]
LOGS = ["LotArea", "GrLivArea", "TotalBsmtSF", "GarageArea", "BsmtFinSF1"]
PLAIN = [
    "LotFrontage",
    "OverallCond",
    "YearBuilt",
    "YearRemodAdd",
    "MasVnrArea",
    "FullBath",
    "HalfBath",
    "BedroomAbvGr",
    "KitchenAbvGr",
    "TotRmsAbvGrd",
    "Fireplaces",
    "GarageCars",
    "WoodDeckSF",
    "OpenPorchSF",
    "PoolArea",
]
CODES = [
    "MSZoning",
    "LotShape",
    "LandContour",
    "LotConfig",
    "LandSlope",
    "Condition1",
    "BldgType",
    "HouseStyle",
    "Exterior1st",
    "MasVnrType",
    "Foundation",
    "BsmtExposure",
    "CentralAir",
    "GarageType",
    "GarageFinish",
    "PavedDrive",
    "SaleType",
    "SaleCondition",
]


def house_features(houses: pd.DataFrame) -> np.ndarray:
    columns = {"OverallQual": upright_quality(houses)}
    columns.update({name: np.log1p(number(houses[name]).clip(lower=0)) for name in LOGS})
    columns.update({name: number(houses[name]) for name in PLAIN})
    columns.update({name: grade(houses[name]).fillna(3.0) for name in GRADED})
    table = pd.DataFrame({k: np.asarray(v, dtype=float) for k, v in columns.items()})
    table = table.fillna(table.median()).fillna(0.0)
    table = table.clip(table.quantile(0.005), table.quantile(0.995), axis=1)
    for name in CODES:
        codes = houses[name].astype(object).fillna("none").astype(str)
        for code, count in codes.value_counts().iloc[1:].items():
            if count >= 100:
                table[f"{name}_{code}"] = (codes == code).to_numpy(dtype=float)
    return standard(table.to_numpy(dtype=float))


def predict(z, m, t, hood, fit, y, ask):
    """Log prices of the rows `ask`, from the rows `fit` with log prices y."""
    names = np.unique(hood[fit])
    d = 3 * (hood[fit][:, None] == names[None, :])
    trends = np.hstack([t[:, None] * 3, t[:, None] * z, 0.5 * t[:, None] * m])
    growth = Ridge(alpha=60.0).fit(np.hstack([z[fit], d, trends[fit]]), y)
    rate = growth.coef_[-trends.shape[1] :]
    level = y - trends[fit] @ rate

    both = np.hstack([z, 0.7 * m])
    folds = np.array([list(names).index(h) for h in hood[fit]]) % 5
    rest = np.zeros(len(fit))
    for k in range(5):
        some = folds != k
        ridge = Ridge(alpha=60.0).fit(both[fit][some], level[some])
        rest[~some] = level[~some] - ridge.predict(both[fit][~some])
    ridge = Ridge(alpha=60.0).fit(both[fit], level)
    trees = HistGradientBoostingRegressor(
        loss="absolute_error",
        learning_rate=0.06,
        max_iter=100,
        max_leaf_nodes=8,
        min_samples_leaf=30,
        l2_regularization=5.0,
        random_state=0,
    ).fit(both[fit], rest)
    guess = ridge.predict(both[ask]) + 0.8 * trees.predict(both[ask])

    found = level - ridge.predict(both[fit]) - 0.8 * trees.predict(both[fit])
    shift = {h: found[hood[fit] == h].sum() / ((hood[fit] == h).sum() + 10.0) for h in names}
    guess += np.array([shift.get(h, 0.0) for h in hood[ask]])
    return np.clip(guess + trends[ask] @ rate, y.min() - 0.3, y.max() + 0.5)


def main() -> None:
    read = {"keep_default_na": False, "na_values": ["NA", ""]}
    train, test = pd.read_csv("train.csv", **read), pd.read_csv("test.csv", **read)
    prices = train["SalePrice"].to_numpy(dtype=float)
    houses = pd.concat([train.drop(columns="SalePrice"), test], ignore_index=True)
    houses["Neighborhood"] = houses["Neighborhood"].fillna("none").astype(str)
    hood = houses["Neighborhood"].to_numpy(dtype=str)
    n = len(train)
    z = house_features(houses)
    m = standard(pd.DataFrame(z).groupby(hood).transform("mean").to_numpy())
    year = number(houses["YrSold"]).fillna(2008).to_numpy()
    t = year + (number(houses["MoSold"]).fillna(6).to_numpy() - 0.5) / 12 - 2007.5
    y = np.log(np.maximum(prices, 1000.0))

    names = np.unique(hood)
    part = dict(zip(names, np.random.default_rng(0).permutation(len(names)) % 3, strict=False))
    fold = np.array([part[h] for h in hood[:n]])
    errors = []
    for k in range(3):
        fit = np.flatnonzero((fold != k) & (year[:n] <= 2007))
        ask = np.flatnonzero((fold == k) & (year[:n] >= 2008))
        guess = predict(z, m, t, hood, fit, y[fit], ask)
        errors.append(np.abs(np.exp(guess) - prices[ask]))
    print(f"validation MAE={np.mean(np.concatenate(errors)):.1f}")

    guess = predict(z, m, t, hood, np.arange(n), y, np.arange(n, len(houses)))
    submission = pd.DataFrame({"Id": test["Id"], "SalePrice": np.exp(guess)})
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
