# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""What is peculiar in the tables: conventions of the clerks, and what neighbourhoods depend on."""

import numpy as np
import pandas as pd
from tables import GRADES, SIZES, numbers, repaired, statistics, years

FEET = {"metres": 0.3048, "yards": 1 / 3}
FAR_APART = 4.0
"""Standard deviations between the two kinds of rows, when areas have two units."""
GAIN = 0.25
"""A driver has to lower the left-out error by this share, on average."""
MOST_DRIVERS = 6
CLEAR = 0.2
"""Correlation of what is left of the prices with a code times time."""


def find(train: pd.DataFrame, test: pd.DataFrame) -> dict:
    houses = pd.concat([train.drop(columns="SalePrice"), test], ignore_index=True)
    found = {"units": _units(houses), "reversed": _reversed_grades(houses)}
    houses, train = repaired(houses, found), repaired(train, found)
    table = statistics(houses)
    level, slope, own = _by_neighbourhood(train)
    seen = table.loc[level.index]
    return found | {"level": _drivers(seen, level), "trend": own or _drivers(seen, slope)}


def _units(houses: pd.DataFrame) -> dict | None:
    """Living areas in two clusters mean two units; which other columns jump with them?"""
    area = np.log(houses["GrLivArea"])
    middle = (area.min() + area.max()) / 2
    for _ in range(20):
        low, high = area[area < middle], area[area >= middle]
        middle = (low.mean() + high.mean()) / 2
    if high.mean() - low.mean() < FAR_APART * np.sqrt((low.var() + high.var()) / 2):
        return None
    other = area < middle
    jump = low.mean() - high.mean()
    unit = min(FEET, key=lambda name: abs(2 * np.log(FEET[name]) - jump))
    foot = np.log(FEET[unit])
    factors = {}
    for column in SIZES:
        size = np.log(houses[column].where(houses[column] > 0).astype(float))
        jump = size[other].mean() - size[~other].mean()
        power = round(jump / foot) if np.isfinite(jump) else 0
        if power in (1, 2):
            factors[column] = FEET[unit] ** power
    return {"GrLivArea below": float(np.exp(middle)), "factors": factors}


def _reversed_grades(houses: pd.DataFrame) -> list[dict]:
    """Where does an overall grade go against the single grades of the same houses?"""
    single = houses.select_dtypes(exclude="number")
    single = single.loc[:, [single[c].dropna().isin(GRADES).all() for c in single]]
    single = single.apply(lambda column: column.map(GRADES)).fillna(3.0)
    single = (single - single.mean()) / single.std()
    found = []
    for column in ("OverallQual", "OverallCond"):
        overall = houses[column] - 5.5
        best = (0.0, {})
        for by in ("Neighborhood", "YrSold", "SaleType", "SaleCondition"):
            where = houses[by]
            sign = pd.Series(1.0, index=houses.index)
            for _ in range(6):
                index = single @ single.mul(overall * sign, axis=0).mean()
                agreement = _correlations(overall, index, where)
                sign = np.sign(where.map(agreement))
            size = where.value_counts()
            strength = agreement * np.sqrt(size[agreement.index])
            explained = float(np.corrcoef(overall * sign, index)[0, 1])
            values = sorted(strength.index[strength < 0].tolist())
            if strength.min() < -2.5 and explained > best[0] + 0.01:
                best = (explained, {"column": column, "by": by, "values": values})
        if best[1]:
            found.append(best[1])
    return found


def _correlations(a: pd.Series, b: pd.Series, where: pd.Series) -> pd.Series:
    return pd.DataFrame({"a": a, "b": b}).groupby(where).apply(lambda g: g["a"].corr(g["b"]))


def _by_neighbourhood(train: pd.DataFrame) -> tuple[pd.Series, pd.Series, list[str]]:
    """Level and slope of each neighbourhood's prices, and the code with a slope of its own."""
    time = years(train)
    places = pd.get_dummies(train["Neighborhood"]).astype(float)
    price = np.log(train["SalePrice"].to_numpy())
    house = numbers(train)
    house = (house - house.mean()) / house.std()
    moving = places.mul(time, axis=0)
    x = np.column_stack([house, places, moving])
    weights = np.linalg.solve(x.T @ x + 0.1 * np.eye(x.shape[1]), x.T @ price)
    start = house.shape[1]
    n = places.shape[1]
    level = pd.Series(weights[start : start + n], index=places.columns)
    slope = pd.Series(weights[start + n :], index=places.columns)
    rest = price - x @ weights
    effects = {c: abs(np.corrcoef(rest, house[c] * time)[0, 1]) for c in house if "=" in c}
    strongest = max(effects, key=lambda c: effects[c])
    return level, slope, [f"own {strongest}"] if effects[strongest] > CLEAR else []


def _drivers(table: pd.DataFrame, y: pd.Series) -> list[str]:
    """The few statistics that explain y, by the error on left-out neighbourhoods."""

    def best_addition(chosen: list[str]) -> list[str]:
        options = [[*chosen, name] for name in table if name not in chosen]
        return min(options, key=lambda names: _left_out_error(table[names], y))

    chosen: list[str] = []
    tried = [chosen]
    for _ in range(MOST_DRIVERS):
        chosen = best_addition(chosen)
        for old in list(chosen):
            chosen = best_addition([name for name in chosen if name != old])
        tried.append(chosen)
    errors = [_left_out_error(table[names], y) * (1 + GAIN) ** len(names) for names in tried]
    return sorted(tried[int(np.argmin(errors))])


def _left_out_error(x: pd.DataFrame, y: pd.Series) -> float:
    z = np.column_stack([np.ones(len(y)), x])
    hat = z @ np.linalg.pinv(z)
    return float(np.mean(((y - hat @ y) / (1 - np.diag(hat))) ** 2))
