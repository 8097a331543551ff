# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""TF-IDF of words and characters and a ridge regression; the panel's readings weigh more."""

import os

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
PANEL_WEIGHT = 10.0
PENALTIES = [1.0, 3.0, 10.0]


def features(train: pd.Series, test: pd.Series) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    words = TfidfVectorizer(sublinear_tf=True, min_df=3, ngram_range=(1, 2))
    characters = TfidfVectorizer(
        sublinear_tf=True, min_df=5, analyzer="char_wb", ngram_range=(2, 3), lowercase=False
    )
    parts = [(model.fit_transform(train), model.transform(test)) for model in (words, characters)]
    seen, unseen = zip(*parts, strict=True)
    return sparse.hstack(seen).tocsr(), sparse.hstack(unseen).tocsr()


def mcrmse(actual: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.sqrt(((actual - predicted) ** 2).mean(axis=0)).mean())


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    x, other = features(train["full_text"], test["full_text"])
    ratings = train[TARGETS].to_numpy()
    weights = np.where(train["rater"] == "panel", PANEL_WEIGHT, 1.0)

    held = np.random.default_rng(SEED).random(len(train)) < 0.2
    errors = {}
    for penalty in PENALTIES:
        model = Ridge(penalty).fit(x[~held], ratings[~held], weights[~held])
        errors[penalty] = mcrmse(ratings[held], model.predict(x[held]).clip(1, 5))
    best = min(errors, key=lambda penalty: errors[penalty])
    print(f"validation MCRMSE={errors[best]:.4f}")

    predicted = Ridge(best).fit(x, ratings, weights).predict(other).clip(1, 5)
    submission = pd.DataFrame(predicted, columns=TARGETS)
    submission.insert(0, "text_id", test["text_id"])
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
