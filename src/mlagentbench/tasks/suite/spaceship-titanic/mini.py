"""Invents 3,000 passengers in the columns of the official file.

How likely a passenger is to be transported is known exactly (`chance`): fields act on each other,
so that no single one tells much, and the rest is luck. The probability is written beside the table;
whoever always names the likelier fate has the score that no model can better.
"""

from pathlib import Path

import numpy as np
import pandas as pd

PASSENGERS = 3000
MISSING = 0.02
GROUP_SIZES = [0.77, 0.13, 0.06, 0.02, 0.01, 0.01]
"""How many groups have one, two, three ... members."""

PLANETS = ["Earth", "Europa", "Mars"]
PLANET_SHARES = [0.52, 0.26, 0.22]
DESTINATIONS = ["TRAPPIST-1e", "55 Cancri e", "PSO J318.5-22"]
DECKS = {"Earth": list("EFG"), "Europa": list("ABCDE"), "Mars": list("DEF")}
ASLEEP = {"Earth": 0.28, "Europa": 0.42, "Mars": 0.40}
SPENDING = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
SPENDING_LEVEL = {
    "Earth": [5.0, 5.4, 5.0, 5.0, 5.0],
    "Europa": [4.8, 7.2, 4.8, 6.8, 6.8],
    "Mars": [6.8, 4.2, 6.0, 4.6, 4.4],
}


def make(raw: Path, rng: np.random.Generator) -> None:
    passengers = _travellers(rng)
    _cabins(passengers, rng)
    _spending(passengers, rng)
    probability = chance(passengers)
    passengers["Transported"] = rng.random(PASSENGERS) < probability
    noise_free = pd.DataFrame(
        {"PassengerId": passengers["PassengerId"], "Transported": probability.round(6)}
    )
    noise_free.to_csv(raw / "noise_free.csv", index=False)
    _forget(passengers, rng)
    columns = ["PassengerId", "HomePlanet", "CryoSleep", "Cabin", "Destination", "Age", "VIP"]
    columns += [*SPENDING, "Name", "Transported"]
    passengers[columns].to_csv(raw / "train.csv", index=False)


def chance(passengers: pd.DataFrame) -> pd.Series:
    """The probability of being transported, given the passenger's fields."""
    planet, destination = passengers["HomePlanet"], passengers["Destination"]
    asleep = passengers["CryoSleep"]
    starboard = passengers["Side"] == "S"
    forward = np.cos(passengers["Number"] / passengers["Number"].max() * 2 * np.pi)
    food, mall, room, spa, deck = (
        np.log1p(passengers[column]) / 3
        for column in ["FoodCourt", "ShoppingMall", "RoomService", "Spa", "VRDeck"]
    )
    # The capsules of one side held; the awake were where their planet's people spend money.
    in_capsule = np.where(starboard, 1.5, -0.5) + 0.6 * (planet == "Europa")
    habit = planet.map({"Earth": 1.0, "Europa": -0.7, "Mars": 0.7})
    awake = habit * (0.8 * food + 0.6 * mall - 0.8 * spa - 0.7 * deck - 0.5 * room)
    awake += 0.9 * (passengers["Age"] < 13) + 0.3
    abroad = planet.map({"Earth": 0.7, "Europa": 1.0, "Mars": -1.0})
    bound = np.where(destination == "55 Cancri e", abroad, 0)
    lower_deck = passengers["Deck"].isin(list("EFG"))
    place = 0.7 * np.where(lower_deck, forward, -forward) * np.where(starboard, 1, -0.5)
    company = 0.35 * (passengers["GroupSize"] > 1)
    score = np.where(asleep, in_capsule, awake) + bound + place + company - 0.5
    return 1 / (1 + np.exp(-2.2 * score))


def _travellers(rng: np.random.Generator) -> pd.DataFrame:
    shares = np.array(GROUP_SIZES) / np.sum(GROUP_SIZES)
    sizes = rng.choice(np.arange(1, len(shares) + 1), PASSENGERS, p=shares)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), PASSENGERS) + 1]
    sizes[-1] -= sizes.sum() - PASSENGERS
    group = np.repeat(np.arange(len(sizes)), sizes)
    member = np.arange(PASSENGERS) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    planet = rng.choice(PLANETS, len(sizes), p=PLANET_SHARES)[group]
    toward = rng.choice(DESTINATIONS, len(sizes), p=[0.6, 0.28, 0.12])[group]
    own_way = rng.choice(DESTINATIONS, PASSENGERS, p=[0.6, 0.28, 0.12])
    asleep = rng.random(PASSENGERS) < pd.Series(planet).map(ASLEEP).to_numpy()
    age = rng.gamma(5.5, 5.4, PASSENGERS).round().clip(0, 79)
    child = (member > 1) & (rng.random(PASSENGERS) < 0.3)
    surnames = np.array([_word(rng, 3) for _ in sizes])
    return pd.DataFrame(
        {
            "PassengerId": [f"{g + 1:04d}_{m:02d}" for g, m in zip(group, member, strict=True)],
            "Group": group,
            "GroupSize": sizes[group],
            "HomePlanet": planet,
            "CryoSleep": asleep,
            "Destination": np.where(rng.random(PASSENGERS) < 0.8, toward, own_way),
            "Age": np.where(child, rng.integers(0, 18, PASSENGERS), age).astype(float),
            "VIP": (rng.random(PASSENGERS) < 0.025) & (planet != "Earth"),
            "Name": [f"{_word(rng, 2)} {surname}" for surname in surnames[group]],
        }
    )


def _cabins(passengers: pd.DataFrame, rng: np.random.Generator) -> None:
    """Cabins are given out in boarding order, deck by deck; most groups share one."""
    first = passengers.groupby("Group")["HomePlanet"].first()
    decks = np.array([rng.choice(DECKS[planet]) for planet in first])
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


def _spending(passengers: pd.DataFrame, rng: np.random.Generator) -> None:
    """Sleepers and small children spend nothing; the others spend in some places."""
    levels = np.array([SPENDING_LEVEL[planet] for planet in passengers["HomePlanet"]])
    amounts = rng.lognormal(levels, 1.3).round()
    nothing = passengers["CryoSleep"] | (passengers["Age"] < 13)
    visited = rng.random(amounts.shape) < 0.62
    amounts[~visited | nothing.to_numpy()[:, None]] = 0
    passengers[SPENDING] = amounts


def _forget(passengers: pd.DataFrame, rng: np.random.Generator) -> None:
    for column in ["HomePlanet", "CryoSleep", "Cabin", "Destination", "Age", "VIP", "Name"]:
        passengers[column] = passengers[column].astype(object)
    for column in passengers.columns.drop(["PassengerId", "Transported"]):
        passengers.loc[rng.random(PASSENGERS) < MISSING, column] = np.nan


def _word(rng: np.random.Generator, syllables: int) -> str:
    onsets = ["b", "br", "d", "f", "gl", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z"]
    vowels = ["a", "e", "i", "o", "u", "ae", "ou"]
    picks = rng.integers(0, (len(onsets), len(vowels)), (syllables, 2))
    return "".join(onsets[onset] + vowels[vowel] for onset, vowel in picks).capitalize()
