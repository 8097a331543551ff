# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""Tables of word pairs, mixed so that they predict sentences of the sample that they lack."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
from pair_model import bits_per_byte, save, token_table, tokenizer_of

FOLDS, ROUNDS, PRIOR = 5, 60, 0.5
OFTEN, KNOWN = 20, 0.5
"""How often a word must be there; how many of a source's words the sample must have."""
Line = list[str]


def read_folder(folder: str) -> dict[str, list[Line]]:
    """The lines of each file as words, without full stops."""
    return {
        file.stem: [
            [word.rstrip(".") for word in line.split()]
            for line in file.read_text(encoding="utf-8").splitlines()
        ]
        for file in sorted(Path(folder).iterdir())
    }


def read_sample() -> list[Line]:
    return [line for lines in read_folder("babylm_dev").values() for line in lines]


def readable(sources: list[list[Line]], sample: list[Line]) -> list[list[Line]]:
    """Sources most of whose words are in the sample."""
    known = {word for line in sample for word in line}
    words = [[word for line in lines for word in line] for lines in sources]
    return [
        lines
        for lines, some in zip(sources, words, strict=True)
        if sum(word in known for word in some) > KNOWN * len(some)
    ]


def neighbours(lines: list[Line], distance: int = 1) -> list[tuple[str, str]]:
    """Pairs of words of a line; a negative distance reads it backwards."""
    if distance < 0:
        return [(two, one) for one, two in neighbours(lines, -distance)]
    return [pair for line in lines for pair in zip(line, line[distance:], strict=False)]


class Mixture:
    """How words follow each other in the sample, learnt from lists of pairs."""

    def __init__(self, sample: list[Line], texts: list[list[Line]]) -> None:
        self.sample = sample
        known = {word for line in sample for word in line}
        counts = Counter(word for lines in texts for line in lines for word in line)
        self.words = sorted(
            known | {word for word, count in counts.items() if word and count >= OFTEN}
        )
        self.place = {word: number for number, word in enumerate(self.words)}

    def table(self, pairs: list[tuple[str, str]]) -> np.ndarray:
        size = len(self.words)
        known = [
            self.place[one] * size + self.place[two]
            for one, two in pairs
            if one in self.place and two in self.place
        ]
        counts = np.bincount(np.array(known, dtype=int), minlength=size * size)
        counts = counts.reshape(size, size) + PRIOR / size
        return counts / counts.sum(axis=1, keepdims=True)

    def fit(self, tables: list[np.ndarray]) -> np.ndarray:
        """Weights by expectation maximisation; the sample's own table is judged by folds."""
        own, seen = [], []
        for fold in range(FOLDS):
            rest = [line for at, line in enumerate(self.sample) if at % FOLDS != fold]
            table = self.table([pair for line in rest for pair in pairwise(line)])
            pairs = [
                (self.place[one], self.place[two])
                for line in self.sample[fold::FOLDS]
                for one, two in pairwise(line)
            ]
            own += [table[pair] for pair in pairs]
            seen += pairs
        rows, columns = np.array(seen).T
        every = [*tables, np.full((len(self.words),) * 2, 1 / len(self.words))]
        likely = np.stack([*(table[rows, columns] for table in every), own])
        shares = np.full(len(likely), 1 / len(likely))
        for _ in range(ROUNDS):
            guesses = shares[:, None] * likely
            shares = (guesses / guesses.sum(axis=0)).mean(axis=1)
        every.append(self.table([pair for line in self.sample for pair in pairwise(line)]))
        return sum(share * table for share, table in zip(shares, every, strict=True))

    def write(self, tables: list[np.ndarray]) -> None:
        after = self.fit(tables)
        tokenizer = tokenizer_of(self.words)
        stop = len(self.sample) / sum(map(len, self.sample))
        table = token_table(tokenizer, self.words, after, stop)
        text = "".join(" ".join(line) + ".\n" for line in self.sample)
        print(f"validation bits per byte={bits_per_byte(tokenizer, table, text):.4f}")
        save(tokenizer, table, Path("output"))
