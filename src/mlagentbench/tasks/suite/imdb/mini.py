"""The mini tier: invented reviews in the official layout, and a tiny checkpoint to fine-tune.

A review speaks of aspects of a film, one clause each. What a clause says is its word's polarity,
turned round by a negation in a good third of them; some of the others have words of negation that
turn nothing round. The sign of the sum is the sentiment, and a share of the labels is wrong. So
counting words tells a part of it; who reads the clauses knows the rest.

The checkpoint was trained by pretrain.py, once: on reviews of this kind, without labels.
"""

import hashlib
from pathlib import Path

import numpy as np

TRAIN, TEST = 2000, 1000
WRONG_LABELS = 0.08
NEGATED = 0.35
DECOYS = 0.2
LEANING = 0.8
"""How many clauses say what the reviewer thinks on the whole."""
FILLER_SHARE = 0.08
LEAST_MARGIN = 3
WORDS = (60, 90)
REVIEWS_PER_FILM = 5
FIRST_FILM = {"train": 1_000_000, "test": 2_000_000}
CHECKPOINT = {
    "config.json": "9ecd221e2129c22c6c0255078d5639a521f7a7c9037326ca5ba3112ead0613da",
    "model.safetensors": "436cd7b2a969f7be7ee1d3eced5a15e68f928f3c856d900af2b0d562d5c0b0d6",
    "tokenizer.json": "9d2a11853fa8f7f3a071f6e62fc5e752a41045c0863e356d8b47512a13d8065a",
    "tokenizer_config.json": "8f84bed9d16ae735abc9a3cde24548fe2e233c3af2d9950b847115571cde370d",
    "vocab.txt": "47b7ce08c47d0e7689bab51e9c50d2aa69371f3081725e59048f8371fd2ceaee",
}
"""The files of checkpoint/ by their sha256: data are made anew when the checkpoint changes."""

ASPECTS = [
    "acting", "plot", "story", "script", "dialogue", "music", "score", "soundtrack", "camerawork",
    "lighting", "editing", "pacing", "ending", "opening", "direction", "cast", "hero", "villain",
    "heroine", "wardrobe", "scenery", "humour", "suspense", "romance", "atmosphere",
    "cinematography", "choreography", "narration", "premise", "setting", "climax", "twist",
    "finale", "animation", "photography", "makeup",
]  # fmt: skip

POSITIVE = [
    "good", "excellent", "wonderful", "superb", "brilliant", "amazing", "fantastic", "beautiful",
    "lovely", "enjoyable", "impressive", "memorable", "charming", "delightful", "clever",
    "gripping", "moving", "powerful", "funny", "fresh", "outstanding", "stunning", "witty",
    "inspired",
]  # fmt: skip

NEGATIVE = [
    "bad", "terrible", "awful", "horrible", "boring", "dull", "poor", "stupid", "silly",
    "predictable", "pathetic", "lame", "cheap", "clumsy", "tedious", "forgettable", "bland",
    "lifeless", "wooden", "messy", "pointless", "sloppy", "shallow", "amateurish",
]  # fmt: skip

DEGREES = ["", "", "very ", "really ", "quite ", "rather ", "truly ", "so "]

PLAIN = [
    "the {aspect} was {degree}{word}",
    "the {aspect} seemed {degree}{word}",
    "I found the {aspect} {degree}{word}",
    "for me the {aspect} was {degree}{word}",
]
NEGATIONS = [
    "the {aspect} was not {degree}{word}",
    "the {aspect} never seemed {degree}{word}",
    "the {aspect} was hardly {degree}{word}",
    "I never found the {aspect} {degree}{word}",
]
FALSE_NEGATIONS = [
    "the {aspect} was not only {degree}{word}",
    "the {aspect} was never less than {degree}{word}",
    "the {aspect} was hardly short of {word}",
]
FILLERS = [
    "I saw it on a {day} with {who}",
    "a friend lent me the {medium}",
    "it was shot in {place}",
    "{who} had read the book before",
    "I had not heard of the director",
    "never mind the poster",
]
SLOTS = {
    "day": ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
    "who": ["my sister", "my brother", "two friends", "my wife", "my husband", "the children"],
    "medium": ["tape", "disc", "film", "movie"],
    "place": ["london", "paris", "rome", "tokyo", "canada", "mexico", "ireland", "texas"],
}


