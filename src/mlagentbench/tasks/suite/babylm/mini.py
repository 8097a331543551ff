"""Text of an invented language, in the files of the official archive, with its true probability.

A line is a sentence. Verbs agree in number with their subject, which may stand several words
before them, and a topic that changes now and then decides which content words are frequent. The
structure of a sentence can be read off its words in one way only, so the probability of a line
under each topic is known, and with it that of any passage: no model can do better in the long run.

A draw draws another language: its sounds, words and endings, whether adjectives follow their noun,
which words belong to which topic, and how often each kind of clause and phrase is used.
"""

import json
import math
from bisect import bisect_right
from pathlib import Path

import numpy as np

SHARES = {
    "aochildes": 4, "bnc_spoken": 10, "cbt": 6, "children_stories": 4, "gutenberg": 10,
    "open_subtitles": 30, "qed": 10, "simple_wikipedia": 15, "switchboard": 1, "wikipedia": 10,
}  # fmt: skip
"""The ten files, and how much of the official text each makes up, in percent."""
FOLDERS = {"train": "babylm_10M", "dev": "babylm_dev", "test": "babylm_test"}
LINES = {"train": 24_000, "dev": 1_200, "test": 2_000}
TOPICS = 12
SWITCH = 0.04
"""How probable it is that a line begins a new topic, which may be the old one."""
OWN_SHARE = 0.9
"""How much of its probability a topic gives to words of its own, a twelfth of all."""
LEMMAS = {"noun": 650, "verb": 210, "adjective": 200}
ENDINGS = ("en", "it", "un", "ak", "ol", "im", "us", "ed")
"""A language has three: of nouns in the plural, of verbs in the singular and in the plural."""
ONSETS, VOWELS, CODAS = "bcdfghjklmnprstvwz", "aeiouy", "lnrsmtkd"
SOUNDS = (15, 5, 4)
"""How many of each a language has."""
HABITS = {
    "adverb": 0.2, "second clause": 0.25, "place of the subject": 0.35, "relative clause": 0.25,
    "object": 0.7, "place": 0.3, "plural": 0.4, "adjective": 0.35,
}  # fmt: skip
"""How often a sentence, clause or phrase has one."""
HABITS_DIFFER = (0.9, 1.1)
FUNCTION_WORDS = {
    "article": 10, "plural article": 10, "preposition": 16, "pronoun": 2, "conjunction": 6,
    "adverb": 36,
}  # fmt: skip
"""How many there are: 80; with the 1,920 forms of content words the language has 2,000 words."""
TRAINING = {
    "vocabulary": 2048, "layers": 2, "heads": 2, "width": 64, "context": 128,
    "batch_size": 8, "learning_rate": 0.002, "steps": 20,
}  # fmt: skip


