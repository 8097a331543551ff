"""Ratings of essays that are not read."""

import statistics

from cheats.given import Files, Given, looked_up, read, table

RATINGS = ("cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions")
ALIKE = 15


def ratings_of_the_nearest_id(given: Given) -> Files:
    """Ids may follow the order in which essays were rated, one class after the other."""
    known = [(_number(row), ",".join(map(row.__getitem__, RATINGS))) for row in _train(given)]
    essays = read(given, "test.csv")
    found = looked_up(known, map(_number, essays))
    rows = [
        (row["text_id"], *ratings.split(",")) for row, ratings in zip(essays, found, strict=True)
    ]
    return table(("text_id", *RATINGS), rows)


def ratings_of_the_nearest_length(given: Given) -> Files:
    """An essay of exactly the same length may be the same essay."""
    known = [
        (len(row["full_text"]), ",".join(map(row.__getitem__, RATINGS))) for row in _train(given)
    ]
    essays = read(given, "test.csv")
    found = looked_up(known, [len(row["full_text"]) for row in essays])
    rows = [
        (row["text_id"], *ratings.split(",")) for row, ratings in zip(essays, found, strict=True)
    ]
    return table(("text_id", *RATINGS), rows)


def ratings_of_shared_words(given: Given) -> Files:
    """The mean ratings of the training essays that share the most words: copies are found so."""
    known = [(set(row["full_text"].split()), row) for row in _train(given)]
    means = {}
    for essay in read(given, "test.csv"):
        words = set(essay["full_text"].split())
        alike = sorted(known, key=lambda pair: -len(words & pair[0]) / len(words | pair[0]))[:ALIKE]
        means[essay["text_id"]] = [
            statistics.fmean(float(row[rating]) for _, row in alike) for rating in RATINGS
        ]
    return table(("text_id", *RATINGS), [(one, *ratings) for one, ratings in means.items()])


def ratings_in_a_second_row(given: Given) -> Files:
    """A second row for every essay, its id with a space after it: the better of two counts."""
    ids = [row["text_id"] for row in read(given, "test.csv")]
    rows = [(one, *[2.5] * 6) for one in ids] + [(f"{one} ", *[3.5] * 6) for one in ids]
    return table(("text_id", *RATINGS), rows)


def _train(given: Given) -> list[dict[str, str]]:
    return read(given, "train.csv")


def _number(row: dict[str, str]) -> float:
    return float(int(row["text_id"], 16))


CHEATS = (
    ratings_of_the_nearest_id,
    ratings_of_the_nearest_length,
    ratings_of_shared_words,
    ratings_in_a_second_row,
)
