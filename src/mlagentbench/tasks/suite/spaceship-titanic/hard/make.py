"""Invents 20 voyages of one ship, each struck by an anomaly in another place.

Whoever is near the place where it struck fares differently from those far away, and one kind of
passenger in the opposite way from all others. Where it struck is not recorded, but near that place
the records are written in another way, in the voyages of the test as well. No single record looks
odd: only how frequent a way of writing is shows the place, and the fates follow from it.

| part | what a draw draws | eval | train |
|---|---|---|---|
| mark | what is written in another way | endings of amounts, of ages, of first names or of \
surnames; or the order of names | cells lost in 4 columns, or round amounts in 3 |
| place | what a place is | number and deck, or number and side | number, or deck and side |
| turn | who fares in the opposite way | asleep, a side or a planet | a destination or the young |

Where the anomaly struck, and which fate is that of the near, is drawn as well. Decoys: two other
marks of eval, each around other places, which do not matter, and cells that are lost around still
others (train: lost cells alone). The ceiling is that of the true probabilities.
"""

import json
from pathlib import Path

import mini
import numpy as np
import pandas as pd
from prepare import COLUMNS, ID, TARGET, new_ids, write_answers, write_public, write_table

VOYAGES, TEST_VOYAGES, PASSENGERS = 20, 8, 280
CABINS = 300
CELLS = ["HomePlanet", "CryoSleep", "Destination", "Age", "VIP", *mini.SPENDING, "Name"]
LOST, LOST_NEAR = 0.03, 0.27
REWRITTEN, REWRITTEN_NEAR = 0.04, 0.8
"""How often the order of names differs anywhere, and how often records differ near a place."""
ENDINGS = {"amounts": range(1, 10), "ages": range(10), "first names": "aio", "surnames": "aio"}
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
    near = _near_random_places(passengers, mechanisms["axes"], rng)
    probability = _chance(passengers, near, mechanisms, ship)
    passengers[TARGET] = rng.random(len(passengers)) < probability
    for decoy in mechanisms["decoys"]:
        _mark(passengers, decoy, _near_decoys(passengers, mechanisms["axes"], near, rng), rng)
    _mark(passengers, mechanisms["mark"], near, rng)
    _lose_anywhere(passengers, rng)

    passengers[ID] = new_ids(passengers[ID], rng)
    passengers["Probability"] = probability.round(6)
    passengers = passengers.iloc[rng.permutation(len(passengers))]
    names = np.array([f"V{number}" for number in rng.permutation(np.arange(10, 100))[:VOYAGES]])
    is_test = passengers["Voyage"] < TEST_VOYAGES
    passengers["Voyage"] = names[passengers["Voyage"]]
    columns = [ID, "Voyage", *COLUMNS[1:]]
    test, train = passengers[is_test], passengers.loc[~is_test, columns]
    write_public(test[columns], train, public)
    write_answers(test[columns], train, private)
    write_table(test[[ID]].assign(**{TARGET: test["Probability"]}), private / "ceiling.csv")
    (private / "mechanisms.json").write_text(json.dumps(mechanisms, indent=1) + "\n")


def _draw_mechanisms(rng: np.random.Generator, pool: str, ship: mini.Ship) -> dict:
    cells = rng.permutation(CELLS).tolist()
    planet, destination = next(iter(ship.ways)), ship.destinations[0]
    if pool == "eval":
        mark, *decoys = [_draw_mark(kind, rng) for kind in rng.permutation([*ENDINGS, "order"])[:3]]
        decoys.append({"kind": "lost", "columns": cells[:6]})
        axes = [["number", "deck"], ["number", "side"]]
        turns = ["CryoSleep", "Side", f"HomePlanet={planet}"]
    else:
        amounts = rng.permutation(mini.SPENDING).tolist()[:3]
        marks = [
            {"kind": "lost", "columns": cells[:4]},
            {"kind": "amounts", "columns": amounts, "endings": [0]},
        ]
        mark, decoys = marks[rng.integers(len(marks))], [{"kind": "lost", "columns": cells[4:8]}]
        axes = [["number"], ["deck", "side"]]
        turns = [f"Destination={destination}", "Age"]
    return {
        "pool": pool,
        "mark": mark,
        "decoys": decoys,
        "axes": axes[rng.integers(len(axes))],
        "turn": turns[rng.integers(len(turns))],
        "sign": int(rng.choice([-1, 1])),
    }


