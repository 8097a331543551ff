"""The mini tier: invented reviews in the official layout, and a tiny checkpoint to fine-tune.

A review speaks of aspects of a film, one clause each. What a clause says is its word's polarity,
turned round by a negation in a quarter of them; some of the others have a negation that turns
nothing round. After "but" a clause counts double. The sign of the sum is the sentiment, and a share
of the labels is wrong. So counting words tells a part of it; who reads the clauses knows the rest.

The checkpoint was trained by pretrain.py, once: on reviews of this kind, without labels.
"""

import hashlib
from pathlib import Path

import numpy as np

TRAIN, TEST = 1800, 1000
WRONG_LABELS = 0.08
NEGATED = 0.25
DECOYS = 0.15
LEANING = 0.9
"""How many clauses say what the reviewer thinks on the whole."""
FILLER_SHARE, BUT_SHARE = 0.1, 0.2
LEAST_MARGIN = 3
WORDS = (60, 120)
REVIEWS_PER_FILM = 5
FIRST_FILM = {"train": 1_000_000, "test": 2_000_000}
CHECKPOINT = {
    "config.json": "46e1622b190f80ecc0bfe3f4fa6229dffec890908c14b840a7a02d062f6735e7",
    "model.safetensors": "e4f5c585d25570d53c41a5d8a97116375a2cd818e5b249ef2221c41c6a1b7325",
    "tokenizer.json": "4b210818f682e7346add35e57eafa353229ce4d3a5ebd1b0f3ca4e2d3b1f268d",
    "tokenizer_config.json": "3c5d33822b977795eaccff4e5b84d98a98a755beed3b8f97b3df43b4d2e2cc62",
    "vocab.txt": "e50392bca96309f77308bf0f8db660bf6a39d93e51d8a6e443e0b8cc8890f3d4",
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
    "good", "great", "excellent", "wonderful", "superb", "brilliant", "amazing", "fantastic",
    "perfect", "beautiful", "lovely", "enjoyable", "impressive", "memorable", "charming",
    "delightful", "clever", "gripping", "moving", "powerful", "touching", "thrilling", "funny",
    "hilarious", "fresh", "original", "outstanding", "remarkable", "stunning", "fascinating",
    "engaging", "captivating", "convincing", "believable", "honest", "warm", "witty", "sharp",
    "smart", "elegant", "graceful", "tender", "poignant", "inspired", "inventive", "imaginative",
    "magical", "marvellous", "splendid", "terrific", "fabulous", "magnificent", "breathtaking",
    "riveting", "absorbing", "compelling", "satisfying", "rewarding", "refreshing", "uplifting",
]  # fmt: skip

NEGATIVE = [
    "bad", "terrible", "awful", "horrible", "boring", "dull", "poor", "weak", "stupid", "silly",
    "ridiculous", "predictable", "annoying", "disappointing", "dreadful", "pathetic", "lame",
    "cheap", "clumsy", "tedious", "forgettable", "bland", "flat", "lifeless", "unconvincing",
    "wooden", "stale", "tired", "messy", "confusing", "pointless", "mediocre", "laughable",
    "painful", "ugly", "sloppy", "lazy", "shallow", "hollow", "empty", "cold", "contrived",
    "forced", "awkward", "stilted", "amateurish", "incoherent", "disjointed", "muddled",
    "plodding", "sluggish", "dreary", "dismal", "drab", "grating", "irritating", "insufferable",
    "unbearable", "unwatchable", "abysmal",
]  # fmt: skip

DEGREES = ["", "", "", "very ", "really ", "quite ", "rather ", "truly ", "so ", "simply "]

PLAIN = [
    "the {aspect} was {degree}{word}",
    "I found that the {aspect} was {degree}{word}",
    "we all agreed that the {aspect} was {degree}{word}",
    "to me it seemed that the {aspect} was {degree}{word}",
    "from the beginning the {aspect} was {degree}{word}",
    "anybody will tell you that the {aspect} was {degree}{word}",
]
NEGATIONS = [
    "the {aspect} was not {degree}{word}",
    "I would not say that the {aspect} was {degree}{word}",
    "nobody could claim that the {aspect} was {degree}{word}",
    "at no time did I feel that the {aspect} was {degree}{word}",
    "it is hardly true that the {aspect} was {degree}{word}",
    "I never had the feeling that the {aspect} was {degree}{word}",
]
FALSE_NEGATIONS = [
    "not once did I doubt that the {aspect} was {degree}{word}",
    "nobody could deny that the {aspect} was {degree}{word}",
    "there is no question that the {aspect} was {degree}{word}",
    "it is hardly news that the {aspect} was {degree}{word}",
]
FILLERS = [
    "I saw it on a {day} with {who}",
    "it runs for about two hours",
    "a friend of mine lent me the {medium}",
    "we watched the {medium} on a {day} evening",
    "the cinema was half full that {day}",
    "it was shot in {place} some years ago",
    "the story takes place in {place}",
    "{who} had read the book before",
    "I had not heard of the director until then",
    "there are no scenes after the credits",
    "{who} and I talked about it on the way home",
    "never mind what the poster shows",
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
        length = WORDS[0] + (WORDS[1] - 10 - WORDS[0]) * rng.random() ** 2
        while sum(sentence.count(" ") + 1 for sentence in sentences) < length:
            sentence, said = write_sentence(leaning, rng)
            sentences.append(sentence)
            total += said
        text = " ".join(sentence[0].upper() + sentence[1:] + "." for sentence in sentences)
        if total * leaning >= LEAST_MARGIN and text.count(" ") < WORDS[1]:
            return text


def write_sentence(leaning: int, rng: np.random.Generator) -> tuple[str, int]:
    """A sentence, and what it adds to the sum."""
    kind = rng.random()
    if kind < FILLER_SHARE:
        slots = {name: pick(values, rng) for name, values in SLOTS.items()}
        return pick(FILLERS, rng).format(**slots), 0
    said = leaning if rng.random() < LEANING else -leaning
    if kind < FILLER_SHARE + BUT_SHARE:
        return f"{write_clause(-said, rng)}, but {write_clause(said, rng)}", 2 * said - said
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
    common = rng.random() ** 1.5  # the first words of the list come more often
    return pattern.format(
        aspect=pick(ASPECTS, rng), degree=pick(DEGREES, rng), word=words[int(len(words) * common)]
    )


def pick(values: list[str], rng: np.random.Generator) -> str:
    return values[int(rng.random() * len(values))]
