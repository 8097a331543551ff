# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, as if nothing turned sentences round."""

import re
from collections.abc import Callable

import numpy as np
import pandas as pd

LEAST = 20
"""A word must end so many sentences."""
ROUNDS = 20
PARTS = ["before the word", "after the", "frame"]
"""Of a sentence, any of which may turn round what its last word says."""
CERTAIN = 2.0
"""Standard deviations from which on a value is said to turn, or not to."""
SHUFFLES = 5


def main() -> None:
    train, test, unlabelled = (
        pd.read_csv(f"{name}.csv") for name in ("train", "test", "unlabelled")
    )
    found = find(train, test)
    found["turning"]["straight"] += found["turning"]["turned"]
    found["turning"]["turned"] = []
    reader = Reader(found["turning"], unlabelled["text"])
    model = Camps(reader.count(unlabelled["text"]))
    few = train[train["genre"] == found["tested"]]
    agreement = (2 * few["sentiment"] - 1) @ model.log_odds(reader.count(few["text"]))
    model.weights *= np.sign(agreement)

    def predict(texts: pd.Series) -> np.ndarray:
        return (model.log_odds(reader.count(texts)) > 0).astype(int)

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


def sentences(texts: pd.Series) -> pd.DataFrame:
    """The sentences of all reviews, each with its last word and its other parts."""
    rows = []
    for review, text in enumerate(texts):
        for sentence in re.split(r"[.!?]\s*", text.lower()):
            *rest, word = sentence.split() or [""]
            if rest:
                place = rest.index("the") + 1 if "the" in rest[:-1] else -1
                aspect = rest[place] if place > 0 else ""
                frame = " ".join(["_" if i == place else other for i, other in enumerate(rest)])
                before = rest[-1] if place != len(rest) - 1 else ""
                rows.append((review, word, before, aspect, frame))
    return pd.DataFrame(rows, columns=["review", "word", *PARTS])


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


def find(train: pd.DataFrame, test: pd.DataFrame) -> dict:
    """The tested genre, the part of sentences that matters, and its values on either side."""
    said = sentences(train["text"])
    leaning = 2 * train["sentiment"].to_numpy() - 1
    products = {part: Product(said, part, leaning) for part in PARTS}
    part = max(products, key=lambda part: products[part].strength)
    straight, turned = products[part].sides()
    return {
        "tested": test["genre"].mode()[0],
        "turning": {"part": part, "straight": straight, "turned": turned},
    }


class Product:
    """The mean leaning of reviews by word and by a part of sentences, as a product of both."""

    def __init__(self, said: pd.DataFrame, part: str, leaning: np.ndarray) -> None:
        self.rows, self.columns = (pd.Categorical(said[name]) for name in ("word", part))
        review = said["review"].to_numpy()
        rng = np.random.default_rng(0)
        by_chance = [self.top(rng.permutation(leaning)[review])[0] for _ in range(SHUFFLES)]
        value, self.words, self.values = self.top(leaning[review])
        self.strength = value / np.mean(by_chance)

    def top(self, leaning: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The leading singular value of the table in standard deviations, and its vectors."""
        sums = np.zeros((len(self.rows.categories), len(self.columns.categories)))
        counts = np.zeros_like(sums)
        np.add.at(sums, (self.rows.codes, self.columns.codes), leaning)
        np.add.at(counts, (self.rows.codes, self.columns.codes), 1)
        left, values, _ = np.linalg.svd(sums / np.sqrt(np.maximum(counts, 1)))
        words = left[:, 0] / np.sqrt(np.maximum(counts.sum(axis=1), 1))
        # What the words say, added up over the sentences with each value, in standard deviations.
        agreement = (sums * words[:, None]).sum(axis=0)
        spread = np.sqrt((counts * words[:, None] ** 2).sum(axis=0))
        return values[0], words, agreement / np.maximum(spread, 1e-9)

    def sides(self) -> tuple[list[str], list[str]]:
        """The values that clearly agree with the commonest one, and those that clearly do not."""
        names = np.array(self.columns.categories)
        values = self.values * np.sign(self.values[np.bincount(self.columns.codes).argmax()])
        return names[values > CERTAIN].tolist(), names[values < -CERTAIN].tolist()


if __name__ == "__main__":
    main()
