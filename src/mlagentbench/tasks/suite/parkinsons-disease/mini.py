"""Invents 240 people, with and without Parkinson's disease, their visits, ratings and proteins.

How ill somebody is at a visit is known exactly (`_severity`): a level and a pace of one's own. It
shows in three ways, none of which tells much alone: the ill are mostly, but not always, seen more
often; ratings grow with the months; and six of thirty proteins follow level or pace, blurred, in
the visits at which a sample was taken. A rating is drawn from five values around what the severity
makes of it. The best guess for somebody who knows the severity is written beside the tables: no
model can do better.

A draw draws, besides the people: their numbers, how many are ill and how often they are seen, how
ill and how fast (`Course`), the names of the proteins, which of them tell something, of what, how
much and in which direction.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

PATIENTS, SUPPLEMENTARY = 240, 200
TARGETS = ["updrs_1", "updrs_2", "updrs_3", "updrs_4"]
MEDICATION = "upd23b_clinical_state_on_medication"
HIGHEST_PATIENT = 65_000
ILL = (0.62, 0.68)
OFTEN, OFTEN_OTHERS = (0.71, 0.79), (0.21, 0.29)
"""How many of the ill, and of the others, are seen twice a year."""
LEVEL, PACE = (0.51, 0.59), (0.085, 0.115)
"""How far people differ in severity, and how much it grows in a year, on a logarithmic scale."""
EVERY_YEAR = [0, 12, 24, 36, 48, 60, 72, 84]
HALF_YEARS = [0, 6, 12, 18, 24, 30, 36, 42, 48, 60, 72, 84]
FIRST_QUARTERS = [3, 9]
SUPPLEMENTARY_MONTHS = [0, 6, 12, 24, 36]
MISSED = 0.12

LEVEL_OF_THE_ILL = np.array([6.5, 7.0, 21.0, 1.5])
LEVEL_OF_OTHERS = np.array([3.5, 0.6, 1.5, 0.0])
SPREAD = 0.08
"""How much draws differ in these levels, as the logarithm of a factor."""
NOISE, NOISE_SHARES = np.array([-1.5, -0.7, 0.0, 0.7, 1.5]), np.array([0.1, 0.2, 0.4, 0.2, 0.1])
GUESSES = np.arange(0, 100.5, 0.5)

PROTEINS, TELLING = 30, 6
STRENGTH = (0.48, 0.62)
"""How much of a telling protein is what it tells."""
SAMPLED = {0: 0.9, 6: 0.6, 12: 0.8, 24: 0.8, 36: 0.75, 48: 0.75, 60: 0.6}
SAMPLED_OTHERWISE = 0.1


class Course(NamedTuple):
    """How the disease takes its course in a draw."""

    ill: float
    often: dict[bool, float]
    level: float
    pace: float
    levels: dict[bool, np.ndarray]


def draw_course(rng: np.random.Generator) -> Course:
    factors = rng.lognormal(0, SPREAD, (2, len(TARGETS)))
    return Course(
        ill=rng.uniform(*ILL),
        often={True: rng.uniform(*OFTEN), False: rng.uniform(*OFTEN_OTHERS)},
        level=rng.uniform(*LEVEL),
        pace=rng.uniform(*PACE),
        levels={True: LEVEL_OF_THE_ILL * factors[0], False: LEVEL_OF_OTHERS * factors[1]},
    )


def make(raw: Path, rng: np.random.Generator) -> None:
    course = draw_course(rng)
    numbers = rng.choice(np.arange(1, HIGHEST_PATIENT), PATIENTS + SUPPLEMENTARY, replace=False)
    people = _people(np.sort(numbers[:PATIENTS]), course, rng)
    visits = _visits(people, course, rng)
    clinical, noise_free = _rated(people, visits, course, rng)
    others = _people(np.sort(numbers[PATIENTS:]), course, rng)
    months = [(row, month) for row in range(SUPPLEMENTARY) for month in SUPPLEMENTARY_MONTHS]
    seen = pd.DataFrame(months, columns=["person", "visit_month"])
    seen = seen[(seen["visit_month"] == 0) | (rng.random(len(seen)) > 3 * MISSED)]
    supplement, _ = _rated(others, seen.reset_index(drop=True), course, rng)
    clinical.to_csv(raw / "train_clinical_data.csv", index=False)
    supplement.to_csv(raw / "supplemental_clinical_data.csv", index=False)
    noise_free.to_csv(raw / "noise_free.csv", index=False)
    _proteins(people, visits, course, rng).to_csv(raw / "train_proteins.csv", index=False)


def _people(numbers: np.ndarray, course: Course, rng: np.random.Generator) -> pd.DataFrame:
    ill = rng.random(len(numbers)) < course.ill
    return pd.DataFrame(
        {
            "patient_id": numbers,
            "ill": ill,
            "level": rng.normal(size=len(numbers)),
            "pace": np.where(ill, rng.gamma(2.0, 0.5, len(numbers)), 0.1),
        }
    )


def _visits(people: pd.DataFrame, course: Course, rng: np.random.Generator) -> pd.DataFrame:
    """Whom we see when: by the patient's plan, until he or she drops out."""
    rows = []
    for person, ill in enumerate(people["ill"]):
        months = list(EVERY_YEAR)
        if rng.random() < course.often[bool(ill)]:
            months = sorted(HALF_YEARS + (FIRST_QUARTERS if rng.random() < 0.5 else []))
        last = rng.choice([36, 48, 60, 72, 84])
        kept = [month for month in months if month <= last]
        rows += [(person, month) for month in kept if month == 0 or rng.random() > MISSED]
    return pd.DataFrame(rows, columns=["person", "visit_month"])


