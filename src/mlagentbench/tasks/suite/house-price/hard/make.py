"""Invents the house sales of 66 neighbourhoods, 18 of which are sold in the test years only.

A price is what the house is worth times what its neighbourhood is worth at that time. A sale of
2009 or 2010 in a new neighbourhood can be priced by who looks at how the houses there are mixed:
neighbourhoods that are built alike cost alike and grow dearer alike. All three parts are needed.

| part | what a draw draws | eval | train |
|---|---|---|---|
| level | what sets a neighbourhood's level | 2 means, 2 spreads | 2 means, 2 shares |
| trend | what prices drift with | a mean or spread | the house's own code |
| records | what clerks write in another way | metres or reversed | yards or reversed |

Means and spreads are those of the sizes of houses in a neighbourhood, shares those of a code; which
columns, and with which sign, is drawn. Metres replace feet in more rows each year, yards in some
neighbourhoods, in the living areas and in five more columns that are drawn. `OverallQual` is
reversed, 10 for the worst, in some neighbourhoods (eval) or in some ways of sale (train).

Decoys: the other columns' statistics differ as much between neighbourhoods and set nothing; garage
years with two digits, or conditions upside down, where these columns matter little. The ceiling is
that of the true worth, before the chance of a single sale.
"""

import json
from pathlib import Path

import mini
import numpy as np
import pandas as pd
from prepare import ID, TARGET, write_answers, write_public, write_table

NEIGHBOURHOODS, NEW = 66, 18
TRAIN, TEST = 2800, 1200
TEST_IN_NEW = 0.9
YEARS, TEST_YEARS = [2006, 2007, 2008], [2009, 2010, 2010]
SIZES = {
    "LotFrontage": (4.2, 0.30), "LotArea": (9.1, 0.40), "GarageArea": (6.1, 0.30),
    "MasVnrArea": (4.8, 0.50), "WoodDeckSF": (4.9, 0.45), "OpenPorchSF": (4.2, 0.50),
    "EnclosedPorch": (4.4, 0.45), "ScreenPorch": (4.6, 0.45),
}  # fmt: skip
"""Mean and standard deviation of the logarithm, in feet."""
SOMETIMES_NONE = ["MasVnrArea", "WoodDeckSF", "OpenPorchSF", "EnclosedPorch", "ScreenPorch"]
CODES = {
    "RoofStyle": ("Gable", "Hip"), "LotShape": ("Reg", "IR1"), "LotConfig": ("Inside", "Corner"),
    "Foundation": ("PConc", "CBlock"), "Exterior2nd": ("VinylSd", "HdBoard"),
    "BldgType": ("1Fam", "TwnhsE"),
}  # fmt: skip
LIVING = ["GrLivArea", "1stFlrSF", "2ndFlrSF", "LowQualFinSF", "TotalBsmtSF", "BsmtFinSF1",
          "BsmtFinSF2", "BsmtUnfSF"]  # fmt: skip
QUALITIES = ["ExterQual", "KitchenQual", "HeatingQC", "BsmtQual"]
FOOT = {"metres": 0.3048, "yards": 1 / 3}
IN_METRES = {2006: 0.01, 2007: 0.04, 2008: 0.10, 2009: 0.50, 2010: 0.75}
TWO_DIGITS = {2006: 0.05, 2007: 0.1, 2008: 0.2, 2009: 0.4, 2010: 0.6}
LEVEL, LEVEL_REST = 0.45, 0.04
TREND, TREND_REST = 0.15, 0.01
LOADINGS = {"mean": 0.40, "spread": 0.58, "share": 0.58}
NOISE = 0.07


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    mechanisms = _draw_mechanisms(rng, pool)
    places = _neighbourhoods(mechanisms, rng)
    houses = _houses(mechanisms, places, rng)
    true_worth = _worth(houses, mechanisms, places)
    houses[TARGET] = true_worth * rng.lognormal(0, NOISE, len(houses))
    houses[TARGET] = (houses[TARGET] / 100).round().astype(int) * 100
    _record(houses, mechanisms, places, rng)

    houses[ID] = rng.choice(900_000, len(houses), replace=False) + 100_000
    houses = houses[mini.COLUMNS.split()].astype(object).where(houses.notna(), "NA")
    houses["worth"] = true_worth.round(2)
    houses = houses.iloc[rng.permutation(len(houses))]
    is_test = houses["YrSold"].isin(TEST_YEARS)
    test, train = houses[is_test], houses[~is_test].drop(columns="worth")
    write_public(test.drop(columns="worth"), train, public)
    write_answers(test.drop(columns="worth"), train, private)
    write_table(test[[ID]].assign(**{TARGET: test["worth"]}), private / "ceiling.csv")
    (private / "mechanisms.json").write_text(json.dumps(mechanisms, indent=1) + "\n")


