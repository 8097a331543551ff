"""Predictors that recognise no animal: by frequency, or by the look of the picture as a whole."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

GUESSES = 20
NEIGHBOURS = 30
THUMBNAIL = 8


def predictors(public: Path) -> dict[str, str]:
    """The submissions, as CSV text, by the predictor's name."""
    train, test = read_rows(public / "train.csv"), read_rows(public / "test.csv")
    categories = [row["id"] for row in read_rows(public / "category_key.csv")]
    labels = np.zeros((len(train), len(categories)))
    column = {name: place for place, name in enumerate(categories)}
    for row, image in enumerate(train):
        labels[row, [column[name] for name in image["categories"].split()]] = 1
    frequencies = labels.mean(axis=0)
    seen = [thumbnail(public / "train_images" / f"{row['id']}.png") for row in train]
    unseen = [thumbnail(public / "test_images" / f"{row['id']}.png") for row in test]
    scores = {
        "most_frequent": np.tile(frequencies, (len(test), 1)),
        "like_colours": by_neighbours(colours(seen), labels, colours(unseen)) + frequencies,
        "like_thumbnail": by_neighbours(flat(seen), labels, flat(unseen)) + frequencies,
    }
    ids = [row["id"] for row in test]
    return {name: as_csv(ids, categories, values) for name, values in scores.items()}


def thumbnail(file: Path) -> np.ndarray:
    with Image.open(file) as image:
        small = image.convert("RGB").resize((THUMBNAIL, THUMBNAIL), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float32)


def flat(thumbnails: list[np.ndarray]) -> np.ndarray:
    return np.stack(thumbnails).reshape(len(thumbnails), -1)


def colours(thumbnails: list[np.ndarray]) -> np.ndarray:
    """Mean and spread of red, green and blue."""
    pixels = np.stack(thumbnails)
    return np.hstack([pixels.mean(axis=(1, 2)), pixels.std(axis=(1, 2))])


def by_neighbours(seen: np.ndarray, labels: np.ndarray, unseen: np.ndarray) -> np.ndarray:
    """How many of the training images that look most alike have each category."""
    centre, spread = seen.mean(axis=0), seen.std(axis=0) + 1e-6
    seen, unseen = (seen - centre) / spread, (unseen - centre) / spread
    votes = np.empty((len(unseen), labels.shape[1]))
    for row, image in enumerate(unseen):
        distances = ((seen - image) ** 2).sum(axis=1)
        votes[row] = labels[np.argsort(distances, kind="stable")[:NEIGHBOURS]].sum(axis=0)
    return votes


def as_csv(ids: Sequence[str], categories: Sequence[str], scores: np.ndarray) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "categories"])
    for name, values in zip(ids, scores, strict=True):
        best = np.argsort(-values, kind="stable")[:GUESSES]
        writer.writerow([name, " ".join(categories[place] for place in best)])
    return text.getvalue()


def read_rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))
