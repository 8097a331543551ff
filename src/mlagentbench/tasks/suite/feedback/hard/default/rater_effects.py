# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Boosted trees that know who rated; the test is asked as if the panel rated.

Each rater's mean and spread are set to the panel's, the trees see the rater as a category, words as
components, and counts of how an essay is written.
"""

import os
import re

import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
COMPONENTS = 30
PANEL_WEIGHT = 5.0


def counts(text: str) -> list[float]:
    words = re.findall(r"[\w']+", text)
    sentences = [part for part in re.split(r"[.!?]+", text) if part.strip()]
    n = len(words)
    return [
        np.log(n), len(sentences), n / len(sentences), sum(map(len, words)) / n,
        len({word.lower() for word in words}) / np.sqrt(n),
        sum(word[0].isupper() for word in words) / n,
        *(text.count(mark) / n for mark in ".,'"),
        len(re.findall(r"\ba [aeiou]|\ban [^aeiou]", text)) / n,
    ]  # fmt: skip


def features(texts: pd.Series) -> np.ndarray:
    words = TfidfVectorizer(sublinear_tf=True, min_df=3, ngram_range=(1, 2)).fit_transform(texts)
    topics = TruncatedSVD(COMPONENTS, random_state=SEED).fit_transform(words)
    x = np.hstack([np.array([counts(text) for text in texts]), topics])
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)


def predict(
    x: np.ndarray, rater: np.ndarray, ratings: np.ndarray, other: np.ndarray, panel: int
) -> np.ndarray:
    """The mean of boosted trees that see the rater and a linear model that does not."""
    weights = np.where(rater == panel, PANEL_WEIGHT, 1.0)
    linear = Ridge(100.0).fit(x, ratings, weights).predict(other)
    seen = np.column_stack([rater, x])
    asked = np.column_stack([np.full(len(other), panel), other])
    trees = [
        HistGradientBoostingRegressor(
            max_iter=60, learning_rate=0.08, max_leaf_nodes=8, min_samples_leaf=15, max_bins=63,
            max_features=0.4, categorical_features=[0], random_state=SEED,
        ).fit(seen, column, weights).predict(asked)
        for column in ratings.T
    ]  # fmt: skip
    return (linear + np.stack(trees, axis=1)) / 2


def mcrmse(actual: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.sqrt(((actual - predicted) ** 2).mean(axis=0)).mean())


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    everything = features(pd.concat([train["full_text"], test["full_text"]]))
    x, other = everything[: len(train)], everything[len(train) :]
    of_panel = train.loc[train["rater"] == "panel", TARGETS]
    by_rater = train.groupby("rater")[TARGETS]
    centred = (train[TARGETS] - by_rater.transform("mean")) / by_rater.transform("std")
    ratings = (centred * of_panel.std() + of_panel.mean()).to_numpy()
    rater, names = pd.factorize(train["rater"])
    panel = list(names).index("panel")

    held = np.random.default_rng(SEED).random(len(train)) < 0.2
    found = predict(x[~held], rater[~held], ratings[~held], x[held], panel)
    print(f"validation MCRMSE={mcrmse(ratings[held], found):.4f}")

    predicted = predict(x, rater, ratings, other, panel).clip(1, 5)
    submission = pd.DataFrame(predicted, columns=TARGETS)
    submission.insert(0, "text_id", test["text_id"])
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
