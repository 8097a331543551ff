# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""What one may guess about how sources are written, without having seen any."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise

from mixtures import Line

TRIED = 40
LIKELY, ABOVE_CHANCE = 0.4, 6
"""Words that must be known; how much more often than by chance words must follow each other."""


def respelt(lines: list[Line], known: set[str]) -> list[Line]:
    """The lines in the spelling, of the usual ones, that has the most known words."""

    def score(change: Callable[[str], str]) -> float:
        words = [change(word) for line in lines[:TRIED] for word in line]
        return sum(word in known for word in words) / len(words)

    best = max(changes(known), key=score)
    if score(best) < LIKELY:
        return []
    cached: dict[str, str] = {}
    for line in lines:
        for word in line:
            if word not in cached:
                cached[word] = best(word)
    return [[cached[word] for word in line] for line in lines]


def changes(known: set[str]) -> Iterator[Callable[[str], str]]:
    """Alphabets shifted or turned round, words backwards, turned, with letters mixed, or each
    shifted by a number of its own."""
    alphabet = "".join(sorted(set("".join(known))))
    for letters in (alphabet, "abcdefghijklmnopqrstuvwxyz"):
        for turned in (letters, letters[::-1]):
            for by in range(len(letters)):
                table = str.maketrans(letters, turned[by:] + turned[:by])
                yield lambda word, table=table: word.translate(table)
                yield lambda word, table=table: word.translate(table)[::-1]
    for by in range(1, 4):
        yield lambda word, by=by: word[by:] + word[:by]
        yield lambda word, by=by: word[-by:] + word[:-by]
    anagrams: dict[str, list[str]] = defaultdict(list)
    for word in known:
        anagrams["".join(sorted(word))].append(word)
    yield lambda word: (anagrams.get("".join(sorted(word))) or [""])[0]
    for step in (1, -1):
        steps = {letter_steps(word[::step], alphabet): word for word in known}
        yield lambda word, steps=steps: steps.get(letter_steps(word, alphabet), "")


def letter_steps(word: str, alphabet: str) -> tuple[int, ...]:
    """How far it is from each letter to the next: the same whatever a word is shifted by."""
    places = [alphabet.find(letter) for letter in word]
    return tuple((two - one) % len(alphabet) for one, two in pairwise(places))


def pairs_by_place(
    lines: list[Line], seen: set[tuple[str, str]], chance: float
) -> list[tuple[str, str]]:
    """Words at such places of lines of one length as often hold a pair of the sample."""
    by_length = defaultdict(list)
    for line in lines:
        by_length[len(line)].append(line)
    found = []
    for length, group in by_length.items():
        for one in range(length):
            pairs = {
                two: [(line[one], line[two]) for line in group]
                for two in range(length)
                if two != one
            }
            if not pairs:
                continue
            hits = {two: sum(pair in seen for pair in some) for two, some in pairs.items()}
            best = max(hits, key=hits.__getitem__)
            if hits[best] > max(4, ABOVE_CHANCE * chance * len(group)):
                found += pairs[best]
    return found
