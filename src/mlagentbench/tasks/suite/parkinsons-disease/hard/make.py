"""Invents people at thirteen sites, their visits and ratings, and a laboratory that blurs proteins.

A severity goes up with the years and decides the four ratings; six of thirty proteins follow it.
Every visit has one sample; the samples of 19 people share a plate, three plates a site, some sites
a kit lot. Train and test share no lot. What was measured is the protein and more:

| mechanism | eval                    | train               | what it does                         |
|-----------|-------------------------|---------------------|--------------------------------------|
| handling  | one or two factors      | three factors       | what a sample has of its own moves   |
|           |                         |                     | its proteins, by a plate's weights   |
| shift     | always                  | always              | a plate shifts each protein; plates  |
|           |                         |                     | differ in severity, too              |
| control   | by lot and protein, or  | by lot and group    | of three control materials only one  |
|           | by lot and panel        |                     | shifts as the samples do             |
| schedule  | turning, or silent      | stable, or silent   | sites invite the ill more often, or  |
|           |                         |                     | less often; test sites the other way |
| thaws     | present, or absent      | present, or absent  | a decoy: proteins that tell nothing  |
|           |                         |                     | go down with every thaw              |

The ceiling knows the severity and how ratings are drawn from it, not the ratings themselves.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from mini import MEDICATION, NOISE, NOISE_SHARES, TARGETS, best_guesses
from prepare import (
    CLINICAL,
    ID,
    MONTH,
    PATIENT,
    PROTEINS,
    RATING,
    VISIT,
    ask_ratings,
    look_up,
    new_numbers,
    shuffled,
    write_answers,
    write_table,
)

UNIPROT = [
    "O00391", "O15240", "O43505", "O60888", "O94919", "P00441", "P01024", "P01034", "P01621",
    "P02649", "P02766", "P02787", "P04196", "P05060", "P05067", "P05408", "P07225", "P07998",
    "P08253", "P10451", "P10645", "P12109", "P16870", "P19652", "P23083", "P36955", "P61278",
    "Q08380", "Q12841", "Q92823",
]  # fmt: skip
TRAIN_SITES, TEST_SITES, PLATES_OF_A_SITE, PEOPLE_OF_A_PLATE = [2, 2, 2, 2], [5], 3, 19
"""The sites of each lot."""
OFTEN, SELDOM = [0, 6, 12, 18, 24], [0, 12, 24]
MISSED = 0.1
LEVEL_OF_PLATES, LEVEL_OF_PEOPLE, PACE = 0.75, 0.7, 0.1
SCHEDULE = 2.5
MIDDLES = np.array([6.0, 5.0, 17.0, 2.0])
RATING_PER_SEVERITY = 0.6
TELLING, STRENGTH = 6, (0.4, 0.5)
OWN, BLUR = 0.35, 0.35
PLATE_SHIFT, HANDLING = 1.5, 1.2
THAW = 0.5
CONTROLS, WELLS, CONTROL_BLUR = ["A", "B", "C"], 3, 0.25
NOT_FOUND = 0.04


class Mechanisms(NamedTuple):
    """What a draw has."""

    factors: int
    control: str
    schedule: str
    thaws: bool


POOLS: dict[str, dict[str, list[Any]]] = {
    "eval": {
        "factors": [1, 2],
        "control": ["lot and protein", "lot and panel"],
        "schedule": ["turning", "silent"],
        "thaws": [False, True],
    },
    "train": {
        "factors": [3],
        "control": ["lot and group"],
        "schedule": ["stable", "silent"],
        "thaws": [False, True],
    },
}


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    mechanisms = Mechanisms(**{k: rng.permutation(v)[0].item() for k, v in POOLS[pool].items()})
    plates = _plates(mechanisms, rng)
    visits = _visits(_people(plates, mechanisms, rng), rng)
    rated, best = _rated(visits, rng)
    telling = dict(
        zip(
            rng.permutation(UNIPROT)[:TELLING].tolist(),
            rng.choice([-1, 1], TELLING) * rng.uniform(*STRENGTH, TELLING),
            strict=True,
        )
    )
    valid = _valid_controls(mechanisms, rng)
    samples, controls, thawing = _laboratory(visits, plates, telling, valid, mechanisms, rng)

    tested = set(visits.loc[visits["tested"], PATIENT])
    asked = ask_ratings(rated, samples, tested, public, "test", rng)
    names = asked.drop_duplicates(VISIT).set_index([PATIENT, MONTH])[VISIT]
    write_answers(asked, private)
    known = asked[RATING] != ""
    ceiling = asked[[ID]].assign(**{RATING: look_up(asked, best)})
    write_table(ceiling[known], private / "ceiling.csv")

    write_table(shuffled(rated[~rated[PATIENT].isin(tested)], rng), public / CLINICAL)
    write_table(shuffled(samples[~samples[PATIENT].isin(tested)], rng), public / PROTEINS)
    for part, rows in visits.groupby(visits["tested"].map({False: "train", True: "test"})):
        shown = rows[[VISIT, "plate", "site", "lot", "thaws"]]
        if part == "test":
            keys = zip(rows[PATIENT], rows[MONTH].astype(str), strict=True)
            shown = shown.assign(**{VISIT: [names[key] for key in keys]})
        write_table(shuffled(shown, rng), public / f"{part}_samples.csv")
    write_table(shuffled(controls, rng), public / "controls.csv")
    facts = mechanisms._asdict() | {
        "telling": {name: round(float(value), 3) for name, value in telling.items()},
        "valid_control": valid,
        "schedule_by_site": dict(zip(plates["site"], plates["invites"], strict=True)),
        "thawing": thawing,
    }
    (private / "mechanisms.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _plates(mechanisms: Mechanisms, rng: np.random.Generator) -> pd.DataFrame:
    """One row a plate: its lot, site and mean severity, and whom its site invites more often."""
    lots = rng.permutation(len(TRAIN_SITES) + len(TEST_SITES)) + 1
    per_lot = TRAIN_SITES + TEST_SITES
    n_train, n_test = sum(TRAIN_SITES), sum(TEST_SITES)
    invites = {
        "silent": np.zeros(n_train + n_test, dtype=int),
        "stable": np.ones(n_train + n_test, dtype=int),
        "turning": np.concatenate(
            [rng.permutation([1] * (n_train - 2) + [-1] * 2), -np.ones(n_test, dtype=int)]
        ),
    }[mechanisms.schedule] * rng.choice([-1, 1])
    sites = rng.permutation(n_train + n_test) + 1
    table = pd.DataFrame(
        {
            "lot": [f"L{lot}" for lot in np.repeat(lots, per_lot)],
            "site": [f"S{site:02d}" for site in sites],
            "invites": invites.tolist(),
            "tested": np.arange(n_train + n_test) >= n_train,
        }
    )
    table = table.loc[table.index.repeat(PLATES_OF_A_SITE)].reset_index(drop=True)
    table["plate"] = [f"p{number:03d}" for number in rng.choice(1000, len(table), replace=False)]
    even = [np.linspace(-1.7, 1.7, size) for size in table.groupby("tested").size()]
    table["level"] = LEVEL_OF_PLATES * np.concatenate([rng.permutation(part) for part in even])
    return table


def _people(plates: pd.DataFrame, mechanisms: Mechanisms, rng: np.random.Generator) -> pd.DataFrame:
    people = plates.loc[plates.index.repeat(PEOPLE_OF_A_PLATE)].reset_index(drop=True)
    within = rng.normal(size=len(people))
    people[PATIENT] = new_numbers(len(people), 5, rng)
    people["level"] += LEVEL_OF_PEOPLE * within
    people["pace"] = PACE * rng.gamma(2.0, 0.5, len(people))
    chance = 1 / (1 + np.exp(-SCHEDULE * people["invites"] * within))
    people["often"] = rng.random(len(people)) < chance
    return people


def _visits(people: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    rows = [
        (row, month)
        for row, often in enumerate(people["often"])
        for month in (OFTEN if often else SELDOM)
        if month == 0 or rng.random() > MISSED
    ]
    rows, months = map(list, zip(*rows, strict=True))
    visits = people.iloc[rows].reset_index(drop=True).assign(**{MONTH: months})
    visits[VISIT] = visits[PATIENT] + "_" + visits[MONTH].astype(str)
    visits["severity"] = visits["level"] + visits["pace"] * visits[MONTH] / 12
    visits["thaws"] = rng.integers(1, 4, len(visits))
    return visits


def _rated(visits: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The clinical table, and the best guesses for its ratings."""
    middle = MIDDLES * np.exp(RATING_PER_SEVERITY * visits["severity"].to_numpy())[:, None]
    values = middle[..., None] + (0.6 + 0.25 * middle[..., None]) * NOISE
    values = np.floor(values + 0.5).clip(0, 100)
    drawn = rng.choice(len(NOISE), size=middle.shape, p=NOISE_SHARES)
    ratings = np.take_along_axis(values, drawn[..., None], axis=2)[..., 0].astype(int)
    table = visits[[VISIT, PATIENT, MONTH]].astype(str).astype(object)
    rated = table.join(pd.DataFrame(ratings.astype(str), columns=TARGETS).astype(object))
    rated.loc[rng.random(len(rated)) < 0.2, "updrs_4"] = ""
    rated[MEDICATION] = rng.choice(["On", "Off", ""], len(rated), p=[0.4, 0.3, 0.3])
    best = pd.DataFrame(best_guesses(values).astype(str), columns=TARGETS)
    return rated, table.join(best)


