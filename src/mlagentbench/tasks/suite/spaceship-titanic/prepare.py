"""Splits the labelled passengers by travel group into a public training and a private test part.

Passengers who travel together share planet, cabin and fate, so no group is in both parts. Rows are
shuffled and ids replaced: the new ones still say who travels together, and nothing else. (In the
official ids the group numbers follow the boarding order, and the member number tells a single
traveller from a large group.) Cells are copied as text.
"""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from mlagentbench_task import Findings, read_table

ID, TARGET = "PassengerId", "Transported"
COLUMNS = [
    ID, "HomePlanet", "CryoSleep", "Cabin", "Destination", "Age", "VIP", "RoomService",
    "FoodCourt", "ShoppingMall", "Spa", "VRDeck", "Name", TARGET,
]  # fmt: skip
OFFICIAL_ROWS = 8_693
LEAST_GROUPS = 10
TEST_SHARE = 0.30
HELD_SHARE = 0.20
TESTED_AGAIN = 0.50
"""In another split, the share of the given test passengers that are for testing."""
COPY_DIFFERENCES = 1
"""A test row that differs from a training row in at most so many columns counts as its copy."""


def prepare(raw: Path, public: Path, private: Path, rng: np.random.Generator) -> None:
    passengers = _read(raw / "train.csv")
    mapping = pd.DataFrame({ID: new_ids(passengers[ID], rng), "original": passengers[ID]})
    passengers[ID] = mapping[ID]
    test, train = _split(passengers, TEST_SHARE, rng)

    write_public(test, train, public)
    write_answers(test, train, private)
    part = np.where(mapping[ID].isin(test[ID]), "test", "train")
    write_table(mapping.assign(part=part), private / "mapping.csv")
    if (raw / "noise_free.csv").is_file():
        noise_free = _read(raw / "noise_free.csv").set_index(ID)[TARGET]
        ceiling = test[[ID]].assign(**{TARGET: noise_free[mapping["original"][test.index]].array})
        write_table(ceiling, private / "ceiling.csv")


def check_raw(raw: Path) -> Findings:
    """What is different from the official table of passengers with their fates."""
    findings = Findings()
    passengers = findings.read_columns(raw / "train.csv", COLUMNS, OFFICIAL_ROWS, ids=[ID])
    findings.check_choices(TARGET, passengers.get(TARGET, []), ["True", "False"])
    if passengers.get(ID):
        groups = {passenger.partition("_")[0] for passenger in passengers[ID]}
        findings.require_at_least(f"travel groups in {ID}", len(groups), LEAST_GROUPS)
    return findings


def resplit(
    raw: Path, given_public: Path, given_private: Path,
    public: Path, private: Path, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Another split: of the given test groups one half is for testing, the other for training."""
    train, test = (_read(given_public / f"{part}.csv") for part in ("train", "test"))
    answers = read_table(given_private / "answers.csv", [ID, TARGET])
    fates = dict(zip(answers[ID], answers[TARGET], strict=True))
    test = test.assign(**{TARGET: test[ID].map(fates)})[list(train.columns)]
    ids = pd.concat([train[ID], test[ID]])
    groups = _groups(ids).unique()
    numbers = dict(zip(groups, rng.permutation(groups), strict=True))
    for table in (train, test):
        member = table[ID].str.partition("_")[2]
        table[ID] = _groups(table[ID]).map(numbers) + "_" + member
    test, others = _split(test, TESTED_AGAIN, rng)
    train = pd.concat([train, others], ignore_index=True)
    train = train.iloc[rng.permutation(len(train))]

    write_public(test, train, public)
    write_answers(test, train, private)


def hold_out(public: Path, held_public: Path, held_private: Path, rng: np.random.Generator) -> None:
    """Hold a part of the training groups back, to be asked for a score on it during a run."""
    held, train = _split(_read(public / "train.csv"), HELD_SHARE, rng)
    for file in sorted(public.iterdir()):
        if file.name != "train.csv":
            shutil.copyfile(file, held_public / file.name)
    write_table(train, held_public / "train.csv")
    write_table(held.drop(columns=TARGET), held_public / "validation.csv")
    write_table(_sample(held), held_public / "validation_sample_submission.csv")
    write_answers(held, train, held_private)


def new_ids(ids: pd.Series, rng: np.random.Generator) -> pd.Series:
    """Ids of the form GGGG_MM: a random number for each group, and one for each of its members."""
    groups = _groups(ids)
    names = groups.unique()
    numbers = dict(zip(names, rng.choice(9999, len(names), replace=False) + 1, strict=True))
    new_ids = pd.Series("", index=ids.index, dtype=object)
    for name, members in groups.groupby(groups, sort=False):
        for row, member in zip(
            members.index, rng.choice(99, len(members), replace=False) + 1, strict=True
        ):
            new_ids[row] = f"{numbers[name]:04d}_{member:02d}"
    return new_ids


def _split(
    passengers: pd.DataFrame, share: float, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Whole groups that make up about `share` of the passengers, and the rest, both shuffled."""
    groups = _groups(passengers[ID])
    sizes = groups.value_counts(sort=False)
    sizes = sizes.iloc[rng.permutation(len(sizes))]
    chosen = sizes.index[sizes.cumsum() <= share * len(passengers)]
    shuffled = passengers.iloc[rng.permutation(len(passengers))]
    within = groups[shuffled.index].isin(chosen)
    return shuffled[within], shuffled[~within]


def _groups(ids: pd.Series) -> pd.Series:
    return ids.str.split("_").str[0]


def write_public(test: pd.DataFrame, train: pd.DataFrame, public: Path) -> None:
    write_table(train, public / "train.csv")
    write_table(test.drop(columns=TARGET), public / "test.csv")
    write_table(_sample(test), public / "sample_submission.csv")


def write_answers(test: pd.DataFrame, train: pd.DataFrame, private: Path) -> None:
    write_table(test[[ID, TARGET]], private / "answers.csv")
    write_table(test.loc[_has_copy(test, train), [ID]], private / "copies.csv")


def _has_copy(test: pd.DataFrame, train: pd.DataFrame) -> np.ndarray:
    """Which test rows are, but for a column, also in the training data."""
    differences = np.zeros((len(test), len(train)), dtype=np.int16)
    for column in test.columns.drop([ID, TARGET]):
        codes, _ = pd.factorize(pd.concat([test[column], train[column]]))
        differences += codes[: len(test), None] != codes[None, len(test) :]
    return differences.min(axis=1) <= COPY_DIFFERENCES


def _sample(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[[ID]].assign(**{TARGET: False})


def _read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, dtype=str, keep_default_na=False).astype(object)


def write_table(table: pd.DataFrame, file: Path) -> None:
    table.to_csv(file, index=False, lineterminator="\n")
