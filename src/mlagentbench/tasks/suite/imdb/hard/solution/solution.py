# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Learns from reviews without labels which words of the tested genre go together.

What turns sentences round is found in labelled reviews of all genres. With that, the words of the
tested genre fall into two camps, and its few labels say which of them is the good one.
"""

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
from findings import find
from reviews import sentences

LEAST = 20
"""A word must end so many sentences."""
ROUNDS = 20


def main() -> None:
    train, test, unlabelled = (
        pd.read_csv(f"{name}.csv") for name in ("train", "test", "unlabelled")
    )
    found = find(train, test)
    print("findings", json.dumps(found))
    reader = Reader(found["turning"], unlabelled["text"])
    model = learn(reader, train, unlabelled, found["tested"])

    def predict(texts: pd.Series) -> np.ndarray:
        return model.predict(reader.count(texts))

    print(f"validation accuracy={accuracy_of_halves(predict, unlabelled['text']):.4f}")
    submission = pd.DataFrame({"id": test["id"], "sentiment": predict(test["text"])})
    submission.to_csv("submission.csv", index=False)


def accuracy_of_halves(predict: Callable[[pd.Series], np.ndarray], texts: pd.Series) -> float:
    """How often half a review is read rightly, from how its two halves' readings correlate."""
    split = texts.str.split(r"(?<=\.) ", regex=True)
    one, other = (predict(split.str[first::2].str.join(" ")) for first in (0, 1))
    if one.std() == 0 or other.std() == 0:
        return 0.5
    return (1 + np.sqrt(max(np.corrcoef(one, other)[0, 1], 0))) / 2


class Reader:
    """Counts how often a review says each word, less how often it says the opposite."""

    def __init__(self, turning: dict, texts: pd.Series) -> None:
        self.part = turning["part"]
        self.signs = dict.fromkeys(turning["straight"], 1) | dict.fromkeys(turning["turned"], -1)
        often = sentences(texts)["word"].value_counts()
        self.words = {word: place for place, word in enumerate(often.index[often >= LEAST])}

    def count(self, texts: pd.Series) -> np.ndarray:
        said = sentences(texts)
        said = said[said["word"].isin(self.words)]
        counts = np.zeros((len(texts), len(self.words)))
        signs = said[self.part].map(self.signs).fillna(0)
        np.add.at(counts, (said["review"], said["word"].map(self.words)), signs)
        return counts


class Camps:
    """Two camps of words: reviews say those of one, and the opposite of the other's."""

    def __init__(self, counts: np.ndarray) -> None:
        together = counts.T @ counts
        np.fill_diagonal(together, 0)
        size = np.sqrt(np.maximum(np.abs(counts).sum(axis=0), 1))
        self.weights = np.linalg.eigh(together / np.outer(size, size))[1][:, -1] / size
        self.weights *= 1 / np.abs(self.weights).mean()
        for _ in range(ROUNDS):
            camp = np.tanh(self.log_odds(counts))
            shares = (camp @ counts) / (np.abs(counts).sum(axis=0) + 1)
            self.weights = np.arctanh(np.clip(shares, -0.95, 0.95))

    def log_odds(self, counts: np.ndarray) -> np.ndarray:
        """Half of the log odds that a review is of the first camp."""
        return counts @ self.weights

    def predict(self, counts: np.ndarray) -> np.ndarray:
        """1 for reviews of the first camp, 0 for others."""
        return (self.log_odds(counts) > 0).astype(int)


def learn(reader: Reader, train: pd.DataFrame, unlabelled: pd.DataFrame, tested: str) -> Camps:
    """The camps of the reviews without labels; the few with labels say which one is good."""
    model = Camps(reader.count(unlabelled["text"]))
    few = train[train["genre"] == tested]
    agreement = (2 * few["sentiment"] - 1) @ model.log_odds(reader.count(few["text"]))
    model.weights *= np.sign(agreement)
    return model


if __name__ == "__main__":
    main()
