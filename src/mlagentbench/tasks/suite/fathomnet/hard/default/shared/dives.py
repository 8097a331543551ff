# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Reads the pictures dive by dive, scores guesses and writes a submission."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

GUESSES = 20


@dataclass
class Dives:
    """All pictures, by dive and frame; what the test dives show is not known."""

    ids: np.ndarray  # dive, frame
    pixels: np.ndarray  # dive, frame, row, column, channel
    labels: np.ndarray  # dive, frame, category
    boxes: list  # of a dive, of a frame: (category, left, top, width, height)
    known: np.ndarray
    survey: np.ndarray
    depth: np.ndarray
    categories: list
    groups: np.ndarray  # of a category


def rows_of(file: str) -> list[dict[str, str]]:
    with open(file, newline="") as handle:
        return list(csv.DictReader(handle))


def read() -> Dives:
    key = rows_of("category_key.csv")
    categories = [row["id"] for row in key]
    column = {name: place for place, name in enumerate(categories)}
    names = sorted({row["supercat"] for row in key})
    groups = np.array([names.index(row["supercat"]) for row in key])
    frames = sorted(rows_of("frames.csv"), key=lambda row: (int(row["dive"]), int(row["frame"])))
    order = sorted({int(row["dive"]) for row in frames})
    length = len(frames) // len(order)
    place = {row["id"]: divmod(n, length) for n, row in enumerate(frames)}
    ids = np.array([row["id"] for row in frames]).reshape(len(order), length)
    labels = np.zeros((*ids.shape, len(categories)), dtype=np.float32)
    known = np.zeros(len(order), dtype=bool)
    for row in rows_of("train.csv"):
        labels[place[row["id"]]][[column[name] for name in row["categories"].split()]] = 1
        known[place[row["id"]][0]] = True
    boxes = [[[] for _ in range(length)] for _ in order]
    for row in rows_of("train_boxes.csv"):
        dive, frame = place[row["id"]]
        sides = [float(row[side]) for side in ("left", "top", "width", "height")]
        boxes[dive][frame].append((column[row["category"]], *sides))
    pixels = np.stack([[picture(name) for name in dive] for dive in ids])
    first = frames[::length]
    survey = np.array([row["purpose"] == "survey" for row in first])
    depth = np.array([float(row["depth"]) for row in first])
    return Dives(ids, pixels, labels, boxes, known, survey, depth, categories, groups)


def picture(name: str) -> np.ndarray:
    file = Path("train_images") / f"{name}.png"
    if not file.exists():
        file = Path("test_images") / f"{name}.png"
    with Image.open(file) as image:
        return np.array(image.convert("RGB"))


def mean_average_precision(scores: np.ndarray, labels: np.ndarray) -> float:
    """MAP@20 of one row of scores per picture."""
    best = np.argsort(-scores, axis=1)[:, :GUESSES]
    hits = np.take_along_axis(labels, best, axis=1)
    precision = hits.cumsum(1) / np.arange(1, best.shape[1] + 1)
    return float(((precision * hits).sum(1) / np.clip(labels.sum(1), 1, GUESSES)).mean())


def write(dives: Dives, scores: np.ndarray) -> None:
    """scores: dive, frame, category, of the test dives in their order."""
    ids = dives.ids[~dives.known].reshape(-1)
    best = np.argsort(-scores.reshape(len(ids), -1), axis=1)[:, :GUESSES]
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", "categories"])
        for name, places in zip(ids, best, strict=True):
            writer.writerow([name, " ".join(dives.categories[place] for place in places)])
