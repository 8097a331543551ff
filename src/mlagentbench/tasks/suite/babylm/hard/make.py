"""The hard tier: sources that write the language down in ways of their own.

A sentence is a walk from word to word. Each source tells of one subject, which has its own way of
going on after each word; hidden text goes from subject to subject, so every subject that a model
does not know costs. All words are equally frequent, so that only their order says anything.

| mechanism | what it does | in evaluation | in training |
|---|---|---|---|
| order | a source rearranges | between lines: braids, snakes, | dealt by squares, swings, braids |
| | words | dealt out, lagging, relays | with mirrored lines; carousels |
| spelling | a source respells | shifts growing in word, in line, | shifts by key or by length, |
| | words | by the letter before; woven | first letters lent, vowels lengthened |
| backwards | lines, words, or both | present or absent, by source | the same |
| decoy | sources that say nothing: | sentences with false pairs, plain | the same |
| | | or written down as others are; | |
| | | sentences in random order | |

But for carousels, a line that is written holds words of many sentences, so that words that are
together and their places in the line tell little of what follows what. No spelling can be undone
word by word with a usual cipher, an anagram or the steps between letters.

Each draw has four ways of ordering (in training three) and three of spelling, each with settings
that differ by source; two of the seven good sources are spelt as the language is, and tell of the
same subject. The ceiling is the cost of the hidden text to whoever knows all probabilities, and so
the likely subject.
"""

import json
import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from mini import FOLDERS, SHARES, TRAINING, invented_words

WORDS, SHORT_WORDS = 360, 120
"""Words of the language; the shortest that are invented are left out."""
SUBJECTS, BRANCHES = 5, (0.6, 0.4)
"""A subject goes on with one of two words after each word, so often with each."""
ANY_WORD = 0.04
"""How often a sentence goes on with any word at all."""
STAYS = 0.4
"""How often a sentence of the hidden text goes on with the subject of the word before."""
LENGTHS = (7, 19)
LINES, DECOY_LINES = (1500, 2500), (2000, 3000)
SAMPLE_LINES, PASSAGES, PASSAGE_BYTES = 80, 90, 800
LEAN = (0.8, 1.25)
"""How subjects differ in their share of the hidden text, before it is made to add up to one."""
VOWELS = "aeiouy"
ORDERS = {
    "eval": ["braid", "snake", "dealt", "lagging", "relay"],
    "train": ["squares", "swing", "mirror", "carousel"],
}
SPELLINGS = {
    "eval": ["grows", "runs", "leans", "woven"],
    "train": ["key", "stretched", "lent", "longer"],
}
ORDERS_USED = {"eval": 4, "train": 3}
SPELLINGS_USED, PLAINLY_SPELT = 3, 2
TELL_OF = (0, 0, 1, 1, 2, 3, 4)
"""The subject of each good source, plainly spelt ones first: whoever does not know one of the
spellings or orders loses one subject at most."""
Line = list[str]
Lines = list[Line]
Recipe = dict[str, Any]


def make(public: Path, private: Path, rng: np.random.Generator, pool: str) -> None:
    language = Language(rng)
    ways = draw_ways(pool, language.letters, rng)
    names = rng.permutation(list(SHARES)).tolist()
    for part in ("train", "dev"):
        (public / FOLDERS[part]).mkdir()
    for name, (subject, way) in zip(names, ways, strict=True):
        lines = write_source(language, subject, rng)
        write_lines(
            public / FOLDERS["train"] / f"{name}.train", record(lines, way, language.letters)
        )
    sample = [language.hidden_line(rng)[0] for _ in range(SAMPLE_LINES)]
    write_lines(public / FOLDERS["dev"] / "sample.dev", sample)
    (public / "training.json").write_text(json.dumps(TRAINING, indent=2) + "\n")
    documents = [language.passage(rng) for _ in range(PASSAGES)]
    (private / "documents.json").write_text(json.dumps(documents, indent=1) + "\n")
    mechanisms = {
        name: {"says": subject, **way}
        for name, (subject, way) in sorted(zip(names, ways, strict=True))
    }
    (private / "mechanisms.json").write_text(json.dumps(mechanisms, indent=2) + "\n")