def _draw_mechanisms(rng: np.random.Generator, pool: str) -> dict:
    sizes, codes = rng.permutation(list(SIZES)).tolist(), rng.permutation(list(CODES)).tolist()
    second = "spread" if pool == "eval" else "share"
    third = sizes[2:4] if pool == "eval" else codes[:2]
    level = [("mean", sizes[0]), ("mean", sizes[1]), (second, third[0]), (second, third[1])]
    trend = (str(rng.choice(["mean", "spread"])), sizes[4]) if pool == "eval" else ("own", codes[2])
    written = str(rng.choice(["metres", "reversed"] if pool == "eval" else ["yards", "reversed"]))
    return {
        "pool": pool,
        "level": [
            {"kind": kind, "column": column, "sign": int(rng.choice([-1, 1]))}
            for kind, column in level
        ],
        "trend": {"kind": trend[0], "column": trend[1], "sign": int(rng.choice([-1, 1]))},
        "records": written,
        "by": "SaleType" if (pool, written) == ("train", "reversed") else "Neighborhood",
        "columns": LIVING + rng.permutation(list(SIZES)).tolist()[:5]
        if written != "reversed"
        else ["OverallQual"],
        "decoy": "OverallCond upside down" if written != "reversed" else "two-digit GarageYrBlt",
    }


def _neighbourhoods(mechanisms: dict, rng: np.random.Generator) -> pd.DataFrame:
    """What is alike in a neighbourhood: scores of deviation 1, its level and its trend."""
    statistics = [("mean", c) for c in SIZES] + [("spread", c) for c in SIZES]
    statistics += [("share", c) for c in CODES]
    scores = np.linspace(-1.7, 1.7, NEIGHBOURHOODS)
    places = pd.DataFrame({" ".join(one): rng.permutation(scores) for one in statistics})
    places.index = mini.draw_quarters(NEIGHBOURHOODS, rng).index
    level = sum(
        LOADINGS[one["kind"]] * one["sign"] * places[f"{one['kind']} {one['column']}"]
        for one in mechanisms["level"]
    )
    places["level"] = LEVEL * level + rng.normal(0, LEVEL_REST, NEIGHBOURHOODS)
    trend = mechanisms["trend"]
    if trend["kind"] == "own":
        places["trend"] = 0.0
    else:
        places["trend"] = TREND * trend["sign"] * places[f"{trend['kind']} {trend['column']}"]
    places["trend"] += rng.normal(0, TREND_REST, NEIGHBOURHOODS)
    places["new"] = rng.permutation(NEIGHBOURHOODS) < NEW
    places["spacious"] = 0.0
    places["built"] = rng.uniform(1945, 1985, NEIGHBOURHOODS)
    mixed = rng.permutation(np.arange(NEIGHBOURHOODS) % 5 < 2)
    places["other"] = np.where(places["new"], rng.permutation(mixed), mixed)
    return places


