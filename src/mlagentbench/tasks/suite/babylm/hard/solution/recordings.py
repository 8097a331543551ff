# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""Ways in which a source may write down its lines, and how to undo them.

An order says where the words of some lines go. It is undone by letting it carry the words' places
in place of the words. Full stops, which say where sentences end, stay until the order is undone.
"""

from collections.abc import Callable
from itertools import accumulate

Line = list[str]
Places = list[int]
VOWELS = "aeiouy"
LARGEST_GROUP, LARGEST_LAG = 12, 8


def orders() -> list[list]:
    """All ways to order words that are tried: a name and its settings."""
    found: list[list] = [["plain"]]
    for size in range(2, LARGEST_GROUP + 1):
        found += [[name, size] for name in ("braid", "snake", "mirror", "carousel")]
        found += [[name, size, by] for name in ("dealt", "squares") for by in range(1, size)]
    for size in range(1, LARGEST_LAG + 1):
        found += [[name, by] for name in ("lagging", "swing") for by in (size, -size)]
        found.append(["relay", size])
    return found


def restore(lines: list[Line], order: list, backwards: bool) -> list[Line]:
    """The lines as they were before their words were put in this order, without full stops."""
    if backwards:
        lines = [line[::-1] for line in lines]
    name, *settings = order
    if name == "relay":
        return without_stops(relay_back(lines, *settings))
    lines = without_stops(lines)
    count = len(lines) if name in ("lagging", "swing") else settings[0] if name in GROUPED else 1
    result: list[Line] = []
    for number in range(0, len(lines), count):
        group = lines[number : number + count]
        words = [word for line in group for word in line]
        sizes = [len(line) for line in group]
        places = ORDERS[name](sizes, number, *settings)
        back = dict(zip(places, words, strict=True))
        result += [
            [back[at] for at in range(end - size, end)]
            for end, size in zip(accumulate(sizes), sizes, strict=True)
        ]
    return result


def without_stops(lines: list[Line]) -> list[Line]:
    return [[word.rstrip(".") for word in line] for line in lines]


def relay_back(lines: list[Line], step: int) -> list[Line]:
    """Sentences each word of which stands so many lines after the one before, newest first."""
    ended: list[Line] = []
    running: list[list[Line]] = [[] for _ in range(step)]
    for number, line in enumerate(lines):
        sentences = [[], *running[number % step]]
        for sentence, word in zip(sentences, line, strict=False):
            sentence.append(word)
        done = [bool(sentence) and sentence[-1].endswith(".") for sentence in sentences]
        ended += [one for one, over in zip(sentences, done, strict=True) if over]
        running[number % step] = [
            one for one, over in zip(sentences, done, strict=True) if not over
        ]
    return ended + [sentence for some in running for sentence in some]


def plain(sizes: Places, _number: int) -> Places:
    return list(range(sizes[0]))


def braid(sizes: Places, _number: int, _count: int, snake: bool = False) -> Places:
    """The lines of a group take turns, in a snake each second time from the last up."""
    starts = [end - size for end, size in zip(accumulate(sizes), sizes, strict=True)]
    return [
        starts[at] + place
        for place in range(max(sizes))
        for at in list(range(len(sizes)))[:: -1 if snake and place % 2 else 1]
        if place < sizes[at]
    ]


def snake(sizes: Places, _number: int, count: int) -> Places:
    return braid(sizes, 0, count, snake=True)


def exchanged(sizes: Places, by: Callable[[int], int]) -> Places:
    """Words keep their place, and come from another of the lines that have this place."""
    starts = [end - size for end, size in zip(accumulate(sizes), sizes, strict=True)]
    places = [0] * sum(sizes)
    for place in range(max(sizes)):
        long = [start for start, size in zip(starts, sizes, strict=True) if place < size]
        for turn, start in enumerate(long):
            places[start + place] = long[(turn + by(place)) % len(long)] + place
    return places


def dealt(sizes: Places, _number: int, _count: int, step: int) -> Places:
    return exchanged(sizes, lambda place: place * step)


def lagging(sizes: Places, _number: int, lag: int) -> Places:
    return exchanged(sizes, lambda place: place % 2 * lag)


def squares(sizes: Places, _number: int, _count: int, step: int) -> Places:
    return exchanged(sizes, lambda place: place * place * step)


def swing(sizes: Places, _number: int, lag: int) -> Places:
    return exchanged(sizes, lambda place: (0, lag, 0, -lag)[place % 4])


def mirror(sizes: Places, _number: int, count: int) -> Places:
    """A braid in which each second line runs backwards."""
    turned: Places = []
    for at, (end, size) in enumerate(zip(accumulate(sizes), sizes, strict=True)):
        turned += list(range(end - size, end))[:: -1 if at % 2 else 1]
    return [turned[place] for place in braid(sizes, 0, count)]


def carousel(sizes: Places, number: int, period: int) -> Places:
    mixed = [*range(1, sizes[0], 2), *range(0, sizes[0], 2)]
    return mixed[number % period :] + mixed[: number % period]


ORDERS: dict[str, Callable[..., Places]] = {
    "plain": plain, "braid": braid, "snake": snake, "dealt": dealt, "lagging": lagging,
    "squares": squares, "swing": swing, "mirror": mirror, "carousel": carousel,
}  # fmt: skip
GROUPED = ("braid", "snake", "mirror", "dealt", "squares")


def spellings(letters: int) -> list[list]:
    """All ways to spell words that are tried, simple ones first."""
    found: list[list] = [["plain"], ["longer"], *(["lent", by] for by in range(1, 6))]
    found += [["woven", count] for count in range(2, 8)]
    found += [["stretched", by] for by in range(1, letters)]
    found += [["leans", first, written] for first in range(letters) for written in range(2)]
    pairs = [[first, more] for first in range(letters) for more in range(letters)]
    return found + [[name, *pair] for name in ("grows", "runs", "key") for pair in pairs]


def respell(line: Line, spelling: list, backwards: bool, alphabet: "Alphabet") -> Line:
    """The words of a recorded line, as the language spells them, without full stops."""
    words = [word.rstrip(".") for word in line]
    name, *settings = spelling
    if name == "grows":
        words = [alphabet.growing_back(word, *settings) for word in words]
    elif name == "runs":
        words = recut(alphabet.growing_back("".join(words), *settings), words)
    elif name == "leans":
        words = [alphabet.leaning_back(word, *settings) for word in words]
    elif name == "stretched":
        words = [alphabet.growing_back(word, 0, settings[0] * len(word)) for word in words]
    elif name == "lent":
        by = settings[0] % len(words)
        lenders = words[by:] + words[:by]
        words = [a[0] + word[1:] for a, word in zip(lenders, words, strict=True)]
    elif name == "key":
        words = [
            "".join(alphabet.back(letter, settings[at % 2]) for at, letter in enumerate(word))
            for word in words
        ]
    elif name == "woven":
        words = recut(unwoven("".join(words), settings[0]), words)
    elif name == "longer":
        words = [shorter(word) for word in words]
    return [word[::-1] for word in words] if backwards else words


def respelt(lines: list[Line], way: dict, alphabet: "Alphabet") -> list[Line]:
    """All lines of a source that is spelt in this way, with their full stops."""
    result = []
    for line in lines:
        words = respell(line, way["spelling"], way["words backwards"], alphabet)
        result.append([new + "." * old.endswith(".") for new, old in zip(words, line, strict=True)])
    return result


def unwoven(letters: str, count: int) -> str:
    places = [at for first in range(count) for at in range(first, len(letters), count)]
    back = dict(zip(places, letters, strict=True))
    return "".join(back[at] for at in range(len(letters)))


def recut(letters: str, words: Line) -> Line:
    """These letters in words as long as those."""
    ends = accumulate(map(len, words))
    return [letters[end - len(word) : end] for word, end in zip(words, ends, strict=True)]


def shorter(word: str) -> str:
    """Without the letter after each vowel."""
    kept, at = "", 0
    while at < len(word):
        kept += word[at]
        at += 2 if word[at] in VOWELS else 1
    return kept


class Alphabet:
    """Moves letters back in the alphabet of the language: all letters that some text has."""

    def __init__(self, texts: list[list[Line]]) -> None:
        letters = {letter for lines in texts for line in lines for word in line for letter in word}
        self.letters = sorted(letters - {"."})
        self.size = len(self.letters)
        self.place = {letter: at for at, letter in enumerate(self.letters)}

    def back(self, word: str, by: int) -> str:
        return self.growing_back(word, by, 0)

    def growing_back(self, word: str, first: int, more: int) -> str:
        """Each letter was shifted further than the one before it."""
        return "".join(
            self.letters[(self.place[letter] - first - more * at) % self.size]
            for at, letter in enumerate(word)
        )

    def leaning_back(self, word: str, first: int, written: int) -> str:
        """Each letter was shifted by the one before it, as it was or as it is written."""
        plain, by = "", first
        for letter in word:
            plain += self.letters[(self.place[letter] - by) % self.size]
            by = self.place[letter if written else plain[-1]]
        return plain
