"""Writes essays with six skills each, and lets eight raters rate them, each in a way of their own.

Most training essays have one reading by one rater. 24 were also rated by a panel, as all of the
test essays were: the panel's ratings are the skills, slightly blurred. Each topic has two main
raters. A rater has a mean and a scale of their own, and, as the draw decides:

| mechanism | eval                        | train              | what it does                     |
|-----------|-----------------------------|--------------------|----------------------------------|
| order     | three swaps, or two cycles, | a rotation, for    | a rater's columns hold the other |
|           | for seven of eight          | seven of eight     | skills' ratings                  |
| sign      | two or three columns each   | three columns each | 1 is best in some columns        |
| careless  | none, or one rater          | two raters         | rates how long the essay is      |
| minutes   | present, or absent          | present            | a decoy: longer for one's topics |

The ceiling knows the skills, not the panel's ratings themselves.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from mini import RATING_PER_SKILL, TARGETS, Writer, draw_wording
from prepare import ID, TEXT, _new_ids, _sample, _write, _write_answers

TRAIN, PANEL, TEST = 1200, 24, 600
RATERS = [f"R{number}" for number in range(1, 9)]
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

    raters = _raters(pool, rng)
    asked = rng.integers(2) == 1 or pool == "train"
    essays = pd.DataFrame({ID: _new_ids(count, rng), TEXT: texts})
    main = np.resize(rng.permutation(len(RATERS)), (2, topics.max() + 1))
    readings = np.concatenate([np.arange(TRAIN + PANEL)] + [
        np.arange(TRAIN, TRAIN + PANEL)] * (READINGS_OF_A_PANEL_ESSAY - 1))  # fmt: skip
    rows = []
    for essay in readings:
        chosen = main[rng.integers(2), topics[essay]]
        if rng.random() > MAIN_RATERS or essay >= TRAIN:
            chosen = rng.integers(len(RATERS))
        rating = _rating(raters[RATERS[chosen]], skills[essay], lengths[essay], rng)
        at_home = asked and chosen in main[:, topics[essay]]
        minutes = max(3, round(rng.normal(11 if at_home else 8, 2)))
        rows.append((essay, RATERS[chosen], minutes, rating))
    rows += [
        (essay, PANEL_NAME, max(5, round(rng.normal(25, 4))), panel[essay])
        for essay in range(TRAIN, TRAIN + PANEL)
    ]
    rows = [rows[place] for place in rng.permutation(len(rows))]
    train = essays.iloc[[row[0] for row in rows]].reset_index(drop=True)
    train["rater"], train["minutes"] = [row[1] for row in rows], [row[2] for row in rows]
    train[TARGETS] = np.stack([row[3] for row in rows])

    tested = essays[TRAIN + PANEL :].reset_index(drop=True)
    test = tested.join(pd.DataFrame(panel[TRAIN + PANEL :], columns=TARGETS))
    _write(train, public / "train.csv")
    _write(test[[ID, TEXT]], public / "test.csv")
    _write(_sample(test), public / "sample_submission.csv")
    _write_answers(test, train, private)
    known = pd.DataFrame(truth[TRAIN + PANEL :].round(3), columns=TARGETS)
    _write(tested[[ID]].join(known), private / "ceiling.csv")
    facts = {"raters": raters, "minutes_tell_the_main_rater": bool(asked)}
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


def _raters(pool: str, rng: np.random.Generator) -> dict[str, dict]:
    """How each rater rates: which skill each column holds, its sign, the means and the scale."""
    careless = rng.permutation(RATERS)[: 2 if pool == "train" else rng.integers(2)]
    orderly = rng.permutation(RATERS)[0]
    biases = BIAS * rng.permutation(np.linspace(-1, 1, len(RATERS)))
    found = {}
    for rater, bias in zip(RATERS, biases, strict=True):
        reversed_columns = rng.permutation(TARGETS)[: 3 if pool == "train" else rng.integers(2, 4)]
        found[rater] = {
            "careless": bool(rater in careless),
            "holds": dict(
                zip(TARGETS, list(TARGETS) if rater == orderly else _order(pool, rng), strict=True)
            ),
            "sign": {name: -1 if name in reversed_columns else 1 for name in TARGETS},
            "bias": (bias + rng.normal(0, 0.15, len(TARGETS))).round(3).tolist(),
            "scale": round(rng.uniform(*SCALE), 3),
        }
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
