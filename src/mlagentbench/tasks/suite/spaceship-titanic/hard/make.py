"""Invents 20 voyages of one ship, each struck by an anomaly in another place.

Whoever is near the place where it struck fares differently from those far away, and one kind of
passenger in the opposite way from all others. Where it struck is not recorded, but it also damaged
the ship's records there: marks in some columns are frequent near that place, in the voyages of the
test as well. So the place can be found from the marks, and the fates follow from it.

| part | what a draw draws | eval | train |
|---|---|---|---|
| marks | what is damaged | cells lost in 4 columns | round amounts in 3 columns |
| place | what a place is | number and deck, or number and side | number, or deck and side |
| turn | who fares in the opposite way | asleep, a side or a planet | a destination or the young |

Where the anomaly struck, and which fate is that of the near, is drawn as well. Decoys: in six other
columns (train: in four) cells are lost around another place of each voyage, which does not matter.
The ceiling is that of the true probabilities.
"""

import json
from pathlib import Path

import mini
import numpy as np
import pandas as pd
from prepare import COLUMNS, ID, TARGET, _new_ids, _write, _write_answers, _write_public

VOYAGES, TEST_VOYAGES, PASSENGERS = 20, 8, 280
CABINS = 300
CELLS = ["HomePlanet", "CryoSleep", "Destination", "Age", "VIP", *mini.SPENDING, "Name"]
LOST, LOST_NEAR = 0.03, 0.27
ROUND_NEAR = 0.75
WIDTHS = {"number": 0.18, "deck": 2.2, "side": 0.6}
"""How far the anomaly reached, in ship lengths, decks, and sides."""
UNRELATED = 0.07
"""Largest correlation of the nearness to decoys with that to the struck places."""
PASSENGER, PLACE = 0.9, 3.3
"""Standard deviations of both parts of the log odds."""
TURNED = -0.7
"""What the place means to those who fare in the opposite way, where it means 1 to the others."""


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    ship = mini.draw_ship(rng)
    ship.weights["place"] = 0.0
    mechanisms = _draw_mechanisms(rng, pool, ship)
    passengers = _passengers(ship, rng)
    near = _nearness(passengers, mechanisms["axes"], rng)
    probability = _chance(passengers, near, mechanisms, ship)
    passengers[TARGET] = rng.random(len(passengers)) < probability
    _damage(passengers, mechanisms, near, rng)

    passengers[ID] = _new_ids(passengers[ID], rng)
    passengers["Probability"] = probability.round(6)
    passengers = passengers.iloc[rng.permutation(len(passengers))]
    names = np.array([f"V{number}" for number in rng.permutation(np.arange(10, 100))[:VOYAGES]])
    is_test = passengers["Voyage"] < TEST_VOYAGES
    passengers["Voyage"] = names[passengers["Voyage"]]
    columns = [ID, "Voyage", *COLUMNS[1:]]
    test, train = passengers[is_test], passengers.loc[~is_test, columns]
    _write_public(test[columns], train, public)
    _write_answers(test[columns], train, private)
    _write(test[[ID]].assign(**{TARGET: test["Probability"]}), private / "ceiling.csv")
    (private / "mechanisms.json").write_text(json.dumps(mechanisms, indent=1) + "\n")


def _draw_mechanisms(rng: np.random.Generator, pool: str, ship: mini.Ship) -> dict:
    cells = rng.permutation(CELLS).tolist()
    planet, destination = next(iter(ship.ways)), ship.destinations[0]
    if pool == "eval":
        marks, decoys = cells[:4], cells[4:10]
        axes = [["number", "deck"], ["number", "side"]]
        turns = ["CryoSleep", "Side", f"HomePlanet={planet}"]
    else:
        marks, decoys = rng.permutation(mini.SPENDING).tolist()[:3], cells[:4]
        axes = [["number"], ["deck", "side"]]
        turns = [f"Destination={destination}", "Age"]
    return {
        "pool": pool,
        "marks": {"kind": "lost" if pool == "eval" else "round", "columns": marks},
        "decoys": {"kind": "lost", "columns": decoys},
        "axes": axes[rng.integers(len(axes))],
        "turn": turns[rng.integers(len(turns))],
        "sign": int(rng.choice([-1, 1])),
    }