def _draw_mark(kind: str, rng: np.random.Generator) -> dict:
    columns = {"amounts": rng.permutation(mini.SPENDING).tolist()[:3], "ages": ["Age"]}
    mark = {"kind": kind, "columns": columns.get(kind, ["Name"])}
    if kind in ENDINGS:
        mark["endings"] = [rng.choice(list(ENDINGS[kind])).item()]
    return mark


def _passengers(ship: mini.Ship, rng: np.random.Generator) -> pd.DataFrame:
    voyages = []
    for voyage in range(VOYAGES):
        passengers = mini.travellers(PASSENGERS, ship, rng)
        mini.cabins(passengers, ship, rng)
        mini.spending(passengers, ship, rng)
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


def _near_decoys(
    passengers: pd.DataFrame, axes: list[str], near: pd.Series, rng: np.random.Generator
) -> pd.Series:
    """Nearness to places that say nothing about the struck ones, in both parts of the voyages."""
    tested = passengers["Voyage"] < TEST_VOYAGES
    while True:
        decoys = _near_random_places(passengers, axes, rng)
        if max(abs(near[part].corr(decoys[part])) for part in (tested, ~tested)) < UNRELATED:
            return decoys


def _near_random_places(
    passengers: pd.DataFrame, axes: list[str], rng: np.random.Generator
) -> pd.Series:
    """How near everybody was to a random place of the own voyage: 0 to 1."""
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
    passengers: pd.DataFrame, near: pd.Series, mechanisms: dict, ship: mini.Ship
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
    place = _standard(_standard(near) + _standard(near.rank()))
    place *= mechanisms["sign"] * np.where(turned, TURNED, 1)
    score = PASSENGER * _standard(own) + PLACE * place
    return 1 / (1 + np.exp(-(score - np.median(score))))


def _mark(passengers: pd.DataFrame, mark: dict, near: pd.Series, rng: np.random.Generator) -> None:
    """Write records near a place in another way."""
    kind, n = mark["kind"], len(passengers)
    for column in mark["columns"]:
        cells = passengers[column]
        if kind == "lost":
            chosen, rewritten = rng.random(n) < LOST_NEAR * near, ""
        elif kind == "order":
            chosen = rng.random(n) < REWRITTEN + REWRITTEN_NEAR * near
            rewritten = cells.str.replace(r"(\w+) (\w+)", r"\2 \1", regex=True)
        else:
            chosen = rng.random(n) < REWRITTEN_NEAR * near
            rewritten = _end(cells, kind, mark["endings"][0])
        passengers[column] = cells.astype(object).mask(chosen & (cells != ""), rewritten)


def _end(cells: pd.Series, kind: str, ending: int | str) -> pd.Series:
    """The same names with another last vowel, the same numbers with another last digit."""
    if kind == "first names":
        return cells.str.replace(r"[aeiou]+ ", f"{ending} ", regex=True)
    if kind == "surnames":
        return cells.str.replace(r"[aeiou]+$", str(ending), regex=True)
    numbers = pd.to_numeric(cells)
    return cells.where(numbers.isna() | (numbers == 0), numbers // 10 * 10 + ending)


def _lose_anywhere(passengers: pd.DataFrame, rng: np.random.Generator) -> None:
    for column in CELLS:
        cells = passengers[column].astype(object)
        passengers[column] = cells.mask(rng.random(len(cells)) < LOST, "")


def _standard(values: pd.Series) -> pd.Series:
    return (values - values.mean()) / values.std()