def _valid_controls(mechanisms: Mechanisms, rng: np.random.Generator) -> dict[str, dict[str, str]]:
    """For each lot and protein, the control material that behaves like the samples."""
    lots = [f"L{lot + 1}" for lot in range(len(TRAIN_SITES) + len(TEST_SITES))]
    shape = (len(lots), len(UNIPROT))
    by_protein = np.resize(rng.permutation(3), shape[1])
    panels = rng.permutation(by_protein)
    drawn = {
        "lot and group": (panels[: len(lots), None] + (panels == 0)) % 3,
        "lot and panel": np.stack([rng.permutation(3)[panels] for _ in lots]),
        "lot and protein": np.stack([rng.permutation(by_protein) for _ in lots]),
    }[mechanisms.control]
    names = np.array(CONTROLS)[drawn].tolist()
    return {lot: dict(zip(UNIPROT, row, strict=True)) for lot, row in zip(lots, names, strict=True)}


def _laboratory(
    visits: pd.DataFrame,
    plates: pd.DataFrame,
    telling: dict[str, float],
    valid: dict[str, dict[str, str]],
    mechanisms: Mechanisms,
    rng: np.random.Generator,
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """What was measured of the samples and in the control wells."""
    n, n_plates, width = len(visits), len(plates), len(UNIPROT)
    slopes = np.array([telling.get(name, 0.0) for name in UNIPROT])
    base = rng.uniform(12, 19, width)
    weights = rng.normal(size=(n_plates, mechanisms.factors, width))
    weights *= HANDLING / mechanisms.factors**0.5
    shifts = rng.normal(0, PLATE_SHIFT, (n_plates, width))

    plate = visits["plate"].map({name: row for row, name in enumerate(plates["plate"])}).to_numpy()
    person = pd.factorize(visits[PATIENT])[0]
    levels = base + np.outer(visits["severity"], slopes) + shifts[plate]
    levels += np.einsum("nf,nfw->nw", rng.normal(size=(n, mechanisms.factors)), weights[plate])
    levels += rng.normal(0, OWN, (person.max() + 1, width))[person]
    levels += rng.normal(0, BLUR, (n, width))
    quiet = [name for name in UNIPROT if name not in telling]
    thawing = rng.permutation(quiet)[:8].tolist() if mechanisms.thaws else []
    levels -= THAW * np.outer(visits["thaws"], np.isin(UNIPROT, thawing))
    keys = visits[[VISIT, MONTH, PATIENT]].astype(str).astype(object)
    samples = _long(keys, levels)
    samples = samples[rng.random(len(samples)) > NOT_FOUND]

    pool = base + rng.normal(0, 0.8, width)
    tables = []
    for material in CONTROLS:
        follows = np.array([[valid[lot][name] == material for name in UNIPROT]
                            for lot in plates["lot"]])  # fmt: skip
        moved = np.where(follows, shifts, rng.normal(0, PLATE_SHIFT, shifts.shape))
        well = np.repeat(np.arange(n_plates), WELLS)
        read = pool + moved[well] + rng.normal(0, CONTROL_BLUR, (len(well), width))
        keys = pd.DataFrame({"plate": plates["plate"].to_numpy()[well]}).astype(object)
        keys["control"] = material
        tables.append((keys, read))
    keys = pd.concat([keys for keys, _ in tables], ignore_index=True)
    keys.insert(1, "well", _wells(keys["plate"], rng))
    return samples, _long(keys, np.vstack([read for _, read in tables])), thawing


def _wells(plate: pd.Series, rng: np.random.Generator) -> list[str]:
    """A place on its plate for each well, like C07."""
    names = np.array([f"{row}{column:02d}" for row in "ABCDEFGH" for column in range(1, 13)])
    places = {name: iter(rng.permutation(names)) for name in plate.unique()}
    return [next(places[name]) for name in plate]


def _long(keys: pd.DataFrame, levels: np.ndarray) -> pd.DataFrame:
    """One row a protein, in the official form."""
    table = keys.loc[keys.index.repeat(len(UNIPROT))].reset_index(drop=True)
    table["UniProt"] = UNIPROT * len(keys)
    table["NPX"] = [f"{value:.6g}" for value in 2 ** levels.ravel()]
    return table
