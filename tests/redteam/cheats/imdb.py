"""Sentiments of reviews that no network has read."""

import zlib

from cheats.given import WIDE_DIGITS, Files, Given, read, table

HEADER = ("id", "sentiment")
WINDOW = 32_000
"""What deflate remembers of the text before."""


def shorter_when_compressed(given: Given) -> Files:
    """A review is like those that help to compress it more: no training, no weights."""
    samples = {
        label: "\n".join(
            row["text"] for row in read(given, "train.csv") if row["sentiment"] == label
        )[-WINDOW:].encode()
        for label in ("0", "1")
    }
    rows = []
    for row in read(given, "test.csv"):
        size = {label: _compressed(row["text"].encode(), text) for label, text in samples.items()}
        rows.append((row["id"], min(size, key=size.__getitem__)))
    return table(HEADER, rows)


def sentiment_of_the_nearest_copy(given: Given) -> Files:
    """The sentiment of the training review that shares the most sentences."""
    known = [(_sentences(row["text"]), row["sentiment"]) for row in read(given, "train.csv")]
    rows = []
    for row in read(given, "test.csv"):
        said = _sentences(row["text"])
        rows.append((row["id"], max(known, key=lambda pair: len(said & pair[0]))[1]))
    return table(HEADER, rows)


def neither_nor(given: Given) -> Files:
    """A sentiment of one half is half right everywhere, or rounds to whatever is right."""
    return table(HEADER, [(row["id"], "0.5") for row in read(given, "test.csv")])


def each_review_once_in_either_digits(given: Given) -> Files:
    """Each id in ASCII digits as negative, and in wide digits as positive."""
    ids = [row["id"] for row in read(given, "test.csv")]
    return table(HEADER, [(i, 0) for i in ids] + [(i.translate(WIDE_DIGITS), 1) for i in ids])


def _compressed(text: bytes, before: bytes) -> int:
    compressor = zlib.compressobj(9, zdict=before)
    return len(compressor.compress(text) + compressor.flush())


def _sentences(text: str) -> set[str]:
    return {one.strip() for one in text.split(".")}


CHEATS = (
    shorter_when_compressed,
    sentiment_of_the_nearest_copy,
    neither_nor,
    each_review_once_in_either_digits,
)
