# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The passengers of both files: their features, their places, and what may hint at the strike."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

SPENDING = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
FIELDS = ["HomePlanet", "CryoSleep", "Cabin", "Destination", "Age", "VIP", *SPENDING, "Name"]


def read() -> tuple[pd.DataFrame, np.ndarray]:
    """Both files one below the other, and the fates of the first."""
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    fates = train.pop("Transported").astype(str).str.lower().isin(["true", "1", "1.0"])
    both = pd.concat([train, test], ignore_index=True)
    return prepare(both), fates.to_numpy().astype(int)


def _truth(column: pd.Series) -> pd.Series:
    words = {"true": 1.0, "1": 1.0, "1.0": 1.0, "false": 0.0, "0": 0.0, "0.0": 0.0}
    return column.astype(str).str.lower().map(words)


def prepare(both: pd.DataFrame) -> pd.DataFrame:
    """Adds the group, the place of the cabin and numbers in place of words."""
    both = both.copy()
    for name in FIELDS:
        both[f"no_{name}"] = both[name].isna().astype(float)
    both["group"] = both["Voyage"].astype(str) + "/" + both["PassengerId"].str.split("_").str[0]
    mate_cabin = both.groupby("group")["Cabin"].transform("first")
    parts = both["Cabin"].fillna(mate_cabin).str.split("/", expand=True)
    both["deck"] = parts[0].map({deck: i for i, deck in enumerate("ABCDEFGT")}).astype(float)
    both["number"] = pd.to_numeric(parts[1], errors="coerce")
    both["starboard"] = parts[2].map({"P": 0.0, "S": 1.0})
    both["planet"] = both["HomePlanet"].fillna(
        both.groupby("group")["HomePlanet"].transform("first")
    )
    both["asleep"] = _truth(both["CryoSleep"])
    both["vip"] = _truth(both["VIP"])
    spent = both[SPENDING].sum(axis=1)
    both.loc[both["asleep"].isna() & (spent > 0), "asleep"] = 0.0
    both.loc[both["asleep"] == 1, SPENDING] = both.loc[both["asleep"] == 1, SPENDING].fillna(0.0)
    return both


def base_features(both: pd.DataFrame) -> pd.DataFrame:
    """What is known of a passenger and of his or her group, without the voyage."""
    x = both[["deck", "number", "starboard", "asleep", "vip", "Age"]].copy()
    for name in ["planet", "Destination"]:
        for value in sorted(both[name].dropna().unique()):
            x[f"{name}={value}"] = (both[name] == value).astype(float)
    logs = np.log1p(both[SPENDING])
    for name in SPENDING:
        x[name] = logs[name]
    x["total"] = np.log1p(both[SPENDING].sum(axis=1))
    x["luxury"] = np.log1p(both[["RoomService", "Spa", "VRDeck"]].sum(axis=1))
    x["goods"] = np.log1p(both[["FoodCourt", "ShoppingMall"]].sum(axis=1))
    x["services"] = (both[SPENDING] > 0).sum(axis=1)
    x["idle"] = ((x["services"] == 0) & (x["asleep"] != 1)).astype(float)
    x["missing"] = both[[f"no_{name}" for name in FIELDS]].sum(axis=1)
    x["size"] = both.groupby("group")["group"].transform("size")
    for name in ["asleep", "total", "Age", "missing"]:
        x[f"group_{name}"] = x[name].groupby(both["group"]).transform("mean")
    x["odd_number"] = both["number"] % 2
    return x


def traces(both: pd.DataFrame, adjusted: bool = True) -> pd.DataFrame:
    """What may be unusual near the strike, standardised; what a passenger's kind explains is out."""
    x = base_features(both)
    t = pd.DataFrame(index=both.index)
    for name in FIELDS:
        t[f"no_{name}"] = both[f"no_{name}"]
    t["missing"] = x["missing"]
    t["no_spending"] = both[[f"no_{name}" for name in SPENDING]].sum(axis=1)
    awake = x["asleep"] != 1
    for name in SPENDING:
        t[name] = x[name].where(awake)
        t[f"any_{name}"] = (x[name] > 0).astype(float).where(awake & x[name].notna())
    for name in ["total", "idle"]:
        t[name] = x[name].where(awake)
    for name in ["asleep", "vip", "Age", "size"]:
        t[name] = x[name]
    t["heaped_age"] = (x["Age"] % 5 == 0).astype(float).where(x["Age"].notna())
    for name in x.columns:
        if "=" in name:
            t[name] = x[name]
    t["name_length"] = both["Name"].str.len()
    if adjusted:
        kind = [both["planet"].fillna("?"), both["asleep"].fillna(-1.0)]
        spent = [name for name in t if name in (*SPENDING, "total", "idle", "Age", "asleep")]
        for name in spent:
            by = kind[:1] if name == "asleep" else kind
            t[name] = t[name] - t.groupby(by)[name].transform("mean")
    t = (t - t.mean()) / (t.std() + 1e-9)
    return t.fillna(0.0)


def booster(seed: int, trees: int = 120, leaves: int = 8) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=trees,
        learning_rate=0.06,
        max_leaf_nodes=leaves,
        min_samples_leaf=25,
        l2_regularization=5.0,
        max_features=0.5,
        random_state=seed,
    )


def voyage_folds(voyages: np.ndarray, folds: int, seed: int = 0) -> list[np.ndarray]:
    """Masks of what is held out: whole voyages."""
    names = np.random.default_rng(seed).permutation(np.unique(voyages))
    return [np.isin(voyages, names[i::folds]) for i in range(folds)]


def held_out(make, x: np.ndarray, y: np.ndarray, folds: list[np.ndarray]) -> np.ndarray:
    """The chance of each passenger by a model that did not see the voyage."""
    chance = np.zeros(len(y))
    for out in folds:
        chance[out] = make().fit(x[~out], y[~out]).predict_proba(x[out])[:, 1]
    return chance


def centred(values: np.ndarray, voyages: np.ndarray) -> np.ndarray:
    """The values less the mean of the voyage."""
    frame = pd.DataFrame(values)
    return (frame - frame.groupby(voyages).transform("mean")).to_numpy()


def submit(both: pd.DataFrame, n: int, chance: np.ndarray) -> None:
    """Writes the submission; `chance` is of the passengers after the first n."""
    submission = pd.DataFrame(
        {"PassengerId": both["PassengerId"].to_numpy()[n:], "Transported": chance > 0.5}
    )
    submission.to_csv("submission.csv", index=False)