class Language:
    """Words, and how each subject goes on after each of them."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.words = rng.permutation(
            invented_words(SHORT_WORDS + WORDS, (), rng)[SHORT_WORDS:]
        ).tolist()
        self.letters = sorted(set("".join(self.words)))
        self.tables = [next_words(rng) for _ in range(SUBJECTS)]
        self.false = next_words(rng)
        lean = rng.uniform(*LEAN, SUBJECTS)
        self.shares = lean / lean.sum()
        self.chances = np.full((SUBJECTS, WORDS, WORDS), ANY_WORD / WORDS)
        for subject, table in enumerate(self.tables):
            for share, column in zip(BRANCHES, table.T, strict=True):
                self.chances[subject, np.arange(WORDS), column] += (1 - ANY_WORD) * share

    def step(self, word: int, table: np.ndarray, rng: np.random.Generator) -> int:
        if rng.random() < ANY_WORD:
            return int(rng.integers(WORDS))
        return int(table[word, int(rng.random() > BRANCHES[0])])

    def line(self, table: np.ndarray, rng: np.random.Generator) -> Line:
        """A sentence of one subject."""
        places = [int(rng.integers(WORDS))]
        for _ in range(rng.integers(*LENGTHS) - 1):
            places.append(self.step(places[-1], table, rng))
        return self.spelt(places)

    def hidden_line(self, rng: np.random.Generator) -> tuple[Line, float]:
        """A sentence that goes from subject to subject, and the bits of its true probability."""
        places, subject = [int(rng.integers(WORDS))], int(rng.choice(SUBJECTS, p=self.shares))
        for _ in range(rng.integers(*LENGTHS) - 1):
            if rng.random() >= STAYS:
                subject = int(rng.choice(SUBJECTS, p=self.shares))
            places.append(self.step(places[-1], self.tables[subject], rng))
        bits = math.log2(LENGTHS[1] - LENGTHS[0]) + math.log2(WORDS)
        belief = self.shares
        for before, after in pairwise(places):
            belief = (STAYS * belief + (1 - STAYS) * self.shares) * self.chances[:, before, after]
            bits -= math.log2(belief.sum())
            belief = belief / belief.sum()
        return self.spelt(places), bits

    def passage(self, rng: np.random.Generator) -> dict[str, Any]:
        text, bits = "", 0.0
        while len(text) < PASSAGE_BYTES:
            line, cost = self.hidden_line(rng)
            text, bits = text + " ".join(line) + "\n", bits + cost
        return {"source": "hidden", "text": text, "copy": False, "true_bits": round(bits, 4)}

    def spelt(self, places: list[int]) -> Line:
        """The words of a sentence, the last one with its full stop."""
        line = [self.words[place] for place in places]
        return [*line[:-1], line[-1] + "."]


def next_words(rng: np.random.Generator) -> np.ndarray:
    """For each word two that may follow it; every word follows as many others."""
    return np.stack([rng.permutation(WORDS) for _ in BRANCHES], axis=1)


def write_source(language: Language, subject: int | str, rng: np.random.Generator) -> Lines:
    """The sentences that a source has to tell, before it writes them down."""
    useful = isinstance(subject, int)
    count = int(rng.integers(*(LINES if useful else DECOY_LINES)))
    if useful:
        return [language.line(language.tables[subject], rng) for _ in range(count)]
    if subject == "false pairs":
        return [language.line(language.false, rng) for _ in range(count)]
    lines = []
    for _ in range(count):
        subject = int(rng.integers(SUBJECTS))
        *words, last = language.line(language.tables[subject], rng)
        words = rng.permutation([*words, last.rstrip(".")]).tolist()
        lines.append([*words[:-1], words[-1] + "."])
    return lines


def draw_ways(
    pool: str, letters: list[str], rng: np.random.Generator
) -> list[tuple[int | str, Recipe]]:
    """What each source tells of, and how it is written down: good sources first, then decoys."""
    orders = rng.permutation(ORDERS[pool])[: ORDERS_USED[pool]]
    spellings = rng.permutation(SPELLINGS[pool])[:SPELLINGS_USED]
    spelt = [*["plain"] * PLAINLY_SPELT, *np.resize(spellings, len(TELL_OF) - PLAINLY_SPELT)]
    ways: list[tuple[int | str, Recipe]] = [
        (subject, draw_way(order, spelling, len(letters), rng))
        for subject, order, spelling in zip(
            TELL_OF, np.resize(orders, len(TELL_OF)), spelt, strict=True
        )
    ]
    third = str(rng.choice(["false pairs", "random order"]))
    return [
        *ways,
        ("false pairs", draw_way("plain", "plain", len(letters), rng)),
        ("random order", draw_way("plain", str(rng.choice(spellings)), len(letters), rng)),
        (third, draw_way(str(rng.choice(orders)), "plain", len(letters), rng)),
    ]


def draw_way(order: str, spelling: str, letters: int, rng: np.random.Generator) -> Recipe:
    """The settings of a way to order words, and of a way to spell them."""
    group = int(rng.integers(7, 11))
    shift, other = (int(number) for number in rng.permutation(np.arange(1, letters))[:2])
    settings = {
        "plain": [],
        "braid": [group],
        "snake": [group],
        "dealt": [group, int(rng.integers(1, group))],
        "lagging": [int(rng.integers(2, 6))],
        "relay": [int(rng.integers(1, 4))],
        "squares": [group, int(rng.integers(1, group))],
        "swing": [int(rng.integers(2, 6))],
        "mirror": [group],
        "carousel": [int(rng.integers(3, 7))],
    }[order]
    respelt = {
        "plain": [],
        "grows": [shift, other],
        "runs": [shift, other],
        "leans": [shift, int(rng.integers(2))],
        "woven": [int(rng.integers(2, 5))],
        "key": [shift, other],
        "stretched": [shift],
        "lent": [int(rng.integers(1, 4))],
        "longer": [shift],
    }[spelling]
    backwards = order != "plain" and bool(rng.integers(2))
    reversed_words = spelling != "plain" and bool(rng.integers(2))
    return {
        "order": [order, *settings], "lines backwards": backwards,
        "spelling": [spelling, *respelt], "words backwards": reversed_words,
    }  # fmt: skip


def record(lines: Lines, way: Recipe, letters: list[str]) -> Lines:
    """The lines as a source writes them down."""
    order, *settings = way["order"]
    if order != "plain":
        lines = REORDER[order](lines, *settings)
    if way["lines backwards"]:
        lines = [line[::-1] for line in lines]
    spelling, *settings = way["spelling"]
    respelt = []
    for line in lines:
        stops = [word.endswith(".") for word in line]
        words = [word.rstrip(".") for word in line]
        if way["words backwards"]:
            words = [word[::-1] for word in words]
        if spelling != "plain":
            words = RESPELL[spelling](words, letters, *settings)
        respelt.append([word + "." * stop for word, stop in zip(words, stops, strict=True)])
    return respelt


def rewritten(group: Lines, places: Iterable[tuple[int, int]]) -> Lines:
    """The words at these lines and places, one after the other, cut into lines as long as these."""
    words = [group[at][place] for at, place in places]
    ends = np.cumsum([len(line) for line in group]).tolist()
    return [words[end - len(line) : end] for line, end in zip(group, ends, strict=True)]


def braid(lines: Lines, count: int, snake: bool = False) -> Lines:
    """A word of each of so many lines by turns; in a snake, each second time from the last up."""
    result = []
    for at in range(0, len(lines), count):
        group = lines[at : at + count]
        result += rewritten(
            group,
            (
                (line, place)
                for place in range(max(map(len, group)))
                for line in list(range(len(group)))[:: -1 if snake and place % 2 else 1]
                if place < len(group[line])
            ),
        )
    return result


def snake(lines: Lines, count: int) -> Lines:
    return braid(lines, count, snake=True)


def exchanged(group: Lines, by: Callable[[int], int]) -> Lines:
    """Words keep their place, and go to another of the lines that have this place."""
    result = [list(line) for line in group]
    for place in range(max(map(len, group))):
        long = [at for at, line in enumerate(group) if place < len(line)]
        for turn, at in enumerate(long):
            result[at][place] = group[long[(turn + by(place)) % len(long)]][place]
    return result


def dealt(lines: Lines, count: int, step: int) -> Lines:
    """Each word of a sentence goes so many lines further, round and round within a group."""
    groups = [lines[at : at + count] for at in range(0, len(lines), count)]
    return [line for group in groups for line in exchanged(group, lambda place: place * step)]


def lagging(lines: Lines, lag: int) -> Lines:
    """Each second word of a sentence stands some lines away."""
    return exchanged(lines, lambda place: place % 2 * lag)


def relay(lines: Lines, step: int) -> Lines:
    """Each word of a sentence stands so many lines after the one before; the newest comes first."""
    result: Lines = [[] for _ in lines]
    for number, line in enumerate(lines):
        for row, word in zip(result[number::step], line, strict=False):
            row.insert(0, word)
    return result


def squares(lines: Lines, count: int, step: int) -> Lines:
    """As dealt out, but further and further from word to word."""
    groups = [lines[at : at + count] for at in range(0, len(lines), count)]
    return [line for group in groups for line in exchanged(group, lambda at: at * at * step)]


def swing(lines: Lines, lag: int) -> Lines:
    """Each second word stands some lines away, by turns on either side."""
    return exchanged(lines, lambda place: (0, lag, 0, -lag)[place % 4])


def mirror(lines: Lines, count: int) -> Lines:
    """A braid in which each second line runs backwards."""
    turned = [line[:: -1 if at % count % 2 else 1] for at, line in enumerate(lines)]
    return braid(turned, count)


def carousel(lines: Lines, period: int) -> Lines:
    """Odd words, then even words; each line begins one place further on than the one before."""
    result = []
    for number, line in enumerate(lines):
        mixed = line[1::2] + line[::2]
        at = number % period
        result.append(mixed[at:] + mixed[:at])
    return result


def shifted(word: str, by: int, letters: list[str]) -> str:
    return "".join(letters[(letters.index(letter) + by) % len(letters)] for letter in word)


def grows(words: Line, letters: list[str], first: int, more: int) -> Line:
    """Each letter of a word is shifted further than the one before it."""
    return [
        "".join(shifted(letter, first + more * at, letters) for at, letter in enumerate(word))
        for word in words
    ]


def runs(words: Line, letters: list[str], first: int, more: int) -> Line:
    """The same through all letters of a line."""
    return recut(grows(["".join(words)], letters, first, more)[0], words)


def leans(words: Line, letters: list[str], first: int, written: int) -> Line:
    """Each letter of a word is shifted by the one before it, as it was or as it is written."""
    result = []
    for word in words:
        new, by = "", first
        for letter in word:
            new += shifted(letter, by, letters)
            by = letters.index((letter, new[-1])[written])
        result.append(new)
    return result


def woven(words: Line, _letters: list[str], count: int) -> Line:
    """Every count-th letter of the line, then the letters after these, and so on."""
    letters = "".join(words)
    return recut("".join(letters[first::count] for first in range(count)), words)


def recut(letters: str, words: Line) -> Line:
    """These letters in words as long as those."""
    ends = np.cumsum([len(word) for word in words]).tolist()
    return [letters[end - len(word) : end] for word, end in zip(words, ends, strict=True)]


def by_key(words: Line, letters: list[str], even: int, odd: int) -> Line:
    return [
        "".join(shifted(letter, (even, odd)[at % 2], letters) for at, letter in enumerate(word))
        for word in words
    ]


def stretched(words: Line, letters: list[str], by: int) -> Line:
    """Each letter of a word is shifted further than the one before it, in long words by more."""
    return [grows([word], letters, 0, by * len(word))[0] for word in words]


def lent(words: Line, _letters: list[str], by: int) -> Line:
    """First letters go so many words on, round and round in the line."""
    firsts = [word[0] for word in words]
    by %= len(words)
    return [a + word[1:] for a, word in zip(firsts[-by:] + firsts[:-by], words, strict=True)]


def longer(words: Line, letters: list[str], by: int) -> Line:
    """Each vowel comes a second time, shifted."""
    return [
        "".join(
            letter + (shifted(letter, by, letters) if letter in VOWELS else "") for letter in word
        )
        for word in words
    ]


REORDER: dict[str, Callable[..., Lines]] = {
    "braid": braid, "snake": snake, "dealt": dealt, "lagging": lagging, "relay": relay,
    "squares": squares, "swing": swing, "mirror": mirror, "carousel": carousel,
}  # fmt: skip
RESPELL: dict[str, Callable[..., Line]] = {
    "grows": grows, "runs": runs, "leans": leans, "woven": woven,
    "key": by_key, "stretched": stretched, "lent": lent, "longer": longer,
}  # fmt: skip


def write_lines(file: Path, lines: Lines) -> None:
    text = "".join(" ".join(line) + "\n" for line in lines)
    file.write_text(text, encoding="utf-8", newline="")
