# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Puts annotators' masks where they belong, and learns from the right ones which lines count.

First it finds lines in images without any labels. They show in which order, and where, the masks of
each annotator were drawn. Then the kinds of lines that are marked tell whom to trust.
"""

import csv
import json

import numpy as np
from exports import repair
from findings import find
from kinds import Kinds
from lines import Lines, find_lines, pooled
from sklearn.ensemble import HistGradientBoostingClassifier

THRESHOLDS = np.linspace(0.2, 0.7, 26)
FOLDS = 2
LEAST, PIXELS = 2.5, 60_000
"""Pixels with weaker lines are never marked; about so many others are enough to learn from."""


def main() -> None:
    images, masks, annotators = (
        np.load(f"train_{name}.npy") for name in ("images", "masks", "annotators")
    )
    lines = find_lines(images)
    found = find(lines, masks, annotators)
    print("findings", json.dumps(found))
    repaired = repair(masks, annotators, found["exports"])
    rows = rows_to_learn_from(annotators, found["trusted"])
    model = Model(lines.of(rows), repaired[rows], found["traits"])
    agreed = annotators == 0
    guesses = model.predict(lines.of(agreed))
    print(f"validation dice={dice(guesses, masks[agreed]):.4f}")
    write_submission(model.predict(find_lines(np.load("test_images.npy"))))


def rows_to_learn_from(annotators: np.ndarray, trusted: list[int]) -> np.ndarray:
    """The records of those who are right; the consensus is for validation."""
    return np.isin(annotators, trusted)


class Model:
    """Which kinds of lines are marked, and how wide and long."""

    def __init__(self, lines: Lines, masks: np.ndarray, traits: list[str]) -> None:
        parts = [np.arange(len(masks)) % FOLDS != fold for fold in range(FOLDS)]
        rate = np.zeros(masks.shape)
        for rows in parts:
            rate[~rows] = Kinds(lines.of(rows), masks[rows], traits).rate(lines.of(~rows))
        self.kinds = Kinds(lines, masks, traits)
        inputs, chances = features(lines, rate), np.zeros(masks.shape)
        known = ~np.isnan(masks) & (lines.strength > LEAST)
        for rows in parts:
            learnt, told = (known & some[:, None, None] for some in (rows, ~rows))
            chances[told] = classifier(inputs[learnt], masks[learnt]).predict_proba(inputs[told])[
                :, 1
            ]
        self.final = classifier(inputs[known], masks[known])
        seen = ~np.isnan(masks)
        self.threshold = max(THRESHOLDS, key=lambda limit: dice(chances[seen] > limit, masks[seen]))

    def predict(self, lines: Lines) -> np.ndarray:
        inputs = features(lines, self.kinds.rate(lines))
        known = lines.strength > LEAST
        marked = np.zeros(known.shape, dtype=bool)
        marked[known] = self.final.predict_proba(inputs[known])[:, 1] > self.threshold
        return marked


def classifier(inputs: np.ndarray, marked: np.ndarray) -> HistGradientBoostingClassifier:
    model = HistGradientBoostingClassifier(
        max_iter=60, learning_rate=0.1, max_leaf_nodes=15, min_samples_leaf=60, random_state=0
    )
    step = -(-len(inputs) // PIXELS)
    return model.fit(inputs[::step], marked[::step] > 0)


def features(lines: Lines, rate: np.ndarray) -> np.ndarray:
    """How often lines like this one are marked, and where on the line a pixel is."""
    strength = lines.strength
    padded = np.pad(strength, [(0, 0), (2, 2), (2, 2)], mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5), axis=(1, 2))
    highest = windows.max(axis=(3, 4))
    along = pooled(lines, strength)
    return np.stack([pooled(lines, rate), rate, strength, strength / highest, along], axis=-1)


def dice(guesses: np.ndarray, masks: np.ndarray) -> float:
    """Of all pixels of all images together."""
    return float(2 * (guesses * masks).sum() / max(1, guesses.sum() + masks.sum()))


def encode(mask: np.ndarray) -> str:
    """Runs of marked pixels: start and length, counted from 1, down the columns."""
    flat = np.concatenate([[0], mask.T.ravel(), [0]]).astype(np.int8)
    starts, ends = (np.flatnonzero(np.diff(flat) == step) for step in (1, -1))
    runs = (f"{start + 1} {end - start}" for start, end in zip(starts, ends, strict=True))
    return " ".join(runs) or "-"


def write_submission(masks: np.ndarray) -> None:
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["record_id", "encoded_pixels"])
        writer.writerows([row, encode(mask)] for row, mask in enumerate(masks))


if __name__ == "__main__":
    main()
