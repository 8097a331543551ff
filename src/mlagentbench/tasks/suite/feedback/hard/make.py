"""Writes essays with six skills each, and lets eight raters rate them, each in a way of their own.

Most training essays have one reading by one rater. 16 were also rated by a panel, as all of the
test essays were: the panel's ratings are the skills, slightly blurred. Each topic has two main
raters. A rater has a mean and a scale of their own, and, as the draw decides:

| mechanism | eval                        | train              | what it does                     |
|-----------|-----------------------------|--------------------|----------------------------------|
| unit      | the form, or the term       | none               | a rater's order and signs differ |
|           |                             |                    | by it; the other is a decoy      |
| order     | three swaps, or two cycles, | a rotation, for    | a rater's columns hold the other |
|           | for seven of eight          | seven of eight     | skills' ratings                  |
| sign      | two or three columns each   | three columns each | 1 is best in some columns        |
| careless  | none, or one rater          | two raters         | rates how long the essay is      |

The ceiling knows the skills, not the panel's ratings themselves.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from mini import RATING_PER_SKILL, TARGETS, Writer, draw_wording
from prepare import ID, TEXT, _new_ids, _sample, _write, _write_answers

TRAIN, PANEL, TEST = 1280, 16, 600
RATERS = [f"R{number}" for number in range(1, 9)]
UNITS = {"form": ["a", "b"], "term": ["autumn", "spring"]}
PANEL_NAME = "panel"
SHARED = 0.2
"""How much of a skill's variance is a general one, common to all six."""
MEAN, BIAS, SCALE = 3.05, 0.8, (0.75, 1.25)
RATER_NOISE, PANEL_NOISE, CARELESS_NOISE = 0.3, 0.18, 0.25
SHOWING = (1.6, 1.8)
MAIN_RATERS = 0.8
READINGS_OF_A_PANEL_ESSAY = 2


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    count = TRAIN + PANEL + TEST
    width = len(TARGETS)
    skills = SHARED**0.5 * rng.normal(size=(count, 1))
    skills = skills + (1 - SHARED) ** 0.5 * rng.normal(size=(count, width))
    texts, topics = _essays(skills, rng)
    lengths = np.log([len(text.split()) for text in texts])
    lengths = (lengths - lengths.mean()) / lengths.std()
    truth = (MEAN + RATING_PER_SKILL * skills).clip(1, 5)
    panel = _on_the_grid(truth + rng.normal(0, PANEL_NOISE, truth.shape))

    unit = rng.permutation(list(UNITS))[0].item() if pool == "eval" else None
    raters = _raters(pool, unit, rng)
    essays = pd.DataFrame({ID: _new_ids(count, rng), TEXT: texts})
    main = np.resize(rng.permutation(RATERS), (2, topics.max() + 1))
    readings = [*range(TRAIN), *np.repeat(range(TRAIN, TRAIN + PANEL), READINGS_OF_A_PANEL_ESSAY)]
    rows = [(essay, PANEL_NAME) for essay in range(TRAIN, TRAIN + PANEL)]
    for essay in readings:
        anyone = essay >= TRAIN or rng.random() > MAIN_RATERS
        rows.append((essay, rng.choice(RATERS if anyone else main[:, topics[essay]])))
    rows = [rows[place] for place in rng.permutation(len(rows))]
    train = essays.iloc[[essay for essay, _ in rows]].reset_index(drop=True)
    train["rater"] = [rater for _, rater in rows]
    for name, values in UNITS.items():
        train[name] = rng.choice(values, len(train))
    ratings = []
    for row, (essay, rater) in enumerate(rows):
        if rater == PANEL_NAME:
            ratings.append(panel[essay])
        else:
            way = raters[rater + (f" {train[unit][row]}" if unit else "")]
            ratings.append(_rating(way, skills[essay], lengths[essay], rng))
    train[TARGETS] = np.stack(ratings)

    tested = essays[TRAIN + PANEL :].reset_index(drop=True)
    test = tested.join(pd.DataFrame(panel[TRAIN + PANEL :], columns=TARGETS))
    _write(train, public / "train.csv")
    _write(test[[ID, TEXT]], public / "test.csv")
    _write(_sample(test), public / "sample_submission.csv")
    _write_answers(test, train, private)
    known = pd.DataFrame(truth[TRAIN + PANEL :].round(3), columns=TARGETS)
    _write(tested[[ID]].join(known), private / "ceiling.csv")
    facts = {"unit": unit, "raters": raters}
    (private / "mechanisms.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _essays(skills: np.ndarray, rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """The texts, and the number of each one's topic."""
    wording = draw_wording(rng)
    shown = skills * rng.uniform(*SHOWING, len(TARGETS))
    texts, topics = [], []
    for row in shown:
        writer = Writer(dict(zip(TARGETS, row, strict=True)), wording, rng)
        topics.append(next(k for k, nouns in enumerate(wording.topics) if nouns is writer.nouns))
        texts.append(writer.essay())
    return texts, np.array(topics)


def _raters(pool: str, unit: str | None, rng: np.random.Generator) -> dict[str, dict]:
    """How each rater rates: which skill each column holds, its sign, the means and the scale.

    A rater who rates differently from unit to unit is there once for each.
    """
    careless = rng.permutation(RATERS)[: 2 if pool == "train" else rng.integers(2)]
    biases = BIAS * rng.permutation(np.linspace(-1, 1, len(RATERS)))
    found = {}
    for rater, bias in zip(RATERS, biases, strict=True):
        habits = {
            "careless": bool(rater in careless),
            "bias": (bias + rng.normal(0, 0.15, len(TARGETS))).round(3).tolist(),
            "scale": round(rng.uniform(*SCALE), 3),
        }
        for name in [f"{rater} {value}" for value in UNITS[unit]] if unit else [rater]:
            turned = rng.permutation(TARGETS)[: 3 if pool == "train" else rng.integers(2, 4)]
            found[name] = habits | {
                "holds": dict(zip(TARGETS, _order(pool, rng), strict=True)),
                "sign": {target: -1 if target in turned else 1 for target in TARGETS},
            }
    for name in rng.permutation(list(found))[: len(found) // len(RATERS)]:
        found[name]["holds"] = dict(zip(TARGETS, TARGETS, strict=True))
    return found


def _order(pool: str, rng: np.random.Generator) -> list[str]:
    """The skills that a rater's columns hold: never their own."""
    if pool == "train":
        return np.roll(TARGETS, rng.integers(1, len(TARGETS))).tolist()
    names = list(TARGETS)
    for cycle in rng.permutation(len(names)).reshape((3, 2) if rng.random() < 0.5 else (2, 3)):
        for place, source in zip(cycle, np.roll(cycle, 1), strict=True):
            names[place] = TARGETS[source]
    return names


def _rating(rater: dict, skills: np.ndarray, length: float, rng: np.random.Generator) -> np.ndarray:
    if rater["careless"]:
        seen = length + rng.normal(0, CARELESS_NOISE / RATING_PER_SKILL, len(skills))
    else:
        held = [TARGETS.index(rater["holds"][name]) for name in TARGETS]
        seen = skills[held] * [rater["sign"][name] for name in TARGETS]
        seen = seen + rng.normal(0, RATER_NOISE / RATING_PER_SKILL, len(skills))
    return _on_the_grid(MEAN + np.array(rater["bias"]) + rater["scale"] * RATING_PER_SKILL * seen)


def _on_the_grid(ratings: np.ndarray) -> np.ndarray:
    return (np.round(2 * ratings) / 2).clip(1, 5)
