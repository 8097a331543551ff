"""Invents 1,500 house sales in the columns of the official file.

What a house is worth is known exactly (`worth`): a product of size, quality, age and quarter, in
which the parts act on each other, so that no single column tells much. The price paid scatters
around it; the worth itself is written beside, as the score that no model can better.

A draw draws, besides the houses: the quarters with their names, what is liked in each, how much
everything is worth (`Market`), which styles, walls and garages are in fashion, and how frequent
the values of most columns are. So a rule that was fitted to one draw is wrong about another.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

HOUSES = 1500
QUARTERS = 18
PRICE_NOISE = 0.07
"""Standard deviation of the logarithm of price paid over worth."""
TASTE = 0.18
"""How much draws differ in what something is worth: the same, of a factor."""
FASHION = 0.05
FASHIONABLE = ("HouseStyle", "Exterior1st", "GarageType")

GRADES = np.array(["Po", "Fa", "TA", "Gd", "Ex"])
COLUMNS = """
Id MSSubClass MSZoning LotFrontage LotArea Street Alley LotShape LandContour Utilities LotConfig
LandSlope Neighborhood Condition1 Condition2 BldgType HouseStyle OverallQual OverallCond YearBuilt
YearRemodAdd RoofStyle RoofMatl Exterior1st Exterior2nd MasVnrType MasVnrArea ExterQual ExterCond
Foundation BsmtQual BsmtCond BsmtExposure BsmtFinType1 BsmtFinSF1 BsmtFinType2 BsmtFinSF2 BsmtUnfSF
TotalBsmtSF Heating HeatingQC CentralAir Electrical 1stFlrSF 2ndFlrSF LowQualFinSF GrLivArea
BsmtFullBath BsmtHalfBath FullBath HalfBath BedroomAbvGr KitchenAbvGr KitchenQual TotRmsAbvGrd
Functional Fireplaces FireplaceQu GarageType GarageYrBlt GarageFinish GarageCars GarageArea
GarageQual GarageCond PavedDrive WoodDeckSF OpenPorchSF EnclosedPorch 3SsnPorch ScreenPorch PoolArea
PoolQC Fence MiscFeature MiscVal MoSold YrSold SaleType SaleCondition SalePrice
"""


def make(raw: Path, rng: np.random.Generator) -> None:
    quarters, market = draw_quarters(QUARTERS, rng), _market(rng)
    houses = pd.DataFrame({"Id": np.arange(1, HOUSES + 1)})
    site(houses, quarters, rng)
    building(houses, quarters, rng)
    basement(houses, rng)
    garage(houses, rng)
    outside(houses, rng)
    sale(houses, rng)

    true_worth = worth(houses, quarters, market, rng)
    houses["SalePrice"] = true_worth * rng.lognormal(0, PRICE_NOISE, HOUSES)
    houses["SalePrice"] = (houses["SalePrice"] / 100).round().astype(int) * 100
    noise_free = pd.DataFrame({"Id": houses["Id"], "SalePrice": true_worth.round(2)})
    _forget(houses, rng)

    houses[COLUMNS.split()].to_csv(raw / "train.csv", index=False, na_rep="NA")
    noise_free.to_csv(raw / "noise_free.csv", index=False)


class Market(NamedTuple):
    """What things are worth: in dollars, per square foot, or as a share of the price."""

    foot: float
    quarter: float
    quality: float
    quality_in_quarter: float
    age: float
    since_work: float
    condition: float
    exposed: float
    finished: float
    unfinished: float
    land: float
    car: float
    bath: float
    fireplace: float
    no_air: float
    forced: float
    good_exposure: str


def _market(rng: np.random.Generator) -> Market:
    usual = (88, 0.30, 0.11, 0.35, 0.0065, 0.003, 0.03, 0.55, 0.25, 0.12, 1.9, 5_000, 6_000, 7_000,
             0.06, 0.14)  # fmt: skip
    factors = rng.lognormal(0, TASTE, len(usual))
    factors[0] **= 0.4  # so that prices are about the same on the whole
    return Market(*(usual * factors).tolist(), good_exposure=str(rng.choice(["Gd", "Av"])))


def worth(
    houses: pd.DataFrame, quarters: pd.DataFrame, market: Market, rng: np.random.Generator
) -> pd.Series:
    """What a house is worth before chance: the median of the price paid, given its columns."""
    quarter = quarters.loc[houses["Neighborhood"]].reset_index(drop=True)
    quality = houses["OverallQual"] - 5.5
    age = houses["YrSold"] - houses["YearBuilt"]
    since_work = houses["YrSold"] - houses["YearRemodAdd"]
    # Old houses lose worth where new ones are wanted, and gain it in the historic quarters.
    ageing = np.exp(-market.age * quarter["likes_new"] * age - market.since_work * since_work)
    repair = 1 + market.condition * (houses["OverallCond"] - 5) * np.minimum(age, 60) / 60
    in_quarter = 1 + market.quality_in_quarter * np.sign(quality) * quarter["level"]
    finish = np.exp(market.quality * quality * in_quarter)
    rate = market.foot * np.exp(market.quarter * quarter["level"]) * finish * ageing * repair
    for column in FASHIONABLE:
        rate *= np.exp(_fashion(houses[column], rng))
    living = 1500 * (houses["GrLivArea"] / 1500) ** 0.85

    exposed = houses["BsmtExposure"] == market.good_exposure
    below_ground = houses["BsmtFinSF1"] * np.where(exposed, market.exposed, market.finished)
    below_ground += market.unfinished * houses["BsmtUnfSF"]
    land = market.land * houses["LotArea"] * np.exp(0.8 * quarter["level"])
    land *= np.where(houses["LandSlope"] == "Sev", 0.6, 1.0)
    cars = houses["GarageCars"] * market.car * (1 + 0.4 * np.maximum(quality, 0))
    baths = houses["FullBath"] + 0.5 * houses["HalfBath"] - houses["BedroomAbvGr"] / 2
    warmth = houses["Fireplaces"] * np.where(houses["GrLivArea"] > 1700, 1, 0.3) * market.fireplace
    air = np.where(houses["CentralAir"] == "Y", 0, -market.no_air) * rate * living
    total = rate * (living + below_ground) + land + cars + market.bath * baths + warmth + air
    forced = np.where(houses["SaleCondition"] == "Abnorml", 1 - market.forced, 1.0)
    season = 1 + 0.02 * np.cos(2 * np.pi * (houses["MoSold"] - 6) / 12)
    return (total * forced * season).clip(lower=20_000)


def _fashion(values: pd.Series, rng: np.random.Generator) -> np.ndarray:
    """By how much each value is liked more, or less, than the others: as a logarithm."""
    names = sorted(values.unique())
    liked = dict(zip(names, rng.normal(0, FASHION, len(names)), strict=True))
    return values.map(liked).to_numpy()


def draw_quarters(count: int, rng: np.random.Generator) -> pd.DataFrame:
    starts = [first + vowel + last for first in "BCDFGHLMNPRST" for vowel in "aeiou"
              for last in "lnrstm"]  # fmt: skip
    ends = ["brk", "crst", "dale", "fld", "gate", "ham", "mere", "stead", "vw", "wick"]
    names = [start + end for start in starts for end in ends]
    return pd.DataFrame(
        {
            "level": rng.permutation(np.linspace(-1, 1, count)),
            "likes_new": rng.permutation(np.linspace(-0.5, 1.4, count)),
            "built": rng.permutation(np.linspace(1925, 1995, count)),
            "spacious": rng.permutation(np.linspace(-0.1, 0.1, count)),
        },
        index=pd.Index(rng.choice(names, count, replace=False), name="Neighborhood"),
    )


def site(houses: pd.DataFrame, quarters: pd.DataFrame, rng: np.random.Generator) -> None:
    n = len(houses)
    shares = rng.dirichlet(np.full(len(quarters), 8.0))
    houses["Neighborhood"] = rng.choice(quarters.index.to_numpy(), n, p=shares)
    spacious = quarters.loc[houses["Neighborhood"], "spacious"].to_numpy()
    houses["LotArea"] = np.exp(rng.normal(9.1 + spacious, 0.42)).round().astype(int)
    frontage = 0.8 * np.sqrt(houses["LotArea"]) * rng.lognormal(-0.1, 0.22, n)
    houses["LotFrontage"] = frontage.round()
    _draw(houses, rng, "MSZoning", RL=0.78, RM=0.15, FV=0.05, RH=0.02)
    _draw(houses, rng, "Street", Pave=0.99, Grvl=0.01)
    _draw(houses, rng, "Alley", NA=0.93, Grvl=0.04, Pave=0.03)
    _draw(houses, rng, "LotShape", Reg=0.63, IR1=0.32, IR2=0.03, IR3=0.02)
    _draw(houses, rng, "LandContour", Lvl=0.9, Bnk=0.04, HLS=0.04, Low=0.02)
    _draw(houses, rng, "Utilities", AllPub=0.999, NoSeWa=0.001)
    _draw(houses, rng, "LotConfig", Inside=0.72, Corner=0.18, CulDSac=0.07, FR2=0.03)
    _draw(houses, rng, "LandSlope", Gtl=0.90, Mod=0.07, Sev=0.03)
    near = {"Feedr": 0.06, "Artery": 0.03, "RRAn": 0.02, "PosN": 0.02}
    _draw(houses, rng, "Condition1", Norm=0.87, **near)
    _draw(houses, rng, "Condition2", Norm=0.99, Feedr=0.01)


def building(houses: pd.DataFrame, quarters: pd.DataFrame, rng: np.random.Generator) -> None:
    n = len(houses)
    quarter = quarters.loc[houses["Neighborhood"]]
    built = rng.normal(quarter["built"].to_numpy(), 17).round().clip(1880, 2010)
    sold = rng.integers(2006, 2011, n)
    houses["YrSold"] = sold
    houses["YearBuilt"] = np.minimum(built, sold).astype(int)
    work = rng.integers(1950, 2011, n).clip(houses["YearBuilt"], sold)
    houses["YearRemodAdd"] = np.where(rng.random(n) < 0.45, work, houses["YearBuilt"])
    skill = rng.normal(0, 1, n)
    houses["OverallQual"] = (5.9 + 1.45 * skill).round().clip(1, 10).astype(int)
    houses["OverallCond"] = rng.normal(5.5, 1.2, n).round().clip(1, 10).astype(int)
    area = np.exp(rng.normal(7.22 + 0.06 * skill + quarter["spacious"].to_numpy(), 0.31))
    area = area.round().clip(400, 5000).astype(int)
    houses["HouseStyle"] = rng.choice(["1Story", "1.5Fin", "2Story"], n, p=[0.5, 0.12, 0.38])
    upper = houses["HouseStyle"].map({"1Story": 0.0, "1.5Fin": 0.35, "2Story": 0.48})
    houses["2ndFlrSF"] = (area * upper).round().astype(int)
    houses["LowQualFinSF"] = np.where(rng.random(n) < 0.02, area // 12, 0)
    houses["1stFlrSF"] = area - houses["2ndFlrSF"] - houses["LowQualFinSF"]
    houses["GrLivArea"] = area
    subclass = houses["HouseStyle"].map({"1Story": 20, "1.5Fin": 50, "2Story": 60})
    houses["MSSubClass"] = np.where(rng.random(n) < 0.12, 120, subclass)
    _draw(houses, rng, "BldgType", **{"1Fam": 0.84, "TwnhsE": 0.08, "Duplex": 0.05, "Twnhs": 0.03})
    _rooms(houses, rng)
    for column in ("ExterQual", "KitchenQual", "HeatingQC"):
        houses[column] = grades(0.8 * skill + rng.normal(0, 0.7, n))
    houses["ExterCond"] = grades(0.5 * (houses["OverallCond"] - 5.5) + rng.normal(0, 0.6, n))
    old = houses["YearBuilt"] < 1960
    houses["CentralAir"] = np.where(rng.random(n) < np.where(old, 0.25, 0.03), "N", "Y")
    houses["Foundation"] = np.where(old, "CBlock", "PConc")
    _draw(houses, rng, "Heating", GasA=0.97, GasW=0.02, Grav=0.01)
    _draw(houses, rng, "Electrical", SBrkr=0.92, FuseA=0.06, FuseF=0.02)
    _draw(houses, rng, "Functional", Typ=0.93, Min1=0.03, Min2=0.03, Mod=0.01)


def _rooms(houses: pd.DataFrame, rng: np.random.Generator) -> None:
    n = len(houses)
    area = houses["GrLivArea"]
    houses["BedroomAbvGr"] = rng.normal(1.4 + area / 950, 0.6).round().clip(1, 6).astype(int)
    houses["FullBath"] = rng.normal(0.6 + area / 1500, 0.45).round().clip(1, 4).astype(int)
    houses["HalfBath"] = rng.binomial(1, 0.38, n)
    houses["KitchenAbvGr"] = 1 + rng.binomial(1, 0.04, n)
    more = rng.poisson(1.2, n)
    houses["TotRmsAbvGrd"] = houses["BedroomAbvGr"] + houses["KitchenAbvGr"] + 1 + more
    houses["Fireplaces"] = rng.poisson(0.6, n).clip(0, 3)
    quality = grades(rng.normal(0.2, 1, n))
    houses["FireplaceQu"] = np.where(houses["Fireplaces"] > 0, quality, "NA")


def basement(houses: pd.DataFrame, rng: np.random.Generator) -> None:
    n = len(houses)
    there = rng.random(n) > 0.03
    total = houses["1stFlrSF"] * rng.normal(0.92, 0.08, n).clip(0.5, 1.1) * there
    finished = np.where(rng.random(n) < 0.68, rng.beta(2, 2, n), 0)
    second = np.where(rng.random(n) < 0.1, rng.beta(2, 6, n), 0) * (1 - finished)
    houses["BsmtFinSF1"] = (total * finished).round().astype(int)
    houses["BsmtFinSF2"] = (total * second).round().astype(int)
    houses["TotalBsmtSF"] = total.round().astype(int)
    rest = houses["TotalBsmtSF"] - houses["BsmtFinSF1"] - houses["BsmtFinSF2"]
    houses["BsmtUnfSF"] = rest.clip(lower=0)
    houses["TotalBsmtSF"] = houses[["BsmtFinSF1", "BsmtFinSF2", "BsmtUnfSF"]].sum(axis=1)
    houses["BsmtFullBath"] = rng.binomial(1, 0.6 * (finished > 0.3))
    houses["BsmtHalfBath"] = rng.binomial(1, 0.06 * there)
    skill = 0.5 * (houses["OverallQual"] - 5.9)
    kinds = np.array(["GLQ", "ALQ", "BLQ", "Rec", "LwQ"])
    details = {
        "BsmtQual": grades(skill + rng.normal(0, 0.7, n)),
        "BsmtCond": grades(rng.normal(0, 0.5, n)),
        "BsmtExposure": rng.choice(["No", "Mn", "Av", "Gd"], n, p=[0.62, 0.08, 0.14, 0.16]),
        "BsmtFinType1": np.where(finished > 0, rng.choice(kinds, n), "Unf"),
        "BsmtFinType2": np.where(second > 0, rng.choice(kinds, n), "Unf"),
    }
    for column, values in details.items():
        houses[column] = np.where(there, values, "NA")


def garage(houses: pd.DataFrame, rng: np.random.Generator) -> None:
    n = len(houses)
    cars = rng.choice(4, n, p=[0.06, 0.25, 0.56, 0.13])
    there = cars > 0
    houses["GarageCars"] = cars
    houses["GarageArea"] = (cars * rng.normal(245, 30, n)).round().astype(int)
    year = np.where(rng.random(n) < 0.75, houses["YearBuilt"], houses["YearRemodAdd"])
    houses["GarageYrBlt"] = np.where(there, year.astype(float), np.nan)
    details = {
        "GarageType": rng.choice(["Attchd", "Detchd", "BuiltIn"], n, p=[0.63, 0.29, 0.08]),
        "GarageFinish": rng.choice(["Unf", "RFn", "Fin"], n, p=[0.44, 0.30, 0.26]),
        "GarageQual": grades(rng.normal(0, 0.4, n)),
        "GarageCond": grades(rng.normal(0, 0.4, n)),
    }
    for column, values in details.items():
        houses[column] = np.where(there, values, "NA")


def outside(houses: pd.DataFrame, rng: np.random.Generator) -> None:
    n = len(houses)
    _draw(houses, rng, "RoofStyle", Gable=0.78, Hip=0.2, Flat=0.02)
    _draw(houses, rng, "RoofMatl", CompShg=0.98, WdShngl=0.02)
    walls = {"VinylSd": 0.36, "HdBoard": 0.2, "MetalSd": 0.2, "WdSdng": 0.16, "Stucco": 0.08}
    _draw(houses, rng, "Exterior1st", **walls)
    _draw(houses, rng, "Exterior2nd", **walls)
    same = rng.random(n) < 0.85
    houses["Exterior2nd"] = houses["Exterior1st"].where(same, houses["Exterior2nd"])
    _draw(houses, rng, "MasVnrType", none=0.6, BrkFace=0.3, Stone=0.1)
    houses["MasVnrType"] = houses["MasVnrType"].replace("none", "None")
    veneer = rng.gamma(2, 90, n).round()
    houses["MasVnrArea"] = np.where(houses["MasVnrType"] == "None", 0, veneer)
    _draw(houses, rng, "PavedDrive", Y=0.92, N=0.06, P=0.02)
    often = {"WoodDeckSF": 0.48, "OpenPorchSF": 0.55, "EnclosedPorch": 0.14,
             "3SsnPorch": 0.02, "ScreenPorch": 0.08, "PoolArea": 0.005}  # fmt: skip
    for column, share in often.items():
        size = rng.gamma(3, 45, n).round().astype(int)
        houses[column] = np.where(rng.random(n) < share, size, 0)
    houses["PoolQC"] = np.where(houses["PoolArea"] > 0, grades(rng.normal(0, 1, n)), "NA")
    _draw(houses, rng, "Fence", NA=0.8, MnPrv=0.12, GdPrv=0.05, GdWo=0.03)
    _draw(houses, rng, "MiscFeature", NA=0.96, Shed=0.04)
    value = rng.integers(4, 25, n) * 100
    houses["MiscVal"] = np.where(houses["MiscFeature"] == "NA", 0, value)


def sale(houses: pd.DataFrame, rng: np.random.Generator) -> None:
    monthly = np.array([4, 4, 7, 10, 14, 17, 16, 9, 5, 6, 5, 3]) / 100
    houses["MoSold"] = rng.choice(np.arange(1, 13), len(houses), p=monthly)
    _draw(houses, rng, "SaleType", WD=0.87, New=0.08, COD=0.05)
    _draw(houses, rng, "SaleCondition", Normal=0.84, Abnorml=0.10, Partial=0.06)


def _forget(houses: pd.DataFrame, rng: np.random.Generator) -> None:
    """Values that were not noted, about as many as in the official file."""
    for column, share in {"LotFrontage": 0.18, "MasVnrArea": 0.006, "Electrical": 0.001}.items():
        houses.loc[rng.random(len(houses)) < share, column] = np.nan
    houses.loc[houses["MasVnrArea"].isna(), "MasVnrType"] = np.nan


def _draw(houses: pd.DataFrame, rng: np.random.Generator, column: str, **shares: float) -> None:
    weights = np.array(list(shares.values())) * rng.lognormal(0, TASTE, len(shares))
    houses[column] = rng.choice(list(shares), len(houses), p=weights / weights.sum())


def grades(skill: np.ndarray | pd.Series) -> np.ndarray:
    """Grades of a standard-normal skill, most of them average."""
    return GRADES[np.searchsorted([-2.4, -1.3, 0.5, 1.5], np.asarray(skill))]
