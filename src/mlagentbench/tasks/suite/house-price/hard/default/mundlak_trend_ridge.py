# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Ridge on log price: houses, neighbourhood means and their trends, quality scale put upright."""

import itertools

import numpy as np
import pandas as pd
from upright import grade, number, standard, upright_quality

GRADED = [
    "ExterQual",
    "ExterCond",
    "BsmtQual",
    "BsmtCond",
    "HeatingQC",
    "KitchenQual",
    "FireplaceQu",
    "GarageQual",
    "GarageCond",
]
LOGS = ["LotArea", "GrLivArea", "TotalBsmtSF", "1stFlrSF", "2ndFlrSF", "GarageArea", "BsmtFinSF1"]
PLAIN = [
    "LotFrontage",
    "OverallCond",
    "YearBuilt",
    "YearRemodAdd",
    "MasVnrArea",
    "BsmtFullBath",
    "FullBath",
    "HalfBath",
    "BedroomAbvGr",
    "KitchenAbvGr",
    "TotRmsAbvGrd",
    "Fireplaces",
    "GarageCars",
    "WoodDeckSF",
    "OpenPorchSF",
    "EnclosedPorch",
    "ScreenPorch",
    "PoolArea",
    "MiscVal",
]
CODES = [
    "MSSubClass",
    "MSZoning",
    "Alley",
    "LotShape",
    "LandContour",
    "LotConfig",
    "LandSlope",
    "Condition1",
    "BldgType",
    "HouseStyle",
    "RoofStyle",
    "RoofMatl",
    "Exterior1st",
    "MasVnrType",
    "Foundation",
    "BsmtExposure",
    "BsmtFinType1",
    "CentralAir",
    "Electrical",
    "Functional",
    "GarageType",
    "GarageFinish",
    "PavedDrive",
    "Fence",
    "SaleType",
    "SaleCondition",
]
SQUARES = ["OverallQual", "YearBuilt", "GrLivArea", "LotArea"]


def house_features(houses: pd.DataFrame) -> np.ndarray:
    columns = {"OverallQual": upright_quality(houses)}
    for name in LOGS:
        columns[name] = np.log1p(number(houses[name]).clip(lower=0))
    for name in PLAIN:
        columns[name] = number(houses[name])
    for name in GRADED:
        columns[name] = grade(houses[name]).fillna(3.0)
    table = pd.DataFrame({k: np.asarray(v, dtype=float) for k, v in columns.items()})
    table = table.fillna(table.median()).fillna(0.0)
    table = table.clip(table.quantile(0.005), table.quantile(0.995), axis=1)
    for name in SQUARES:
        table[name + "_squared"] = (table[name] - table[name].mean()) ** 2
    for name in CODES:
        codes = houses[name].astype(object).fillna("none").astype(str)
        for code, count in codes.value_counts().iloc[1:].items():
            if count >= 60:
                table[f"{name}_{code}"] = (codes == code).to_numpy(dtype=float)
    return standard(table.to_numpy(dtype=float))


def solve(gram: np.ndarray, moment: np.ndarray, scale: np.ndarray, alpha: float) -> np.ndarray:
    scaled = gram * scale[:, None] * scale[None, :] + alpha * np.eye(len(scale))
    return scale * np.linalg.solve(scaled, scale * moment)


def main() -> None:
    read = {"keep_default_na": False, "na_values": ["NA", ""]}
    train, test = pd.read_csv("train.csv", **read), pd.read_csv("test.csv", **read)
    prices = train["SalePrice"].to_numpy(dtype=float)
    houses = pd.concat([train.drop(columns="SalePrice"), test], ignore_index=True)
    hood = houses["Neighborhood"].fillna("none").astype(str)
    houses["Neighborhood"] = hood
    n = len(train)

    z = house_features(houses)
    m = standard(pd.DataFrame(z).groupby(hood.to_numpy()).transform("mean").to_numpy())
    names = np.sort(hood.unique())
    d = (hood.to_numpy()[:, None] == names[None, :]).astype(float) * 3
    year = number(houses["YrSold"]).fillna(2008).to_numpy()
    t = (year + (number(houses["MoSold"]).fillna(6).to_numpy() - 0.5) / 12 - 2007.5)[:, None]
    one = np.full((len(houses), 1), 10.0)
    blocks = [one, one * t, z, m, d, t * z, t * m, t * d]
    kind = np.repeat(np.arange(len(blocks)), [b.shape[1] for b in blocks])
    x = np.hstack(blocks)
    y = np.log(np.maximum(prices, 1000.0))
    middle = y.mean()

    fold_of = dict(zip(names, np.random.default_rng(0).permutation(len(names)) % 5, strict=False))
    fold = hood.map(fold_of).to_numpy()[:n]
    parts = []
    for k in range(5):
        fit = (fold != k) & (year[:n] <= 2007)
        check = (fold == k) & (year[:n] >= 2008)
        xf = x[:n][fit]
        parts.append((xf.T @ xf, xf.T @ (y[fit] - middle), x[:n][check], prices[check]))
    low, high = y.min() - 0.3, y.max() + 0.5
    best = (np.inf, None, None)
    for alpha, wm, wt, wtm in itertools.product([10, 40, 160], [0.3, 1.0], [0.3, 1.0], [0.3, 1.0]):
        scale = np.array([1, 1, 1, wm, 0.5, wt, wtm, 0.3])[kind]
        errors = []
        for gram, moment, xc, actual in parts:
            guess = np.exp(np.clip(xc @ solve(gram, moment, scale, alpha) + middle, low, high))
            errors.append(np.abs(guess - actual))
        error = float(np.mean(np.concatenate(errors)))
        if error < best[0]:
            best = (error, alpha, scale)
    print(f"validation MAE={best[0]:.1f}")

    xt = x[:n]
    weights = solve(xt.T @ xt, xt.T @ (y - middle), best[2], best[1])
    guess = np.exp(np.clip(x[n:] @ weights + middle, low, high))
    pd.DataFrame({"Id": test["Id"], "SalePrice": guess}).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
