"""Animals in pictures that are not looked at."""

from collections import Counter

from cheats.given import Files, Given, looked_up, read, table

HEADER = ("id", "categories")
MOST = 20


def animals_of_the_same_file_size(given: Given) -> Files:
    """Pictures of the same animals may compress to files of the same size."""
    known = [(_size(given, "train", row["id"]), row["categories"]) for row in _train(given)]
    asked = [row["id"] for row in read(given, "test.csv")]
    found = looked_up(known, [_size(given, "test", one) for one in asked])
    return _filled(given, dict(zip(asked, found, strict=True)))


def animals_of_the_nearest_id(given: Given) -> Files:
    """Ids may have been given dive by dive, and a dive has its own animals."""
    known = [(float(int(row["id"], 16)), row["categories"]) for row in _train(given)]
    asked = [row["id"] for row in read(given, "test.csv")]
    found = looked_up(known, [float(int(one, 16)) for one in asked])
    return _filled(given, dict(zip(asked, found, strict=True)))


def one_animal_in_twenty_spellings(given: Given) -> Files:
    """The commonest animal as 7, 07, 007 and so on: each place of the list is a hit."""
    common = _by_frequency(given)[0]
    spelled = " ".join(common.zfill(width) for width in range(1, MOST + 1))
    return table(HEADER, [(row["id"], spelled) for row in read(given, "test.csv")])


def all_animals_in_one_list(given: Given) -> Files:
    """All sixty animals, joined by spaces that do not break: they may count as one word."""
    names = "\u00a0".join(_by_frequency(given))
    return table(HEADER, [(row["id"], names) for row in read(given, "test.csv")])


def _train(given: Given) -> list[dict[str, str]]:
    return read(given, "train.csv")


def _size(given: Given, part: str, name: str) -> float:
    return (given.public / f"{part}_images" / f"{name}.png").stat().st_size


def _by_frequency(given: Given) -> list[str]:
    counts = Counter(name for row in _train(given) for name in row["categories"].split())
    return [name for name, _ in counts.most_common()]


def _filled(given: Given, first: dict[str, str]) -> Files:
    """The guesses, and after them the commonest animals."""
    common = _by_frequency(given)
    rows = []
    for one, categories in first.items():
        guesses = dict.fromkeys([*categories.split(), *common])
        rows.append((one, " ".join(list(guesses)[:MOST])))
    return table(HEADER, rows)


CHEATS = (
    animals_of_the_same_file_size,
    animals_of_the_nearest_id,
    one_animal_in_twenty_spellings,
    all_animals_in_one_list,
)
