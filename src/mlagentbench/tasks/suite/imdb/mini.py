"""The mini tier: invented reviews in the official layout, and a tiny checkpoint to fine-tune.

A review speaks of aspects of a film, one clause each. What a clause says is its word's polarity,
turned round by a negation in a good third of them; some of the others have words of negation that
turn nothing round. The sign of the sum is the sentiment, and a share of the labels is wrong. So
counting words tells a part of it; who reads the clauses knows the rest.

A draw draws, besides the reviews, what they are written with (`Wording`): about half of all words
of praise and blame, aspects and patterns of clauses. The words that the starter knows make up a
third.

The checkpoint was trained by pretrain.py, once: on reviews of this kind, with all of these words,
without labels.
"""

import hashlib
from pathlib import Path
from typing import NamedTuple

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
CHECKPOINT = {
    "config.json": "4df577b8877a0594f387bc3c316bf7471593356033650808d9e4a2799212babf",
    "model.safetensors": "da0d12e5a208a4b2529786ca3a52cc24348121e7bad32b21ab10e37baa977a16",
    "tokenizer.json": "0b705bd989cee431cca03e8c14bc36e27a05cd5ce6697a1eea874f9c09eb7a7f",
    "tokenizer_config.json": "8f84bed9d16ae735abc9a3cde24548fe2e233c3af2d9950b847115571cde370d",
    "vocab.txt": "199630785310ec99bb63705004e53d36a973f8453a10f430331102ae4bf368d9",
}
"""The files of checkpoint/ by their sha256: data are made anew when the checkpoint changes."""

ASPECTS = [
    "acting", "plot", "story", "script", "dialogue", "music", "score", "soundtrack", "camerawork",
    "lighting", "editing", "pacing", "ending", "opening", "direction", "cast", "hero", "villain",
    "heroine", "wardrobe", "scenery", "humour", "suspense", "romance", "atmosphere",
    "cinematography", "choreography", "narration", "premise", "setting", "climax", "twist",
    "finale", "animation", "photography", "makeup", "title", "casting", "tone", "imagery",
    "prologue", "epilogue", "costumes", "stunts",
]  # fmt: skip

COMMON_PRAISE = [
    "good", "excellent", "wonderful", "superb", "brilliant", "amazing", "fantastic", "beautiful",
    "enjoyable", "great", "perfect",
]  # fmt: skip
PRAISE = [
    "lovely", "impressive", "memorable", "charming", "delightful", "clever", "gripping", "moving",
    "powerful", "funny", "fresh", "outstanding", "stunning", "witty", "inspired", "splendid",
    "magnificent", "touching", "engaging", "captivating", "dazzling", "heartfelt", "terrific",
    "graceful", "riveting", "thrilling", "elegant", "sublime", "masterful", "exquisite",
    "compelling", "refreshing", "rewarding", "lively",
]  # fmt: skip
COMMON_BLAME = [
    "bad", "terrible", "awful", "horrible", "boring", "dull", "poor", "stupid", "annoying",
    "disappointing", "weak",
]  # fmt: skip
BLAME = [
    "silly", "predictable", "pathetic", "lame", "cheap", "clumsy", "tedious", "forgettable",
    "bland", "lifeless", "wooden", "messy", "pointless", "sloppy", "shallow", "amateurish",
    "dreadful", "tiresome", "ridiculous", "incoherent", "lousy", "dreary", "laughable", "vapid",
    "contrived", "muddled", "plodding", "stale", "hollow", "grating", "insipid", "flimsy",
    "cheesy", "irritating",
]  # fmt: skip

DEGREES = ["", "", "very ", "really ", "quite ", "rather ", "truly ", "so "]

PLAIN = [
    "the {aspect} was {degree}{word}",
    "the {aspect} seemed {degree}{word}",
    "I found the {aspect} {degree}{word}",
    "for me the {aspect} was {degree}{word}",
    "the {aspect} felt {degree}{word}",
    "we thought the {aspect} {degree}{word}",
]
NEGATIONS = [
    "the {aspect} was not {degree}{word}",
    "the {aspect} never seemed {degree}{word}",
    "the {aspect} was hardly {degree}{word}",
    "I never found the {aspect} {degree}{word}",
    "the {aspect} was scarcely {degree}{word}",
    "I could not call the {aspect} {degree}{word}",
]
FALSE_NEGATIONS = [
    "the {aspect} was not only {degree}{word}",
    "the {aspect} was never less than {degree}{word}",
    "the {aspect} was hardly short of {word}",
    "the {aspect} was scarcely less than {degree}{word}",
]
FILLERS = [
    "I saw it on a {day} with {who}",
    "a friend lent me the {medium}",
    "it was shot in {place}",
    "{who} had read the book before",
    "I had not heard of the director",
    "never mind the poster",
    "we watched it twice with {who}",
    "the {medium} came out in {place}",
]
SLOTS = {
    "day": ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
    "who": ["my sister", "my brother", "two friends", "my wife", "my husband", "the children"],
    "medium": ["tape", "disc", "film", "movie"],
    "place": ["london", "paris", "rome", "tokyo", "canada", "mexico", "ireland", "texas"],
}


