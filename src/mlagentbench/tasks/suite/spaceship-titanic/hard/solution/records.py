# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Passengers as numbers, marks of damage in their records, and where on a voyage marks are dense."""

import itertools

import numpy as np
import pandas as pd

SPENDING = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
CELLS = ["HomePlanet", "CryoSleep", "Destination", "Age", "VIP", *SPENDING, "Name"]
CENTRES = {"number": np.linspace(0, 1, 21), "deck": np.arange(7.0), "side": np.array([0.0, 1.0])}
WIDTHS = {"number": (0.12, 0.2, 0.3), "deck": (1.0, 1.7, 2.6), "side": (0.5,)}


def places(passengers: pd.DataFrame) -> pd.DataFrame:
    cabin = passengers["Cabin"].str.split("/", expand=True)
    number = cabin[1].astype(float)
    return pd.DataFrame(
        {
            "number": number / number.max(),
            "deck": cabin[0].map("ABCDEFG".index).astype(float),
            "side": (cabin[2] == "S").astype(float),
        }
    )


def features(passengers: pd.DataFrame) -> pd.DataFrame:
    """What is known of each passenger, as numbers."""
    group = passengers["PassengerId"].str.split("_").str[0]
    x = places(passengers)
    x["asleep"] = passengers["CryoSleep"].map({True: 1.0, False: 0.0, "True": 1.0, "False": 0.0})
    x["asleep"] = x["asleep"].mask(passengers[SPENDING].sum(axis=1) > 0, 0.0)
    x["age"] = passengers["Age"]
    x["young"] = (passengers["Age"] < passengers["Age"].median()).astype(float)
    x["group size"] = group.map(group.value_counts())
    for column in ("HomePlanet", "Destination"):
        usual = passengers[column].fillna(group.map(passengers.groupby(group)[column].first()))
        for value in sorted(usual.dropna().unique()):
            x[f"{column}={value}"] = (usual == value).astype(float)
    x[SPENDING] = np.log1p(passengers[SPENDING])
    x["spent"] = np.log1p(passengers[SPENDING].sum(axis=1))
    return x


def upper_half(values: pd.Series) -> pd.Series:
    """Who is above the median; of a yes-or-no column, who says yes."""
    return values > values.median() if values.nunique() > 2 else values == 1


def marks(passengers: pd.DataFrame) -> pd.DataFrame:
    """For each kind of damage: 1 where it is, 0 where it is not or cannot be, less its mean."""
    found = {f"lost {column}": passengers[column].isna().astype(float) for column in CELLS}
    for column in SPENDING:
        amount = passengers[column]
        found[f"round {column}"] = (amount % 10 == 0).astype(float).where(amount > 0)
    table = pd.DataFrame(found)
    return (table - table.mean()).fillna(0.0)


def near(
    where: pd.DataFrame, voyages: pd.Series, damage: pd.Series, found: dict
) -> tuple[pd.Series, float]:
    """How near each passenger is to the densest damage of the voyage, and how well that fits."""
    centres = list(itertools.product(*(CENTRES[axis] for axis in found["axes"])))
    nearness = pd.Series(0.0, index=where.index)
    gain = 0.0
    for rows in voyages.groupby(voyages).groups.values():
        place = where.loc[rows, found["axes"]].to_numpy()
        distance = (place[None] - np.array(centres)[:, None]) / np.array(found["widths"])
        bumps = np.exp(-(distance**2).sum(axis=2) / 2)
        centred = bumps - bumps.mean(axis=1, keepdims=True)
        own = damage.loc[rows].to_numpy()
        fits = centred @ (own - own.mean()) / np.sqrt((centred**2).sum(axis=1))
        best = int(np.argmax(fits))
        nearness[rows] = bumps[best]
        gain += max(fits[best], 0.0) ** 2
    return nearness, gain / float((damage**2).sum())
