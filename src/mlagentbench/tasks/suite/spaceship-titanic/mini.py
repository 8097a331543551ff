"""Invents 3,000 passengers in the columns of the official file.

How likely a passenger is to be transported is known exactly (`chance`): fields act on each other,
so that no single one tells much, and the rest is luck. The probability is written beside the table;
whoever always names the likelier fate has the score that no model can better.

A draw draws, besides the passengers: which planet has which kind of people (`WAYS`), where they
live and spend money, which side of the ship held, which destination matters, and by how much
everything counts. So a rule that was fitted to one draw is wrong about another.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

PASSENGERS = 3000
MISSING = 0.02
GROUP_SIZES = [0.77, 0.13, 0.06, 0.02, 0.01, 0.01]
"""How many groups have one, two, three ... members."""

PLANETS = ["Earth", "Europa", "Mars"]
DESTINATIONS = ["TRAPPIST-1e", "55 Cancri e", "PSO J318.5-22"]
DESTINATION_SHARES = [0.6, 0.28, 0.12]
DECKS = "ABCDEFG"
SPENDING = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
PLACES = ["food", "mall", "room", "spa", "deck"]
"""What the columns of spending count; which is which is drawn."""


class Way(NamedTuple):
    """How the people of one planet travel."""

    share: float
    asleep: float
    decks: tuple[int, ...]
    spending: tuple[float, ...]
    """Logarithms of usual amounts, one for each of PLACES."""
    in_capsule: float
    habit: float
    abroad: float


WAYS = (
    Way(0.52, 0.28, (4, 5, 6), (5.4, 5.0, 5.0, 5.0, 5.0), 0.0, 1.0, 0.7),
    Way(0.26, 0.42, (0, 1, 2, 3, 4), (7.2, 4.8, 4.8, 6.8, 6.8), 0.6, -0.7, 1.0),
    Way(0.22, 0.40, (3, 4, 5), (4.2, 6.0, 6.8, 4.6, 4.4), 0.0, 0.7, -1.0),
)
LOWER_DECKS = (4, 5, 6)
WEIGHTS = {
    "held": 1.5, "lost": 0.5, "food": 0.8, "mall": 0.6, "spa": 0.8, "deck": 0.7, "room": 0.5,
    "child": 0.9, "place": 0.7, "company": 0.35,
}  # fmt: skip
SPREAD = 0.12
"""How much draws differ in a weight, as the logarithm of a factor."""


class Ship(NamedTuple):
    """What all passengers of a draw have in common."""

    ways: dict[str, Way]
    decks: list[str]
    """The letters, from the deck that is first in `Way.decks` to the last."""
    destinations: list[str]
    """From the commonest to the rarest; the second one matters."""
    columns: dict[str, str]
    """The column of each of PLACES."""
    held: str
    phase: float
    weights: dict[str, float]


def draw_ship(rng: np.random.Generator) -> Ship:
    planets = rng.permutation(PLANETS).tolist()
    factors = rng.lognormal(0, SPREAD, len(WEIGHTS))
    return Ship(
        ways=dict(zip(planets, WAYS, strict=True)),
        decks=rng.permutation(list(DECKS)).tolist(),
        destinations=rng.permutation(DESTINATIONS).tolist(),
        columns=dict(zip(PLACES, rng.permutation(SPENDING).tolist(), strict=True)),
        held=str(rng.choice(["P", "S"])),
        phase=rng.uniform(0, 2 * np.pi),
        weights={
            name: value * factor
            for (name, value), factor in zip(WEIGHTS.items(), factors, strict=True)
        },
    )


def make(raw: Path, rng: np.random.Generator) -> None:
    ship = draw_ship(rng)
    passengers = travellers(PASSENGERS, ship, rng)
    cabins(passengers, ship, rng)
    spending(passengers, ship, rng)
    probability = chance(passengers, ship)
    passengers["Transported"] = rng.random(PASSENGERS) < probability
    noise_free = pd.DataFrame(
        {"PassengerId": passengers["PassengerId"], "Transported": probability.round(6)}
    )
    noise_free.to_csv(raw / "noise_free.csv", index=False)
    _forget(passengers, rng)
    columns = ["PassengerId", "HomePlanet", "CryoSleep", "Cabin", "Destination", "Age", "VIP"]
    columns += [*SPENDING, "Name", "Transported"]
    passengers[columns].to_csv(raw / "train.csv", index=False)


def chance(passengers: pd.DataFrame, ship: Ship) -> pd.Series:
    """The probability of being transported, given the passenger's fields."""
    weight = ship.weights
    way = {field: passengers["HomePlanet"].map({p: getattr(w, field) for p, w in ship.ways.items()})
           for field in ("in_capsule", "habit", "abroad")}  # fmt: skip
    held = passengers["Side"] == ship.held
    turn = passengers["Number"] / passengers["Number"].max() * 2 * np.pi
    forward = np.cos(turn + ship.phase)
    spent = {place: weight[place] * np.log1p(passengers[column]) / 3
             for place, column in ship.columns.items()}  # fmt: skip
    # The capsules of one side held; the awake were where their planet's people spend money.
    in_capsule = np.where(held, weight["held"], -weight["lost"]) + way["in_capsule"]
    wasted = spent["spa"] + spent["deck"] + spent["room"]
    awake = way["habit"] * (spent["food"] + spent["mall"] - wasted)
    awake += weight["child"] * (passengers["Age"] < 13) + 0.3
    bound = np.where(passengers["Destination"] == ship.destinations[1], way["abroad"], 0)
    lower_deck = passengers["Deck"].isin([ship.decks[n] for n in LOWER_DECKS])
    place = weight["place"] * np.where(lower_deck, forward, -forward) * np.where(held, 1, -0.5)
    company = weight["company"] * (passengers["GroupSize"] > 1)
    score = np.where(passengers["CryoSleep"], in_capsule, awake) + bound + place + company - 0.5
    return 1 / (1 + np.exp(-2.2 * score))


