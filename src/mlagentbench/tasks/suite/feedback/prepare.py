"""Splits the rated essays at random into a public training part and a private test part.

Essays are shuffled and every text_id is replaced: the official ones are public, and so are the
ratings that belong to them. Texts and ratings are copied as they are.
"""

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from mlagentbench_task import Findings, read_table

ID, TEXT = "text_id", "full_text"
TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
OFFICIAL_ROWS = 3_911
RATINGS = (1.0, 5.0)
TEST_SHARE = 0.20
HELD_SHARE = 0.20
TESTED_AGAIN = 0.50
"""In another split, the share of the given test essays that are for testing."""
MIDDLE = 3.0
"""The rating in the sample submission: the middle of the scale."""
SEQUENCE = 8
"""So many words in a row, in two essays, are no chance."""
COPIED_SHARE = 0.5
"""An essay that shares so much of its word sequences with a training essay counts as its copy."""


def prepare(raw: Path, public: Path, private: Path, rng: np.random.Generator) -> None:
    essays = _read(raw / "train.csv")
    mapping = pd.DataFrame({ID: new_ids(len(essays), rng), "original": essays[ID]})
    essays[ID] = mapping[ID]
    test, train = _split(essays, TEST_SHARE, rng)

    _write_public(test, train, public)
    write_answers(test, train, private)
    part = np.where(mapping[ID].isin(test[ID]), "test", "train")
    write_table(mapping.assign(part=part), private / "mapping.csv")
    if (raw / "noise_free.csv").is_file():
        noise_free = _read(raw / "noise_free.csv").set_index(ID)[TARGETS]
        known = noise_free.loc[mapping["original"][test.index]].reset_index(drop=True)
        known.insert(0, ID, test[ID].array)
        write_table(known, private / "ceiling.csv")


def check_raw(raw: Path) -> Findings:
    """What is different from the official table of essays with their ratings."""
    findings = Findings()
    columns = [ID, TEXT, *TARGETS]
    essays = findings.read_columns(raw / "train.csv", columns, OFFICIAL_ROWS, ids=[ID])
    empty = sum(not text.strip() for text in essays.get(TEXT, []))
    findings.expect(f"empty cells in {TEXT}", empty, 0)
    for target in TARGETS:
        findings.check_numbers(target, essays.get(target, []), *RATINGS)
    return findings


def resplit(
    raw: Path, given_public: Path, given_private: Path,
    public: Path, private: Path, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Another split: of the given test essays one half is for testing, the other for training."""
    train, test = (_read(given_public / f"{part}.csv") for part in ("train", "test"))
    answers = pd.DataFrame(read_table(given_private / "answers.csv", [ID, *TARGETS]))
    test = test.merge(answers, on=ID)[list(train.columns)]
    essays = pd.concat([test, train], ignore_index=True)
    essays[ID] = rng.permutation(essays[ID].to_numpy())
    test, others = _split(essays[: len(test)], TESTED_AGAIN, rng)
    train = pd.concat([essays[len(test) + len(others) :], others])
    train = train.iloc[rng.permutation(len(train))]

    _write_public(test, train, public)
    write_answers(test, train, private)


def hold_out(public: Path, held_public: Path, held_private: Path, rng: np.random.Generator) -> None:
    """Hold a part of the training essays back, to be asked for a score on it during a run."""
    held, train = _split(_read(public / "train.csv"), HELD_SHARE, rng)
    for file in sorted(public.iterdir()):
        if file.name != "train.csv":
            shutil.copyfile(file, held_public / file.name)
    write_table(train, held_public / "train.csv")
    write_table(held[[ID, TEXT]], held_public / "validation.csv")
    write_table(sample(held), held_public / "validation_sample_submission.csv")
    write_answers(held, train, held_private)


def copies(texts: list[str], known_texts: list[str]) -> list[bool]:
    """Which texts are, for the most part, also in one of the known ones."""
    holders: dict[tuple[str, ...], list[int]] = {}
    for number, text in enumerate(known_texts):
        for sequence in _sequences(text):
            holders.setdefault(sequence, []).append(number)
    found = []
    for text in texts:
        own = _sequences(text)
        shared = np.zeros(len(known_texts), dtype=int)
        for sequence in own:
            shared[holders.get(sequence, [])] += 1
        found.append(bool(shared.max(initial=0) >= COPIED_SHARE * len(own)))
    return found


def _sequences(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[k : k + SEQUENCE]) for k in range(max(1, len(words) - SEQUENCE + 1))}


def new_ids(count: int, rng: np.random.Generator) -> list[str]:
    """Random ids in the official form: twelve hexadecimal digits."""
    numbers: dict[int, None] = {}
    while len(numbers) < count:
        numbers[int(rng.integers(16**12))] = None
    return [f"{number:012X}" for number in numbers]


def _split(
    essays: pd.DataFrame, share: float, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A random `share` of the essays, and the rest, both shuffled."""
    order = rng.permutation(len(essays))
    n_chosen = round(share * len(essays))
    return essays.iloc[order[:n_chosen]], essays.iloc[order[n_chosen:]]


def _write_public(test: pd.DataFrame, train: pd.DataFrame, public: Path) -> None:
    write_table(train, public / "train.csv")
    write_table(test[[ID, TEXT]], public / "test.csv")
    write_table(sample(test), public / "sample_submission.csv")


def write_answers(test: pd.DataFrame, train: pd.DataFrame, private: Path) -> None:
    write_table(test[[ID, *TARGETS]], private / "answers.csv")
    write_table(test.loc[copies(list(test[TEXT]), list(train[TEXT])), [ID]], private / "copies.csv")


def sample(essays: pd.DataFrame) -> pd.DataFrame:
    return essays[[ID]].assign(**dict.fromkeys(TARGETS, MIDDLE))


def _read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, dtype=str, keep_default_na=False).astype(object)


def write_table(table: pd.DataFrame, file: Path) -> None:
    table.to_csv(file, index=False, lineterminator="\n")
