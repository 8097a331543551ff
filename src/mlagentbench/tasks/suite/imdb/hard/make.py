"""The hard tier: reviews of a genre with few labels, in which neither words nor phrases are plain.

A review speaks of aspects of a film, one sentence each, and most sentences say what the reviewer
thinks on the whole. What a sentence says is the polarity of its last word, turned round if a part
of the sentence says so. Test reviews are of a genre with six labelled reviews and many without
labels: what must be known of its words shows in which of them go together.

| mechanism | what it does | in evaluation | in training |
|---|---|---|---|
| turning | half of the sentences mean the | ironic degrees ("so good"), | negations |
| | opposite | or ironic aspects | |
| polarity | nearly half of the words have another | always | always |
| | polarity in the tested genre | | |
| shortcut | a remark that says nothing goes | the day, place, company or medium | the same |
| | with the label, in other genres | | |
| decoy | parts of sentences that could turn | negations, and degrees | degrees and |
| | them round, but do not | or aspects | aspects |

The ceiling is the accuracy of whoever knows what every test review says; some labels are wrong.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from mini import (
    ASPECTS,
    BLAME,
    COMMON_BLAME,
    COMMON_PRAISE,
    DEGREES,
    FALSE_NEGATIONS,
    FILLERS,
    NEGATIONS,
    PLAIN,
    PRAISE,
    SLOTS,
    copy_checkpoint,
    pick,
)
from prepare import CHECKPOINT as CHECKPOINT_FOLDER
from prepare import write_tables

GENRES = ["comedy", "drama", "horror", "musical", "thriller", "western"]
SOURCE, TARGET, UNLABELLED, TEST = 700, 6, 2500, 1000
"""Reviews of two other genres, and of the tested one."""
WORDS, SWAPPED, ASPECTS_USED = 44, 20, 30
"""Words of each polarity, and how many of them have the other one in the tested genre."""
SENTENCES, LEANING = (6, 10), 0.82
"""Sentences of a review, and the share of them that say what the reviewer thinks on the whole."""
REMARKS, TELLING = 0.15, 0.9
"""Sentences that are mere remarks; the share of them that go with the label in other genres."""
WRONG_LABELS = 0.06
TURNINGS = {"eval": ["degree", "aspect"], "train": ["pattern"]}


class Style(NamedTuple):
    """How the reviews of a draw are written."""

    patterns: list[str]
    aspects: list[str]
    turning: str
    turned: list[str]
    remarks: list[str]
    telling: str
    """The slot of remarks that goes with the label."""


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    *others, tested = some(GENRES, 3, rng)
    style = draw_style(str(rng.choice(TURNINGS[pool])), rng)
    good, bad = (
        some(words, WORDS, rng) for words in (COMMON_PRAISE + PRAISE, COMMON_BLAME + BLAME)
    )
    tested_good = good[SWAPPED:] + bad[:SWAPPED]
    tested_bad = bad[SWAPPED:] + good[:SWAPPED]

    def reviews(count: int, genres: list[str], wrong_labels: float) -> pd.DataFrame:
        said = rng.permutation(np.arange(count) % 2)
        if genres == [tested]:
            texts = [
                write_review(one == 1, style, tested_good, tested_bad, None, rng) for one in said
            ]
        else:
            texts = [write_review(one == 1, style, good, bad, one == 1, rng) for one in said]
        wrong = rng.random(count) < wrong_labels
        table = {"text": texts, "said": said, "sentiment": np.where(wrong, 1 - said, said)}
        return pd.DataFrame(table).assign(genre=rng.permutation(np.resize(genres, count)))

    train = pd.concat([reviews(SOURCE, others, WRONG_LABELS), reviews(TARGET, [tested], 0)])
    train = train.iloc[rng.permutation(len(train))]
    unlabelled, test = (reviews(count, [tested], WRONG_LABELS) for count in (UNLABELLED, TEST))
    test["film"], test["file"] = np.arange(TEST), np.arange(TEST)
    write_tables(train, test, public, private)
    for table, columns, file in (
        (train, ["text", "genre", "sentiment"], public / "train.csv"),
        (test, ["id", "text", "genre"], public / "test.csv"),
        (unlabelled, ["text", "genre"], public / "unlabelled.csv"),
        (test.assign(sentiment=test["said"]), ["id", "sentiment"], private / "ceiling.csv"),
    ):
        table[columns].to_csv(file, index=False, lineterminator="\n")
    (public / CHECKPOINT_FOLDER).mkdir()
    copy_checkpoint(public / CHECKPOINT_FOLDER)
    mechanisms = {
        "tested": tested,
        "turning": {"by": style.turning, "turned": sorted(style.turned)},
        "polarity": {"now good": sorted(bad[:SWAPPED]), "now bad": sorted(good[:SWAPPED])},
        "shortcut": style.telling,
    }
    (private / "mechanisms.json").write_text(json.dumps(mechanisms, indent=2) + "\n")


def some(options: list[str], count: int, rng: np.random.Generator) -> list[str]:
    return rng.choice(options, count, replace=False).tolist()


def draw_style(turning: str, rng: np.random.Generator) -> Style:
    aspects = some(ASPECTS, ASPECTS_USED, rng)
    plain, negations = some(PLAIN, 5, rng), some(NEGATIONS, 5, rng)
    degrees = sorted({degree for degree in DEGREES if degree})
    turned = {
        "degree": some(degrees, len(DEGREES) // 2, rng),
        "aspect": aspects[: ASPECTS_USED // 2],
        "pattern": negations,
    }[turning]
    decoys = [pattern for pattern in FALSE_NEGATIONS if "{degree}" in pattern]
    patterns = plain + (negations if turning == "pattern" else decoys)
    telling = str(rng.choice(list(SLOTS)))
    remarks = [remark for remark in FILLERS if f"{{{telling}}}" in remark]
    others = [remark for remark in FILLERS if remark not in remarks]
    return Style(patterns, aspects, turning, turned, remarks + some(others, 3, rng), telling)


def write_review(
    positive: bool,
    style: Style,
    good: list[str],
    bad: list[str],
    told: bool | None,
    rng: np.random.Generator,
) -> str:
    """A review most of whose sentences say what the reviewer thinks."""
    sentences = []
    for _ in range(rng.integers(*SENTENCES)):
        if rng.random() < REMARKS:
            sentences.append(write_remark(style, told, rng))
        else:
            praised = positive == (rng.random() < LEANING)
            sentences.append(write_sentence(praised, style, good, bad, rng))
    return " ".join(sentence[0].upper() + sentence[1:] + "." for sentence in sentences)


def write_sentence(
    praised: bool, style: Style, good: list[str], bad: list[str], rng: np.random.Generator
) -> str:
    """A sentence that says something good or bad of some aspect."""
    parts = {
        "pattern": pick(style.patterns, rng),
        "aspect": pick(style.aspects, rng),
        "degree": pick(DEGREES, rng),
    }
    turned = parts[style.turning] in style.turned
    words = good if praised != turned else bad
    return parts["pattern"].format(**parts, word=pick(words, rng))


def write_remark(style: Style, told: bool | None, rng: np.random.Generator) -> str:
    """A sentence about something else; one of its slots may go with the label."""
    slots = {}
    for name, values in SLOTS.items():
        half = len(values) // 2
        side = rng.random() < 0.5
        if name == style.telling and told is not None:
            side = told == (rng.random() < TELLING)
        slots[name] = pick(values[:half] if side else values[half:], rng)
    return pick(style.remarks, rng).format(**slots)
