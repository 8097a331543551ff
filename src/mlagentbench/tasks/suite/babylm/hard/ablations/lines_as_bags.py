# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""The reference, but it does not know orders: expectation maximisation decides which words of a
line go with which others."""

import numpy as np
import reference
from recordings import Alphabet, Line

ROUNDS = 8


def follow(lines: list[Line], words: list[str]) -> np.ndarray:
    """The share of each word among those that each word brings into a line."""
    place = {word: number for number, word in enumerate(words)}
    bags = [[place[word] for word in line if word in place] for line in lines]
    near = [(a, b, (at, j)) for at, bag in enumerate(bags) for j, b in enumerate(bag)
            for i, a in enumerate(bag) if i != j]  # fmt: skip
    one, two = np.array([(a, b) for a, b, _ in near]).T
    _, which = np.unique(np.array([key for *_, key in near]), axis=0, return_inverse=True)
    pairs, table = one * len(words) + two, np.full(len(words) ** 2, 1 / len(words))
    for _ in range(ROUNDS):
        share = table[pairs] / np.bincount(which, table[pairs])[which]
        counts = np.bincount(pairs, share, len(words) ** 2).reshape(len(words), -1)
        counts += reference.PRIOR / len(words)
        table = (counts / counts.sum(axis=1, keepdims=True)).ravel()
    return table.reshape(len(words), -1)


def plain_text(lines: list[Line], way: dict, alphabet: Alphabet) -> list[Line]:
    return reference.restore(reference.respelt(lines, way, alphabet), ["plain"], False)


reference.follow, reference.plain_text = follow, plain_text
reference.main()
