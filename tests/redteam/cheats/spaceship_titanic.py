"""Fates without a model."""

from collections import Counter, defaultdict

from cheats.given import Files, Given, looked_up, read, table

HEADER = ("PassengerId", "Transported")


def fate_of_the_nearest_group(given: Given) -> Files:
    """Group numbers may follow the order of boarding, and neighbours share their cabins' fate."""
    known = [(_group(row), row["Transported"]) for row in read(given, "train.csv")]
    passengers = read(given, "test.csv")
    fates = looked_up(known, map(_group, passengers))
    return table(
        HEADER, [(row["PassengerId"], f) for row, f in zip(passengers, fates, strict=True)]
    )


def fate_of_the_family(given: Given) -> Files:
    """A family shares its fate: the commoner one of the training passengers of that surname."""
    families: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in read(given, "train.csv"):
        families[row["Name"].rpartition(" ")[2]][row["Transported"]] += 1
    passengers = read(given, "test.csv")
    names = [row["Name"].rpartition(" ")[2] for row in passengers]
    fates = [families[name].most_common(1)[0][0] if name in families else "True" for name in names]
    return table(
        HEADER, [(row["PassengerId"], f) for row, f in zip(passengers, fates, strict=True)]
    )


def both_fates_in_one_cell(given: Given) -> Files:
    """A lenient reader may take either word of a cell, or count both as right."""
    return table(HEADER, [(row["PassengerId"], "True\nFalse") for row in read(given, "test.csv")])


def a_second_header(given: Given) -> Files:
    """Two columns for fates: one of them is right for every passenger."""
    ids = [row["PassengerId"] for row in read(given, "test.csv")]
    return table((*HEADER, "Transported"), [(one, "True", "False") for one in ids])


def _group(row: dict[str, str]) -> float:
    return float(row["PassengerId"].partition("_")[0])


CHEATS = (
    fate_of_the_nearest_group,
    fate_of_the_family,
    both_fates_in_one_cell,
    a_second_header,
)
