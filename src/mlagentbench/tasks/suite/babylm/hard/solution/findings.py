# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""How each source writes down its lines, as far as the sample of plain text shows it.

A spelling is right if it gives words of the sample, an order if it gives pairs of them.
"""

import math
from itertools import pairwise

from recordings import Alphabet, Line, orders, respell, respelt, restore, spellings

SPELT_LINES, ORDERED_LINES = 10, 120
"""So many lines are tried."""
MOST_WORDS, NEARLY_ALL = 0.5, 0.85
"""A spelling can be right if so many words are known; it is for sure if nearly all are."""
ABOVE_CHANCE = 10
"""An order is right if it gives pairs of the sample so many times as often as chance does."""

FEWEST_PAIRS = 0.25
"""An order that leaves fewer pairs than this share of the most is none."""


def find(sources: dict[str, list[Line]], sample: list[Line]) -> dict:
    """By source, how it is spelt and ordered; None for sources that are not understood."""
    plain = [[word.rstrip(".") for word in line] for line in sample]
    alphabet = Alphabet([sample, *sources.values()])
    return {name: find_one(lines, plain, alphabet) for name, lines in sources.items()}


def find_one(lines: list[Line], plain: list[Line], alphabet: Alphabet) -> dict | None:
    spelling = find_spelling(lines, {word for line in plain for word in line}, alphabet)
    if spelling is None:
        return None
    order = find_order(respelt(lines[:ORDERED_LINES], spelling, alphabet), plain)
    return None if order is None else spelling | order


def find_spelling(lines: list[Line], known: set[str], alphabet: Alphabet) -> dict | None:
    """The spelling that gives the most known words; one that gives nearly all ends the search."""
    best, most = None, MOST_WORDS
    for backwards in (False, True):
        for spelling in spellings(alphabet.size):
            words = [
                word
                for line in lines[:SPELT_LINES]
                for word in respell(line, spelling, backwards, alphabet)
            ]
            share = sum(word in known for word in words) / len(words)
            if share > most:
                best, most = {"spelling": spelling, "words backwards": backwards}, share
            if share > NEARLY_ALL:
                return best
    return best


def find_order(lines: list[Line], plain: list[Line]) -> dict | None:
    """The order under which the pairs that the sample has, and those that it lacks, are likeliest.

    Part of the words in the right order has as large a share of known pairs, but fewer of them;
    all words with others between them have as many, but a smaller share.
    """
    pairs = {pair for line in plain for pair in pairwise(line)}
    chance = len(pairs) / len({word for line in plain for word in line}) ** 2
    tried = []
    for backwards in (False, True):
        for order in orders():
            restored = restore(lines, order, backwards)
            seen = [pair in pairs for line in restored for pair in pairwise(line)]
            way = {"order": order, "lines backwards": backwards}
            tried.append((way, sum(seen), len(seen)))
    most = max(count for *_, count in tried)
    tried = [one for one in tried if one[2] >= FEWEST_PAIRS * most]
    right = max(hits / count for _, hits, count in tried)
    if right < ABOVE_CHANCE * chance:
        return None
    hit, miss = math.log(right / chance), math.log((1 - right) / (1 - chance))
    return max(tried, key=lambda one: one[1] * hit + (one[2] - one[1]) * miss)[0]
