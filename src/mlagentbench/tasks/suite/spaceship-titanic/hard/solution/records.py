# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Passengers as numbers, how their records are written, and where on a voyage a way is frequent."""

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


def ways(passengers: pd.DataFrame) -> pd.DataFrame:
    """Ways of writing records: 1 where found, 0 where not or not applicable, less the usual."""
    found = {f"{column} lost": passengers[column].isna() for column in CELLS}
    applies = {}
    for column in ["Age", *SPENDING]:
        number = passengers[column]
        for digit in range(10):
            found[f"{column} ends in {digit}"] = number % 10 == digit
            applies[f"{column} ends in {digit}"] = number > 0
    words = passengers["Name"].str.split(expand=True).fillna("")
    for word in words:
        for letter in sorted(set(words[word].str[-1:]) - {""}):
            found[f"word {word} ends in {letter}"] = words[word].str[-1:] == letter
            applies[f"word {word} ends in {letter}"] = words[word] != ""
    found["word 0 is longest"] = words[0].str.len() > words[1].str.len()
    table = pd.DataFrame(found).astype(float)
    table = table.where(pd.DataFrame(applies).reindex(columns=table.columns, fill_value=True))
    where = places(passengers)
    usual = table.groupby([where["deck"], where["side"]]).transform("mean")
    return (table - usual).fillna(0.0)


def near(
    where: pd.DataFrame, voyages: pd.Series, marks: pd.DataFrame, found: dict
) -> tuple[pd.DataFrame, pd.Series]:
    """How near each passenger is to the densest marks of the voyage, and how well that fits.

    Columns of `marks` are taken one by one.
    """
    nearness = np.zeros(marks.shape)
    gain = np.zeros(marks.shape[1])
    for rows in voyages.groupby(voyages).indices.values():
        bumps = np.ones((1, len(rows)))
        for axis, width in zip(found["axes"], found["widths"], strict=True):
            distance = (where[axis].to_numpy()[rows] - CENTRES[axis][:, None]) / width
            along = np.exp(-(distance**2) / 2)
            bumps = (bumps[:, None] * along[None]).reshape(-1, len(rows))
        own = marks.to_numpy()[rows]
        scale = np.sqrt(len(rows)) * bumps.std(axis=1, keepdims=True)
        fits = bumps @ (own - own.mean(axis=0)) / scale
        nearness[rows] = bumps[fits.argmax(axis=0)].T
        gain += fits.max(axis=0).clip(min=0.0) ** 2
    table = pd.DataFrame(nearness, index=marks.index, columns=marks.columns)
    return table, pd.Series(gain, index=marks.columns) / (marks**2).sum()