def _passengers(ship: mini.Ship, rng: np.random.Generator) -> pd.DataFrame:
    mini.PASSENGERS = PASSENGERS
    voyages = []
    for voyage in range(VOYAGES):
        passengers = mini._travellers(ship, rng)
        mini._cabins(passengers, ship, rng)
        mini._spending(passengers, ship, rng)
        numbers = rng.integers(0, CABINS, PASSENGERS)
        passengers["Number"] = numbers[passengers["Group"]]
        passengers["Voyage"] = voyage
        passengers[ID] = f"{voyage}:" + passengers[ID]
        voyages.append(passengers)
    passengers = pd.concat(voyages, ignore_index=True)
    passengers["Cabin"] = (
        passengers["Deck"] + "/" + passengers["Number"].astype(str) + "/" + passengers["Side"]
    )
    return passengers


def _nearness(
    passengers: pd.DataFrame, axes: list[str], rng: np.random.Generator
) -> dict[str, pd.Series]:
    """How near everybody was to the place that was struck, and to the decoy: 0 to 1.

    Decoys are drawn until they say nothing about the struck places, in both parts of the voyages.
    """
    marks = _near_random_places(passengers, axes, rng)
    tested = passengers["Voyage"] < TEST_VOYAGES
    while True:
        decoys = _near_random_places(passengers, axes, rng)
        if max(abs(marks[part].corr(decoys[part])) for part in (tested, ~tested)) < UNRELATED:
            return {"marks": marks, "decoys": decoys}


def _near_random_places(
    passengers: pd.DataFrame, axes: list[str], rng: np.random.Generator
) -> pd.Series:
    places = {
        "number": passengers["Number"] / CABINS,
        "deck": passengers["Deck"].map(mini.DECKS.index),
        "side": passengers["Side"].map({"P": 0.0, "S": 1.0}),
    }
    centres = {
        "number": 0.05 + 0.9 * (rng.permutation(VOYAGES) + rng.random(VOYAGES)) / VOYAGES,
        "deck": rng.permutation(np.arange(VOYAGES) % len(mini.DECKS)),
        "side": rng.permutation(np.arange(VOYAGES) % 2),
    }
    distance = sum(
        ((places[axis] - centres[axis][passengers["Voyage"]]) / WIDTHS[axis]) ** 2 for axis in axes
    )
    return np.exp(-distance / 2)


def _chance(
    passengers: pd.DataFrame, near: dict[str, pd.Series], mechanisms: dict, ship: mini.Ship
) -> pd.Series:
    chance = mini.chance(passengers, ship)
    own = np.log(chance / (1 - chance)).clip(-8, 8)
    column, _, value = mechanisms["turn"].partition("=")
    values = passengers[column]
    if column == "Age":
        turned = values < values.median()
    elif column == "Side":
        turned = values == "P"
    else:
        turned = values == value if value else values
    # Ranks alone would make those who are far away too different from each other.
    place = _standard(_standard(near["marks"]) + _standard(near["marks"].rank()))
    place *= mechanisms["sign"] * np.where(turned, TURNED, 1)
    score = PASSENGER * _standard(own) + PLACE * place
    return 1 / (1 + np.exp(-(score - np.median(score))))


def _damage(
    passengers: pd.DataFrame,
    mechanisms: dict,
    near: dict[str, pd.Series],
    rng: np.random.Generator,
) -> None:
    """Lose cells and digits of amounts, where the anomaly and the decoy did."""
    n = len(passengers)
    lost = {column: np.full(n, LOST) for column in CELLS}
    for what in ("marks", "decoys"):
        for column in mechanisms[what]["columns"]:
            if mechanisms[what]["kind"] == "lost":
                lost[column] = LOST + LOST_NEAR * near[what]
            else:
                damaged = rng.random(n) < ROUND_NEAR * near[what]
                amounts = passengers[column]
                passengers[column] = amounts.mask(damaged, (amounts / 10).round() * 10)
    for column in CELLS:
        cells = passengers[column].astype(object)
        passengers[column] = cells.where(rng.random(n) >= lost[column], "")


def _standard(values: pd.Series) -> pd.Series:
    return (values - values.mean()) / values.std()