def _houses(mechanisms: dict, places: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    n = TRAIN + TEST
    houses = pd.DataFrame(index=np.arange(n))
    mini.site(houses, places, rng)
    tested = np.arange(n) >= TRAIN
    in_new = tested & (rng.random(n) < TEST_IN_NEW)
    old, new = places.index[~places["new"]], places.index[places["new"]]
    houses["Neighborhood"] = np.where(in_new, rng.choice(new, n), rng.choice(old, n))
    mini.building(houses, places, rng)
    houses["YrSold"] = np.where(tested, rng.choice(TEST_YEARS, n), rng.choice(YEARS, n))
    for column in ("YearBuilt", "YearRemodAdd"):
        houses[column] = houses[column].clip(upper=houses["YrSold"])
    mini.basement(houses, rng)
    mini.garage(houses, rng)
    mini.outside(houses, rng)
    mini.sale(houses, rng)
    place = places.loc[houses["Neighborhood"]].reset_index(drop=True)
    for column, (mean, deviation) in SIZES.items():
        own = np.exp(0.55 * place[f"spread {column}"] - 0.3) * rng.normal(0, 1, n)
        size = np.exp(mean + deviation * (0.9 * place[f"mean {column}"] + own.clip(-3, 3)))
        houses[column] = size.round().clip(lower=1)
    for column in SOMETIMES_NONE:
        houses.loc[rng.random(n) < 0.1, column] = 0
    houses.loc[houses["GarageCars"] == 0, "GarageArea"] = 0
    for column, (usual, other) in CODES.items():
        chance = 1 / (1 + np.exp(-1.2 * place[f"share {column}"]))
        houses[column] = np.where(rng.random(n) < chance, other, usual)
    walls = rng.choice(["BrkFace", "Stone"], n, p=[0.7, 0.3])
    houses["MasVnrType"] = np.where(houses["MasVnrArea"] > 0, walls, "None")
    if mechanisms["records"] == "reversed":
        skill = (houses["OverallQual"] - 5.9) / 1.45
        for column in QUALITIES:
            houses[column] = mini.grades(0.32 * skill + rng.normal(0, 0.95, n))
    return houses


def _worth(houses: pd.DataFrame, mechanisms: dict, places: pd.DataFrame) -> pd.Series:
    place = places.loc[houses["Neighborhood"]].reset_index(drop=True)
    years = houses["YrSold"] + (houses["MoSold"] - 0.5) / 12 - 2007.5
    drift = place["trend"]
    trend = mechanisms["trend"]
    if trend["kind"] == "own":
        other = houses[trend["column"]] == CODES[trend["column"]][1]
        drift = drift + TREND * trend["sign"] * np.where(other, 1, -1)
    quality, area = (0.22, 0.6) if mechanisms["records"] == "reversed" else (0.07, 1.0)
    size = houses["GrLivArea"] + 0.5 * houses["TotalBsmtSF"]
    logarithm = 11.9 + place["level"] + drift * years + area * np.log(size / 1900)
    logarithm += quality * (houses["OverallQual"] - 5.9) + 0.01 * (houses["OverallCond"] - 5.5)
    logarithm += -0.002 * (houses["YrSold"] - houses["YearBuilt"]) + 0.05 * houses["GarageCars"]
    logarithm += 0.05 * houses["FullBath"] - 0.08 * (houses["CentralAir"] == "N")
    return np.exp(logarithm)


def _record(
    houses: pd.DataFrame, mechanisms: dict, places: pd.DataFrame, rng: np.random.Generator
) -> None:
    """Write the houses down as the clerks of the draw do."""
    n = len(houses)
    other = houses["Neighborhood"].map(places["other"])
    written = mechanisms["records"]
    if written == "reversed":
        if mechanisms["by"] == "SaleType":
            houses["SaleType"] = rng.choice(["WD", "New", "COD"], n, p=[0.45, 0.3, 0.25])
            other = houses["SaleType"] != "WD"
        houses["OverallQual"] = houses["OverallQual"].mask(other, 11 - houses["OverallQual"])
        short = rng.random(n) < houses["YrSold"].map(TWO_DIGITS)
        houses["GarageYrBlt"] = houses["GarageYrBlt"].mask(short, houses["GarageYrBlt"] % 100)
    else:
        in_metres = rng.random(n) < houses["YrSold"].map(IN_METRES)
        in_other = in_metres if written == "metres" else other
        for column in mechanisms["columns"]:
            factor = FOOT[written] ** (1 if column == "LotFrontage" else 2)
            values = houses[column].astype(float)
            houses[column] = values.mask(in_other, (values * factor).round())
        odd = rng.permutation(places.index)[: NEIGHBOURHOODS // 3]
        odd = houses["Neighborhood"].isin(odd)
        houses["OverallCond"] = houses["OverallCond"].mask(odd, 11 - houses["OverallCond"])
    for column in ["LotFrontage", "MasVnrArea"]:
        houses.loc[rng.random(n) < 0.06, column] = np.nan
    for column in [*SIZES, *LIVING, "GarageYrBlt"]:
        houses[column] = houses[column].astype("Int64")