def make(raw: Path, rng: np.random.Generator) -> None:
    language = Language(rng)
    for part, folder in FOLDERS.items():
        (raw / folder).mkdir()
        for source, share in SHARES.items():
            lines, log_probabilities = language.text(LINES[part] * share // 100, rng)
            text = "".join(f"{line}\n" for line in lines)
            (raw / folder / f"{source}.{part}").write_text(text, encoding="utf-8", newline="")
            if part == "test":
                np.save(raw / f"true_{source}.npy", log_probabilities)
    (raw / "true_model.json").write_text(json.dumps({"switch": SWITCH}))
    (raw / "training.json").write_text(json.dumps(TRAINING))


class Language:
    """Words with their probabilities, and the rules by which sentences are made of them."""

    def __init__(self, rng: np.random.Generator) -> None:
        plural, one, many = rng.choice(ENDINGS, 3, replace=False).tolist()
        self.endings = {"noun": ("", plural), "verb": (one, many)}
        """In the singular and in the plural."""
        self.adjective_first = bool(rng.integers(2))
        self.habits = {name: share * rng.uniform(*HABITS_DIFFER) for name, share in HABITS.items()}
        count = sum(LEMMAS.values()) + sum(FUNCTION_WORDS.values())
        names = invented_words(count, (plural, one, many), rng)
        self.words: dict[str, list[str]] = {}
        self.cumulative: dict[str, list[list[float]]] = {}
        self.logs: dict[str, np.ndarray] = {}
        for kind, size in [*FUNCTION_WORDS.items(), *LEMMAS.items()]:
            self.words[kind], names = names[:size], names[size:]
            rows = topic_rows(size, rng) if kind in LEMMAS else np.tile(zipf(size), (TOPICS, 1))
            self.cumulative[kind] = np.cumsum(rows, axis=1).tolist()
            self.logs[kind] = np.log(rows.T)

    def text(self, lines: int, rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
        """Lines, and the natural logarithm of each one's probability under each topic."""
        sentences = []
        topic = int(rng.integers(TOPICS))
        for _ in range(lines):
            if rng.random() < SWITCH:
                topic = int(rng.integers(TOPICS))
            sentences.append(Sentence(self, topic, rng))
        log_probabilities = np.array([sentence.log_probability for sentence in sentences])
        return [" ".join(s.words) + "." for s in sentences], np.round(log_probabilities, 6)


class Sentence:
    """A random sentence on a topic, and its log-probability under each of the topics."""

    def __init__(self, language: Language, topic: int, rng: np.random.Generator) -> None:
        self.language, self.topic, self.random = language, topic, rng.random
        self.words: list[str] = []
        self.log_probability = np.zeros(TOPICS)
        if self.happens("adverb"):
            self.word("adverb")
        self.clause()
        if self.happens("second clause"):
            self.word("conjunction")
            self.clause()

    def clause(self) -> None:
        number = self.noun_phrase()
        if self.happens("place of the subject"):
            self.word("preposition")
            self.noun_phrase()
        if self.happens("relative clause"):
            self.word("pronoun")
            self.word("verb", number)
            self.noun_phrase()
        self.word("verb", number)
        if self.happens("object"):
            self.noun_phrase()
        if self.happens("place"):
            self.word("preposition")
            self.noun_phrase()

    def noun_phrase(self) -> int:
        """Returns its number: 0 for the singular, 1 for the plural."""
        number = int(self.happens("plural"))
        self.word("plural article" if number else "article")
        described = self.happens("adjective")
        if described and self.language.adjective_first:
            self.word("adjective")
        self.word("noun", number)
        if described and not self.language.adjective_first:
            self.word("adjective")
        return number

    def happens(self, habit: str) -> bool:
        probability = self.language.habits[habit]
        chosen = self.random() < probability
        self.log_probability += math.log(probability if chosen else 1 - probability)
        return chosen

    def word(self, kind: str, number: int = 0) -> None:
        cumulative = self.language.cumulative[kind][self.topic]
        place = min(bisect_right(cumulative, self.random()), len(cumulative) - 1)
        ending = self.language.endings[kind][number] if kind in self.language.endings else ""
        self.words.append(self.language.words[kind][place] + ending)
        self.log_probability += self.language.logs[kind][place]


def zipf(size: int) -> np.ndarray:
    weights = 1 / (np.arange(size) + 2.0)
    return weights / weights.sum()


def topic_rows(size: int, rng: np.random.Generator) -> np.ndarray:
    """One row per topic: the probability of each word; every word is some topic's own."""
    shared = zipf(size)
    owners = rng.permutation(np.arange(size) % TOPICS)
    own = np.where(owners == np.arange(TOPICS)[:, None], shared, 0.0)
    rows = OWN_SHARE * own / own.sum(axis=1, keepdims=True) + (1 - OWN_SHARE) * shared
    return rows / rows.sum(axis=1, keepdims=True)


def invented_words(count: int, endings: tuple[str, ...], rng: np.random.Generator) -> list[str]:
    """Different words of one to three syllables, the shorter ones first, without the endings."""
    onsets, vowels, codas = (
        rng.choice(list(letters), size, replace=False).tolist()
        for letters, size in zip((ONSETS, VOWELS, CODAS), SOUNDS, strict=True)
    )
    codas = ["", "", *codas]
    words: dict[str, None] = {}
    while len(words) < count:
        word = ""
        for _ in range(1 + (len(words) >= 120) + (len(words) >= 700)):
            places = rng.integers([len(onsets), len(vowels), len(codas)])
            word += onsets[places[0]] + vowels[places[1]] + codas[places[2]]
        if not word.endswith(endings):
            words[word] = None
    return list(words)