class Wording(NamedTuple):
    """What the reviews of a draw are written with."""

    praise: list[str]
    blame: list[str]
    aspects: list[str]
    plain: list[str]
    negations: list[str]
    false_negations: list[str]
    fillers: list[str]


ALL_WORDS = Wording(
    COMMON_PRAISE + PRAISE,
    COMMON_BLAME + BLAME,
    ASPECTS,
    PLAIN,
    NEGATIONS,
    FALSE_NEGATIONS,
    FILLERS,
)


def draw_wording(rng: np.random.Generator) -> Wording:
    def some(options: list[str], count: int) -> list[str]:
        return rng.choice(options, count, replace=False).tolist()

    return Wording(
        praise=some(COMMON_PRAISE, 8) + some(PRAISE, 16),
        blame=some(COMMON_BLAME, 8) + some(BLAME, 16),
        aspects=some(ASPECTS, 30),
        plain=some(PLAIN, 4),
        negations=some(NEGATIONS, 4),
        false_negations=some(FALSE_NEGATIONS, 3),
        fillers=some(FILLERS, 6),
    )


def make(raw: Path, rng: np.random.Generator) -> None:
    truths = []
    wording = draw_wording(rng)
    first = rng.permutation([1_000_000, 2_000_000]) + rng.integers(900_000)
    for part, count, film in zip(("train", "test"), (TRAIN, TEST), first, strict=True):
        folder = raw / "aclImdb" / part
        for name in ("pos", "neg"):
            truths += write_reviews(folder, name, count // 2, int(film), wording, rng)
    lines = ["file,sentiment", *(f"{file},{int(positive)}" for file, positive in truths)]
    (raw / "noise_free.csv").write_text("\n".join(lines) + "\n")
    copy_checkpoint(raw)


def write_reviews(
    folder: Path,
    name: str,
    count: int,
    first_film: int,
    wording: Wording,
    rng: np.random.Generator,
) -> list[tuple[str, bool]]:
    """One official folder with its list of films; returns what is really said in each file."""
    (folder / name).mkdir(parents=True)
    truths, urls = [], []
    ratings = (7, 10) if name == "pos" else (1, 4)
    for number in range(count):
        positive = (name == "pos") != (rng.random() < WRONG_LABELS)
        file = f"{name}/{number}_{rng.integers(ratings[0], ratings[1] + 1)}.txt"
        (folder / file).write_text(write_review(positive, wording, rng))
        truths.append((f"{folder.name}/{file}", positive))
        film = first_film + rng.integers(2 * count // REVIEWS_PER_FILM)
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


def write_review(positive: bool, wording: Wording, rng: np.random.Generator) -> str:
    """A review of the right length that is clearly positive, or clearly negative, on the whole."""
    leaning = 1 if positive else -1
    while True:
        sentences, total = [], 0
        length = WORDS[0] + (WORDS[1] - 10 - WORDS[0]) * rng.random()
        while sum(sentence.count(" ") + 1 for sentence in sentences) < length:
            sentence, said = write_sentence(leaning, wording, rng)
            sentences.append(sentence)
            total += said
        text = " ".join(sentence[0].upper() + sentence[1:] + "." for sentence in sentences)
        if total * leaning >= LEAST_MARGIN and text.count(" ") < WORDS[1]:
            return text


def write_sentence(leaning: int, wording: Wording, rng: np.random.Generator) -> tuple[str, int]:
    """A sentence, and what it adds to the sum."""
    if rng.random() < FILLER_SHARE:
        slots = {name: pick(values, rng) for name, values in SLOTS.items()}
        return pick(wording.fillers, rng).format(**slots), 0
    said = leaning if rng.random() < LEANING else -leaning
    return write_clause(said, wording, rng), said


def write_clause(said: int, wording: Wording, rng: np.random.Generator) -> str:
    """A clause that says something good (1) or bad (-1) of some aspect."""
    kind = rng.random()
    if kind < NEGATED:
        pattern, polarity = pick(wording.negations, rng), -said
    else:
        patterns = wording.false_negations if kind < NEGATED + DECOYS else wording.plain
        pattern, polarity = pick(patterns, rng), said
    words = wording.praise if polarity > 0 else wording.blame
    return pattern.format(
        aspect=pick(wording.aspects, rng), degree=pick(DEGREES, rng), word=pick(words, rng)
    )


def pick(values: list[str], rng: np.random.Generator) -> str:
    return values[int(rng.random() * len(values))]