def travellers(count: int, ship: Ship, rng: np.random.Generator) -> pd.DataFrame:
    shares = np.array(GROUP_SIZES) / np.sum(GROUP_SIZES)
    sizes = rng.choice(np.arange(1, len(shares) + 1), count, p=shares)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), count) + 1]
    sizes[-1] -= sizes.sum() - count
    group = np.repeat(np.arange(len(sizes)), sizes)
    member = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    shares = [way.share for way in ship.ways.values()]
    planet = rng.choice(list(ship.ways), len(sizes), p=shares)[group]
    toward = rng.choice(ship.destinations, len(sizes), p=DESTINATION_SHARES)[group]
    own_way = rng.choice(ship.destinations, count, p=DESTINATION_SHARES)
    asleep = rng.random(count) < np.array([ship.ways[name].asleep for name in planet])
    age = rng.gamma(5.5, 5.4, count).round().clip(0, 79)
    child = (member > 1) & (rng.random(count) < 0.3)
    surnames = np.array([_word(rng, 3) for _ in sizes])
    return pd.DataFrame(
        {
            "PassengerId": [f"{g + 1:04d}_{m:02d}" for g, m in zip(group, member, strict=True)],
            "Group": group,
            "GroupSize": sizes[group],
            "HomePlanet": planet,
            "CryoSleep": asleep,
            "Destination": np.where(rng.random(count) < 0.8, toward, own_way),
            "Age": np.where(child, rng.integers(0, 18, count), age).astype(float),
            "VIP": (rng.random(count) < 0.025) & (planet != next(iter(ship.ways))),
            "Name": [f"{_word(rng, 2)} {surname}" for surname in surnames[group]],
        }
    )


def cabins(passengers: pd.DataFrame, ship: Ship, rng: np.random.Generator) -> None:
    """Cabins are given out in boarding order, deck by deck; most groups share one."""
    first = passengers.groupby("Group")["HomePlanet"].first()
    decks = np.array([ship.decks[rng.choice(ship.ways[planet].decks)] for planet in first])
    sides = rng.choice(["P", "S"], len(first))
    numbers = pd.Series(decks + sides).groupby(decks + sides).cumcount().to_numpy()
    group = passengers["Group"].to_numpy()
    passengers["Deck"], passengers["Side"] = decks[group], sides[group]
    passengers["Number"] = numbers[group]
    passengers["Cabin"] = [
        f"{deck}/{number}/{side}"
        for deck, number, side in zip(
            passengers["Deck"], passengers["Number"], passengers["Side"], strict=True
        )
    ]


def spending(passengers: pd.DataFrame, ship: Ship, rng: np.random.Generator) -> None:
    """Sleepers and small children spend nothing; the others spend in some places."""
    levels = np.array([ship.ways[planet].spending for planet in passengers["HomePlanet"]])
    amounts = rng.lognormal(levels, 1.3).round()
    nothing = passengers["CryoSleep"] | (passengers["Age"] < 13)
    visited = rng.random(amounts.shape) < 0.62
    amounts[~visited | nothing.to_numpy()[:, None]] = 0
    passengers[list(ship.columns.values())] = amounts


def _forget(passengers: pd.DataFrame, rng: np.random.Generator) -> None:
    for column in ["HomePlanet", "CryoSleep", "Cabin", "Destination", "Age", "VIP", "Name"]:
        passengers[column] = passengers[column].astype(object)
    for column in passengers.columns.drop(["PassengerId", "Transported"]):
        passengers.loc[rng.random(len(passengers)) < MISSING, column] = np.nan


def _word(rng: np.random.Generator, syllables: int) -> str:
    onsets = ["b", "br", "d", "f", "gl", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z"]
    vowels = ["a", "e", "i", "o", "u", "ae", "ou"]
    picks = rng.integers(0, (len(onsets), len(vowels)), (syllables, 2))
    return "".join(onsets[onset] + vowels[vowel] for onset, vowel in picks).capitalize()
