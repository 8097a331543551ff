# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Houses as numbers: repaired records, features of a house, statistics of a neighbourhood."""

import numpy as np
import pandas as pd

GRADES = {"Po": 1, "Fa": 2, "TA": 3, "Gd": 4, "Ex": 5}
SIZES = ["LotFrontage", "LotArea", "MasVnrArea", "BsmtFinSF1", "BsmtFinSF2", "BsmtUnfSF",
         "TotalBsmtSF", "1stFlrSF", "2ndFlrSF", "LowQualFinSF", "GrLivArea", "GarageArea",
         "WoodDeckSF", "OpenPorchSF", "EnclosedPorch", "3SsnPorch", "ScreenPorch",
         "PoolArea"]  # fmt: skip
FEW_VALUES = 12
MANY_HOUSES = 0.5
VARIES = 2.0
"""A statistic differs between neighbourhoods by more than chance from this ratio of variances."""


def years(houses: pd.DataFrame) -> pd.Series:
    """The time of the sale, in years from the middle of 2007."""
    return houses["YrSold"] + (houses["MoSold"] - 0.5) / 12 - 2007.5


def repaired(houses: pd.DataFrame, found: dict) -> pd.DataFrame:
    """The houses in the usual conventions, as far as the findings name others."""
    houses = houses.copy()
    if found["units"]:
        other = houses["GrLivArea"] < found["units"]["GrLivArea below"]
        for column, factor in found["units"]["factors"].items():
            houses[column] = houses[column].astype(float).mask(other, houses[column] / factor)
    for one in found["reversed"]:
        other = houses[one["by"]].isin(one["values"])
        column = one["column"]
        houses[column] = houses[column].mask(other, 11 - houses[column])
    return houses


def numbers(houses: pd.DataFrame) -> pd.DataFrame:
    """What is known of each house, as numbers; sizes as logarithms, codes as yes or no."""
    x = houses.drop(
        columns=["Id", "SalePrice", "Neighborhood", "MoSold", "YrSold"], errors="ignore"
    )
    columns = {}
    for column in x:
        values = x[column]
        if column in SIZES:
            columns[column] = np.log(values.where(values > 0)).fillna(0.0)
            columns[f"no {column}"] = (~(values > 0)).astype(float)
        elif pd.api.types.is_numeric_dtype(values):
            columns[column] = values.fillna(values.median())
        elif values.dropna().isin(GRADES).all():
            columns[column] = values.map(GRADES).fillna(3.0)
        elif values.nunique() <= FEW_VALUES:
            for code in sorted(values.dropna().unique()):
                columns[f"{column}={code}"] = (values == code).astype(float)
    table = pd.DataFrame(columns)
    table["age"] = houses["YrSold"] - houses["YearBuilt"]
    table["space"] = np.log(houses["GrLivArea"] + 0.5 * houses["TotalBsmtSF"])
    return table.loc[:, table.std() > 0.01]


def statistics(houses: pd.DataFrame) -> pd.DataFrame:
    """Means, spreads and shares by neighbourhood, those that differ by more than chance."""
    where = houses["Neighborhood"]
    found = {}
    for column in SIZES:
        size = np.log(houses[column].where(houses[column] > 0).astype(float))
        if size.notna().mean() > MANY_HOUSES:
            by_place = size.groupby(where)
            n, deviation = by_place.size(), by_place.std()
            by_chance = (deviation**2 / n).mean()
            if by_place.mean().var() > VARIES * by_chance:
                found[f"mean {column}"] = by_place.mean()
            if np.log(deviation).var() > VARIES * (0.5 / n).mean():
                found[f"spread {column}"] = np.log(deviation)
    for column in houses.select_dtypes(exclude="number").columns.drop("Neighborhood"):
        if houses[column].nunique() <= FEW_VALUES:
            codes = houses[column].value_counts().index
            share = (houses[column] == codes[min(1, len(codes) - 1)]).groupby(where)
            if share.mean().var() > VARIES * (share.var() / share.size()).mean():
                found[f"share {column}={codes[min(1, len(codes) - 1)]}"] = share.mean()
    table = pd.DataFrame(found)
    return (table - table.mean()) / table.std()