def _severity(people: pd.DataFrame, visits: pd.DataFrame, course: Course) -> np.ndarray:
    """On a logarithmic scale, for each visit: 0 is the average at the first one."""
    who = people.iloc[visits["person"]]
    years = visits["visit_month"].to_numpy() / 12
    level, pace = who["level"].to_numpy(), who["pace"].to_numpy()
    return course.level * level + course.pace * pace * years


def _rated(
    people: pd.DataFrame, visits: pd.DataFrame, course: Course, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The clinical table, and the best guesses for its ratings."""
    who = people.iloc[visits["person"]]
    base = np.where(who["ill"].to_numpy()[:, None], course.levels[True], course.levels[False])
    middle = base * np.exp(_severity(people, visits, course))[:, None]
    values = middle[..., None] + (0.6 + 0.25 * middle[..., None]) * NOISE
    values = np.floor(values + 0.5).clip(0, 100)
    drawn = rng.choice(len(NOISE), size=middle.shape, p=NOISE_SHARES)
    ratings = np.take_along_axis(values, drawn[..., None], axis=2)[..., 0]

    patient, month = who["patient_id"].to_numpy(), visits["visit_month"].to_numpy()
    table = pd.DataFrame({"visit_id": [f"{p}_{m}" for p, m in zip(patient, month, strict=True)]})
    table["patient_id"], table["visit_month"] = patient, month
    rated = table.join(pd.DataFrame(ratings.astype(int), columns=TARGETS).astype("Int64"))
    unrated = rng.random(len(table)) < np.where(month < 24, 0.6, 0.15)
    rated.loc[unrated, "updrs_4"] = pd.NA
    state = rng.choice(["On", "Off", ""], len(table), p=[0.4, 0.3, 0.3])
    rated[MEDICATION] = np.where(who["ill"] & (month > 0), state, "")
    return rated, table.join(pd.DataFrame(best_guesses(values), columns=TARGETS))


def best_guesses(values: np.ndarray) -> np.ndarray:
    """The guesses with the least expected error when each rating is one of five values."""
    best = np.empty(values.shape[:2])
    for target in range(values.shape[1]):
        actual = values[:, target, None, :]
        guess = GUESSES[None, :, None]
        errors = np.abs(guess - actual) / ((guess + actual) / 2 + 1) @ NOISE_SHARES
        best[:, target] = GUESSES[errors.round(9).argmin(axis=1)]
    return best


def _proteins(
    people: pd.DataFrame, visits: pd.DataFrame, course: Course, rng: np.random.Generator
) -> pd.DataFrame:
    """Samples of some visits; a few proteins follow severity or pace, upwards or downwards."""
    month = visits["visit_month"].to_numpy()
    chance = pd.Series(month).map(SAMPLED).fillna(SAMPLED_OTHERWISE).to_numpy()
    sampled = visits[rng.random(len(visits)) < chance].reset_index(drop=True)
    who = people.iloc[sampled["person"]]
    severity = _severity(people, sampled, course) / course.level
    severity += 1.2 * (who["ill"].to_numpy() - course.ill)
    own = rng.normal(size=(len(people), PROTEINS))[sampled["person"]]
    levels = 0.5 * own + 0.5 * rng.normal(size=own.shape)
    for protein in range(TELLING):
        told = severity if protein % 3 else who["pace"].to_numpy() - 0.7
        levels[:, protein] += rng.choice([-1, 1]) * rng.uniform(*STRENGTH) * told
    amount = 10 ** (rng.uniform(3.5, 6, PROTEINS) + 0.15 * levels)
    order = rng.permutation(PROTEINS)
    names = np.array([f"P{number:05d}" for number in rng.choice(99_999, PROTEINS, replace=False)])
    patient = who["patient_id"].to_numpy()
    ids = [f"{p}_{m}" for p, m in zip(patient, sampled["visit_month"], strict=True)]
    table = pd.DataFrame(
        {
            "visit_id": np.repeat(ids, PROTEINS),
            "visit_month": np.repeat(sampled["visit_month"].to_numpy(), PROTEINS),
            "patient_id": np.repeat(patient, PROTEINS),
            "UniProt": np.tile(names, len(sampled)),
            "NPX": [f"{value:.6g}" for value in amount[:, order].ravel()],
        }
    )
    return table[rng.random(len(table)) > 0.05]
