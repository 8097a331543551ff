# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Few effects, learned inside neighbourhoods and kept where folds agree; levels shrunk to peers."""

import numpy as np
import pandas as pd

GRADES = {"ex": 5.0, "gd": 4.0, "ta": 3.0, "fa": 2.0, "po": 1.0}
FOLDS = 6


def number(column: pd.Series) -> pd.Series:
    return pd.to_numeric(column, errors="coerce").astype(float)


def grade(column: pd.Series) -> pd.Series:
    return column.astype(str).str.strip().str.lower().map(GRADES).astype(float).fillna(3.0)


def upright_quality(houses: pd.DataFrame, hood: np.ndarray) -> np.ndarray:
    """OverallQual, turned round in neighbourhoods where it falls with the other grades."""
    quality = number(houses["OverallQual"]).fillna(5.5).to_numpy().copy()
    others = sum(grade(houses[c]) for c in ["ExterQual", "KitchenQual", "BsmtQual"]).to_numpy()
    for name in np.unique(hood):
        rows = hood == name
        q, o = quality[rows], others[rows]
        if np.sum((q - q.mean()) * (o - o.mean())) < 0:
            quality[rows] = 11 - q
    return quality


def house_features(houses: pd.DataFrame, hood: np.ndarray) -> np.ndarray:
    def log(name):
        return np.log1p(number(houses[name]).clip(lower=0))

    def has(name, value):
        return (houses[name].astype(str).str.strip() == value).astype(float)

    columns = [
        upright_quality(houses, hood),
        log("GrLivArea"),
        log("LotArea"),
        log("TotalBsmtSF"),
        number(houses["LotFrontage"]),
        number(houses["YearBuilt"]),
        number(houses["YearRemodAdd"]),
        number(houses["OverallCond"]),
        number(houses["GarageCars"]),
        number(houses["Fireplaces"]),
        number(houses["FullBath"]),
        grade(houses["ExterQual"]),
        grade(houses["KitchenQual"]),
        grade(houses["BsmtQual"]),
        has("CentralAir", "Y"),
        has("PavedDrive", "Y"),
        has("BldgType", "1Fam"),
        has("MSZoning", "RL"),
        has("Condition1", "Norm"),
        has("SaleCondition", "Normal"),
        has("LotShape", "Reg"),
        has("LotConfig", "Corner"),
        has("LandContour", "Lvl"),
        has("LandSlope", "Gtl"),
        has("Foundation", "PConc"),
    ]
    table = pd.DataFrame({i: np.asarray(c, dtype=float) for i, c in enumerate(columns)})
    table = table.fillna(table.median()).fillna(0.0)
    table = table.clip(table.quantile(0.01), table.quantile(0.99), axis=1)
    spread = table.std().replace(0.0, 1.0)
    return ((table - table.mean()) / spread).to_numpy()


def ridge(x, y, alpha, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return np.linalg.solve((x.T * weight) @ x + alpha * np.eye(x.shape[1]), (x.T * weight) @ y)


def robust(x, y, alpha):
    """Ridge whose large residuals count less."""
    weight = np.ones(len(y))
    for _ in range(6):
        beta = ridge(x, y, alpha, weight)
        rest = np.abs(y - x @ beta)
        weight = 1 / np.maximum(1.0, rest / (1.5 * np.median(rest) + 1e-9))
    return beta


def centred(table, hood):
    return table - pd.DataFrame(table).groupby(hood).transform("mean").to_numpy()


def predict(z, t, hood, fit, y, ask):
    """Log prices of the rows `ask`, from the rows `fit` with log prices y."""
    p = z.shape[1]
    full = np.hstack([z, t[:, None], t[:, None] * z])
    names, code = np.unique(hood[fit], return_inverse=True)
    inside = centred(full[fit], hood[fit])
    target = centred(y[:, None], hood[fit])[:, 0]
    beta = robust(inside, target, 20.0)
    signs = np.array(
        [
            np.sign(robust(inside[code % FOLDS != k], target[code % FOLDS != k], 20.0))
            for k in range(FOLDS)
        ]
    )
    agree = np.abs(signs.sum(axis=0)) >= FOLDS - 1
    agree[: p + 1] = True
    columns = np.flatnonzero(agree)
    beta = np.zeros(full.shape[1])
    beta[columns] = robust(inside[:, columns], target, 20.0)
    guess = full[ask] @ beta

    level = np.array([np.median((y - full[fit] @ beta)[code == i]) for i in range(len(names))])
    means = pd.DataFrame(z).groupby(hood).mean()
    profile = (means - means.mean()) / means.std().replace(0.0, 1.0)
    known = profile.loc[list(names)].to_numpy()
    centre = level.mean()
    losses = {}
    for alpha in [10.0, 30.0, 100.0, 1000.0]:
        hat = known @ np.linalg.solve(known.T @ known + alpha * np.eye(p), known.T)
        gap = (level - centre) - hat @ (level - centre)
        losses[alpha] = np.mean(np.abs(gap / (1 - np.diag(hat))))
    slope = ridge(known, level - centre, min(losses, key=losses.get))
    by_name = dict(zip(profile.index, profile.to_numpy() @ slope + centre, strict=False))
    by_name.update(dict(zip(names, level, strict=False)))
    guess = guess + np.array([by_name[h] for h in hood[ask]])
    return np.clip(guess, y.min() - 0.2, y.max() + 0.4)


def main() -> None:
    read = {"keep_default_na": False, "na_values": ["NA", ""]}
    train, test = pd.read_csv("train.csv", **read), pd.read_csv("test.csv", **read)
    prices = train["SalePrice"].to_numpy(dtype=float)
    houses = pd.concat([train.drop(columns="SalePrice"), test], ignore_index=True)
    hood = houses["Neighborhood"].fillna("none").astype(str).to_numpy(dtype=str)
    n = len(train)
    z = house_features(houses, hood)
    year = number(houses["YrSold"]).fillna(2008).to_numpy()
    t = year + (number(houses["MoSold"]).fillna(6).to_numpy() - 0.5) / 12 - 2007.5
    y = np.log(np.maximum(prices, 1000.0))

    names = np.unique(hood)
    part = dict(zip(names, np.random.default_rng(1).permutation(len(names)) % 5, strict=False))
    fold = np.array([part[h] for h in hood[:n]])
    errors = []
    for k in range(5):
        fit = np.flatnonzero((fold != k) & (year[:n] <= 2007))
        ask = np.flatnonzero((fold == k) & (year[:n] >= 2008))
        guess = predict(z, t, hood, fit, y[fit], ask)
        errors.append(np.abs(np.exp(guess) - prices[ask]))
    print(f"validation MAE={np.mean(np.concatenate(errors)):.1f}")

    guess = predict(z, t, hood, np.arange(n), y, np.arange(n, len(houses)))
    submission = pd.DataFrame({"Id": test["Id"], "SalePrice": np.exp(guess)})
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