def make(raw: Path, rng: np.random.Generator) -> None:
    truths = []
    for part, count in (("train", TRAIN), ("test", TEST)):
        folder = raw / "aclImdb" / part
        for name in ("pos", "neg"):
            truths += write_reviews(folder, name, count // 2, rng)
    lines = ["file,sentiment", *(f"{file},{int(positive)}" for file, positive in truths)]
    (raw / "noise_free.csv").write_text("\n".join(lines) + "\n")
    copy_checkpoint(raw)


def write_reviews(
    folder: Path, name: str, count: int, rng: np.random.Generator
) -> list[tuple[str, bool]]:
    """One official folder with its list of films; returns what is really said in each file."""
    (folder / name).mkdir(parents=True)
    truths, urls = [], []
    ratings = (7, 10) if name == "pos" else (1, 4)
    for number in range(count):
        positive = (name == "pos") != (rng.random() < WRONG_LABELS)
        file = f"{name}/{number}_{rng.integers(ratings[0], ratings[1] + 1)}.txt"
        (folder / file).write_text(write_review(positive, rng))
        truths.append((f"{folder.name}/{file}", positive))
        film = FIRST_FILM[folder.name] + rng.integers(2 * count // REVIEWS_PER_FILM)
        urls.append(f"http://www.imdb.com/title/tt{film:07d}/usercomments")
    (folder / f"urls_{name}.txt").write_text("\n".join(urls) + "\n")
    return truths


def copy_checkpoint(raw: Path) -> None:
    for name, expected in CHECKPOINT.items():
        contents = (Path(__file__).with_name("checkpoint") / name).read_bytes()
        found = hashlib.sha256(contents).hexdigest()
        if found != expected:
            raise ValueError(f"checkpoint/{name} is another file: sha256 {found}")
        (raw / name).write_bytes(contents)


def write_review(positive: bool, rng: np.random.Generator) -> str:
    """A review of the right length that is clearly positive, or clearly negative, on the whole."""
    leaning = 1 if positive else -1
    while True:
        sentences, total = [], 0
        length = WORDS[0] + (WORDS[1] - 10 - WORDS[0]) * rng.random()
        while sum(sentence.count(" ") + 1 for sentence in sentences) < length:
            sentence, said = write_sentence(leaning, rng)
            sentences.append(sentence)
            total += said
        text = " ".join(sentence[0].upper() + sentence[1:] + "." for sentence in sentences)
        if total * leaning >= LEAST_MARGIN and text.count(" ") < WORDS[1]:
            return text


def write_sentence(leaning: int, rng: np.random.Generator) -> tuple[str, int]:
    """A sentence, and what it adds to the sum."""
    if rng.random() < FILLER_SHARE:
        slots = {name: pick(values, rng) for name, values in SLOTS.items()}
        return pick(FILLERS, rng).format(**slots), 0
    said = leaning if rng.random() < LEANING else -leaning
    return write_clause(said, rng), said


def write_clause(said: int, rng: np.random.Generator) -> str:
    """A clause that says something good (1) or bad (-1) of some aspect."""
    kind = rng.random()
    if kind < NEGATED:
        pattern, polarity = pick(NEGATIONS, rng), -said
    else:
        patterns = FALSE_NEGATIONS if kind < NEGATED + DECOYS else PLAIN
        pattern, polarity = pick(patterns, rng), said
    words = POSITIVE if polarity > 0 else NEGATIVE
    return pattern.format(
        aspect=pick(ASPECTS, rng), degree=pick(DEGREES, rng), word=pick(words, rng)
    )


def pick(values: list[str], rng: np.random.Generator) -> str:
    return values[int(rng.random() * len(values))]
