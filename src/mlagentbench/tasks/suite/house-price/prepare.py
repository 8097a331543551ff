"""Splits the labelled houses at random into a public training part and a private test part.

Rows are shuffled and every Id is replaced, so that neither says when or where a house was listed.
Cells are copied as text: nothing is parsed, rounded or filled in.
"""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from mlagentbench_task import Findings, read_table

ID, TARGET = "Id", "SalePrice"
COLUMNS = [
    "Id", "MSSubClass", "MSZoning", "LotFrontage", "LotArea", "Street", "Alley", "LotShape",
    "LandContour", "Utilities", "LotConfig", "LandSlope", "Neighborhood", "Condition1",
    "Condition2", "BldgType", "HouseStyle", "OverallQual", "OverallCond", "YearBuilt",
    "YearRemodAdd", "RoofStyle", "RoofMatl", "Exterior1st", "Exterior2nd", "MasVnrType",
    "MasVnrArea", "ExterQual", "ExterCond", "Foundation", "BsmtQual", "BsmtCond", "BsmtExposure",
    "BsmtFinType1", "BsmtFinSF1", "BsmtFinType2", "BsmtFinSF2", "BsmtUnfSF", "TotalBsmtSF",
    "Heating", "HeatingQC", "CentralAir", "Electrical", "1stFlrSF", "2ndFlrSF", "LowQualFinSF",
    "GrLivArea", "BsmtFullBath", "BsmtHalfBath", "FullBath", "HalfBath", "BedroomAbvGr",
    "KitchenAbvGr", "KitchenQual", "TotRmsAbvGrd", "Functional", "Fireplaces", "FireplaceQu",
    "GarageType", "GarageYrBlt", "GarageFinish", "GarageCars", "GarageArea", "GarageQual",
    "GarageCond", "PavedDrive", "WoodDeckSF", "OpenPorchSF", "EnclosedPorch", "3SsnPorch",
    "ScreenPorch", "PoolArea", "PoolQC", "Fence", "MiscFeature", "MiscVal", "MoSold", "YrSold",
    "SaleType", "SaleCondition", "SalePrice",
]  # fmt: skip
OFFICIAL_ROWS = 1_460
PRICES = (34_900, 755_000)
TEST_SHARE = 0.30
HELD_SHARE = 0.20
COPY_DIFFERENCES = 5
"""A test row that differs from a training row in at most so many columns counts as its copy."""


def prepare(raw: Path, public: Path, private: Path, rng: np.random.Generator) -> None:
    houses = _read(raw / "train.csv")
    order = rng.permutation(len(houses))
    new_ids = pd.Series(rng.choice(900_000, len(houses), replace=False) + 100_000).astype(str)
    mapping = pd.DataFrame({ID: new_ids, "original": houses[ID]})
    houses[ID] = new_ids
    n_test = round(TEST_SHARE * len(houses))
    test, train = houses.iloc[order[:n_test]], houses.iloc[order[n_test:]]

    write_public(test, train, public)
    write_answers(test, train, private)
    write_table(mapping.assign(part=np.where(new_ids.isin(test[ID]), "test", "train")),
           private / "mapping.csv")  # fmt: skip
    if (raw / "noise_free.csv").is_file():
        noise_free = _read(raw / "noise_free.csv").set_index(ID)[TARGET]
        original = mapping["original"].iloc[order[:n_test]]
        ceiling = pd.DataFrame({ID: test[ID], TARGET: noise_free[original].to_numpy()})
        write_table(ceiling, private / "ceiling.csv")


def check_raw(raw: Path) -> Findings:
    """What is different from the official table of houses with their prices."""
    findings = Findings()
    houses = findings.read_columns(raw / "train.csv", COLUMNS, OFFICIAL_ROWS, ids=[ID])
    findings.check_numbers(TARGET, houses.get(TARGET, []), *PRICES)
    return findings


def resplit(
    raw: Path, given_public: Path, given_private: Path,
    public: Path, private: Path, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Another split: of the given test houses one half is for testing, the other for training."""
    train, test = (_read(given_public / f"{part}.csv") for part in ("train", "test"))
    answers = read_table(given_private / "answers.csv", [ID, TARGET])
    prices = dict(zip(answers[ID], answers[TARGET], strict=True))
    test = test.assign(**{TARGET: test[ID].map(prices)})[list(train.columns)]
    houses = pd.concat([test.iloc[rng.permutation(len(test))], train], ignore_index=True)
    houses[ID] = rng.permutation(houses[ID].to_numpy())
    n_test = len(test) // 2
    test, train = houses[:n_test], houses[n_test:]
    train = train.iloc[rng.permutation(len(train))]

    write_public(test, train, public)
    write_answers(test, train, private)


def hold_out(public: Path, held_public: Path, held_private: Path, rng: np.random.Generator) -> None:
    """Hold a part of the training data back, to be asked for a score on it during a run."""
    houses = _read(public / "train.csv")
    order = rng.permutation(len(houses))
    n_held = round(HELD_SHARE * len(houses))
    held, train = houses.iloc[order[:n_held]], houses.iloc[order[n_held:]]

    for file in sorted(public.iterdir()):
        if file.name != "train.csv":
            shutil.copyfile(file, held_public / file.name)
    write_table(train, held_public / "train.csv")
    write_table(held.drop(columns=TARGET), held_public / "validation.csv")
    write_table(_sample(held), held_public / "validation_sample_submission.csv")
    write_answers(held, train, held_private)


def write_public(test: pd.DataFrame, train: pd.DataFrame, public: Path) -> None:
    write_table(train, public / "train.csv")
    write_table(test.drop(columns=TARGET), public / "test.csv")
    write_table(_sample(test), public / "sample_submission.csv")


def write_answers(test: pd.DataFrame, train: pd.DataFrame, private: Path) -> None:
    write_table(test[[ID, TARGET]], private / "answers.csv")
    write_table(test.loc[_has_copy(test, train), [ID]], private / "copies.csv")


def _has_copy(test: pd.DataFrame, train: pd.DataFrame) -> np.ndarray:
    """Which test rows are, but for a few columns, also in the training data."""
    differences = np.zeros((len(test), len(train)), dtype=np.int16)
    for column in test.columns.drop([ID, TARGET]):
        codes, _ = pd.factorize(pd.concat([test[column], train[column]]))
        differences += codes[: len(test), None] != codes[None, len(test) :]
    return differences.min(axis=1) <= COPY_DIFFERENCES


def _sample(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[[ID]].assign(**{TARGET: 0})


def _read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, dtype=str, keep_default_na=False).astype(object)


def write_table(table: pd.DataFrame, file: Path) -> None:
    table.to_csv(file, index=False, lineterminator="\n")
