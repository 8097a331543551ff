# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Which part of a sentence turns round what its last word says, as far as public data show it.

If it is one part, the mean sentiment by word and value of that part is a product: of what the word
says, and of whether the value turns it round. A table of chance has no such direction.
"""

import numpy as np
import pandas as pd
from reviews import PARTS, sentences

CERTAIN = 2.0
"""Standard deviations from which on a value is said to turn, or not to."""
SHUFFLES = 5


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
