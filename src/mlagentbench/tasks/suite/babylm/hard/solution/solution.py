# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""Undoes how each source was written down, then counts which word follows which.

Each source that is understood gives a table of word pairs. The sample of plain text says how much
of each there is in text like the hidden one.
"""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
from findings import find
from pair_model import bits_per_byte, save, token_table, tokenizer_of
from recordings import Alphabet, Line, respelt, restore

PRIOR = 0.5
"""How many observations after each word the frequencies of all words are worth."""
LEAST = 5
"""Words that all sources together have less often are none."""
MOST = 1500
"""The table has at most so many words, and those of the sample."""
ROUNDS = 50


def main() -> None:
    sources = {
        file.stem: read_lines(file) for file in sorted(Path("babylm_10M").iterdir())
    }  # fmt: skip
    text = "".join(file.read_text("utf-8") for file in sorted(Path("babylm_dev").iterdir()))
    sample = [line.split() for line in text.splitlines()]
    found = find(sources, sample)
    print("findings", json.dumps(found))
    alphabet = Alphabet([sample, *sources.values()])
    texts = [
        plain_text(lines, found[name], alphabet)
        for name, lines in sources.items()
        if found.get(name)
    ]
    plain = [[word.rstrip(".") for word in line] for line in sample]
    words = common_words(texts, plain)
    tables = [follow(lines, words) for lines in texts]
    after = mix(tables, plain, words)
    tokenizer = tokenizer_of(words)
    stop = len(plain) / sum(map(len, plain))
    table = token_table(tokenizer, words, after, stop)
    print(f"validation bits per byte={bits_per_byte(tokenizer, table, text):.4f}")
    save(tokenizer, table, Path("output"))


def read_lines(file: Path) -> list[Line]:
    return [line.split() for line in file.read_text(encoding="utf-8").splitlines()]


def plain_text(lines: list[Line], way: dict, alphabet: Alphabet) -> list[Line]:
    """The lines of a source as the language has them."""
    return restore(respelt(lines, way, alphabet), way["order"], way["lines backwards"])


def common_words(texts: list[list[Line]], plain: list[Line]) -> list[str]:
    words = [word for lines in texts for line in lines for word in line]
    names, counts = np.unique(np.array(words, dtype=str), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST]
    often = {str(names[at]) for at in order if counts[at] >= LEAST}
    return sorted(often | {word for line in plain for word in line})


def follow(lines: list[Line], words: list[str]) -> np.ndarray:
    """The share of each word among those after each word."""
    place = {word: number for number, word in enumerate(words)}
    pairs = [
        place[one] * len(words) + place[two]
        for line in lines
        for one, two in pairwise(line)
        if one in place and two in place
    ]
    counts = np.bincount(np.array(pairs, dtype=int), minlength=len(words) ** 2)
    counts = counts.reshape(len(words), len(words)) + PRIOR / len(words)
    return counts / counts.sum(axis=1, keepdims=True)


def mix(tables: list[np.ndarray], plain: list[Line], words: list[str]) -> np.ndarray:
    """The mixture of tables, and of all words alike, that makes the sample most likely."""
    place = {word: number for number, word in enumerate(words)}
    pairs = np.array([(place[a], place[b]) for line in plain for a, b in pairwise(line)])
    every = [*tables, np.full((len(words), len(words)), 1 / len(words))]
    likely = np.stack([table[pairs[:, 0], pairs[:, 1]] for table in every])
    shares = np.full(len(every), 1 / len(every))
    for _ in range(ROUNDS):
        guesses = shares[:, None] * likely
        shares = (guesses / guesses.sum(axis=0)).mean(axis=1)
    return np.tensordot(shares, np.stack(every), axes=1)


if __name__ == "__main__":
    main()
