"""Rate essays: reads the data, validates a model, writes submission.csv.

The model that is here reads no essay at all: it predicts the mean of each rating. Put yours in
`Model`, and what it needs to see in `features`.
"""

import argparse
import os

import numpy as np
import pandas as pd

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
VALIDATION_SHARE = 0.2
TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]


def features(essays: pd.DataFrame) -> pd.Series:
    """What the model sees of each essay."""
    return essays["full_text"]


class Model:
    """Replace the body of both methods by a model that uses the features."""

    def fit(self, x: pd.Series, ratings: pd.DataFrame) -> "Model":
        self.means = ratings.mean().to_numpy()
        return self

    def predict(self, x: pd.Series) -> np.ndarray:
        """One row per essay, one column per rating."""
        return np.tile(self.means, (len(x), 1))


def split(essays: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A random part to fit on, and the rest to validate on."""
    order = np.random.default_rng(SEED).permutation(len(essays))
    n_validation = round(VALIDATION_SHARE * len(essays))
    return essays.iloc[order[n_validation:]], essays.iloc[order[:n_validation]]


def mcrmse(actual: pd.DataFrame, predicted: np.ndarray) -> float:
    """The mean, over the columns, of the root mean squared error."""
    squares = (actual.to_numpy() - predicted) ** 2
    return float(np.sqrt(squares.mean(axis=0)).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", action="store_true", help="fit on 300 essays only")
    arguments = parser.parse_args()

    train = pd.read_csv("train.csv")
    test = pd.read_csv("test.csv")
    if arguments.sample:
        train = train.sample(300, random_state=SEED)

    fitting, validation = split(train)
    model = Model().fit(features(fitting), fitting[TARGETS])
    error = mcrmse(validation[TARGETS], model.predict(features(validation)))
    print(f"validation MCRMSE={error:.4f}")

    model = Model().fit(features(train), train[TARGETS])
    submission = pd.DataFrame(model.predict(features(test)), columns=TARGETS)
    submission.insert(0, "text_id", test["text_id"])
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
