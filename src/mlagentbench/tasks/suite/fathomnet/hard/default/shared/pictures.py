# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Reading pictures and tables, validation on surveys, and writing a submission."""

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

GUESSES = 20


class Data:
    """Training and test pictures with what is known of their frames."""

    def __init__(self) -> None:
        frames = pd.read_csv("frames.csv", dtype={"id": str})
        train = pd.read_csv("train.csv", dtype={"id": str, "categories": str})
        self.train = train.drop(columns="dive").merge(frames, on="id")
        self.test = pd.read_csv("test.csv", dtype={"id": str}).merge(frames, on="id")
        self.key = pd.read_csv("category_key.csv", dtype=str)
        self.seen = read_pictures("train_images", self.train["id"])
        self.unseen = read_pictures("test_images", self.test["id"])
        column = {name: n for n, name in enumerate(self.key["id"])}
        self.labels = np.zeros((len(self.train), len(column)), dtype=np.float32)
        for row, text in enumerate(self.train["categories"]):
            self.labels[row, [column[name] for name in text.split()]] = 1

    def surveys(self) -> np.ndarray:
        return (self.train["purpose"] == "survey").to_numpy()

    def folds(self, count: int = 2) -> list[np.ndarray]:
        """Masks of training pictures: parts of the survey dives, each held back in turn."""
        dives = np.sort(self.train.loc[self.surveys(), "dive"].unique())
        return [self.train["dive"].isin(dives[n::count]).to_numpy() for n in range(count)]


def read_pictures(folder: str, ids: pd.Series) -> np.ndarray:
    files = [Path(folder) / f"{name}.png" for name in ids]
    return np.stack([np.asarray(Image.open(file).convert("RGB")) for file in files])


def balanced(pictures: np.ndarray, dives: pd.Series) -> np.ndarray:
    """Logarithms of the pixels, without the middle colour of their dive."""
    values = np.log(pictures / 255 + 0.05).astype(np.float32)
    for _, rows in dives.groupby(dives).groups.items():
        values[rows] -= np.median(values[rows], axis=(0, 1, 2))
    return values


def mean_average_precision(scores: np.ndarray, labels: np.ndarray) -> float:
    best = np.argsort(-scores, axis=1)[:, :GUESSES]
    hits = np.take_along_axis(labels, best, axis=1)
    precision = hits.cumsum(axis=1) / np.arange(1, best.shape[1] + 1)
    return float(((precision * hits).sum(axis=1) / labels.sum(axis=1).clip(1, GUESSES)).mean())


def write_submission(data: Data, scores: np.ndarray) -> None:
    names = data.key["id"].to_numpy()
    best = np.argsort(-scores, axis=1)[:, :GUESSES]
    ranked = [" ".join(names[row]) for row in best]
    table = pd.DataFrame({"id": data.test["id"], "categories": ranked})
    table.to_csv("submission.csv", index=False)
