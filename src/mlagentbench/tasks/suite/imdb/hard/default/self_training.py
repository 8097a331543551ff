# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A linear model of runs of words that labels reviews without labels, and learns from them.

Labelled reviews of the tested genre weigh more. In each round the surest guesses are believed.
"""

import os

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
ROUNDS, TARGET_WEIGHT = 6, 20


def main() -> None:
    train, test, unlabelled = (
        pd.read_csv(f"{name}.csv") for name in ("train", "test", "unlabelled")
    )
    words = TfidfVectorizer(min_df=2, sublinear_tf=True, ngram_range=(1, 3))
    words.fit(pd.concat([train["text"], unlabelled["text"]]))
    seen, unseen = words.transform(train["text"]), words.transform(unlabelled["text"])
    labels = train["sentiment"].to_numpy()
    weights = np.where(train["genre"].isin(test["genre"]), TARGET_WEIGHT, 1)
    model = LogisticRegression(C=5.0, max_iter=300, random_state=SEED)
    print(f"validation accuracy={cross_val_score(model, seen, labels, cv=5).mean():.4f}")
    model.fit(seen, labels, sample_weight=weights)
    for round_ in range(1, ROUNDS + 1):
        odds = model.decision_function(unseen)
        odds = odds - np.median(odds)  # half of the reviews are positive
        sure = np.abs(odds) >= np.quantile(np.abs(odds), 1 - round_ / ROUNDS)
        model.fit(
            sparse.vstack([seen, unseen[sure]]),
            np.append(labels, odds[sure] > 0),
            sample_weight=np.append(weights, np.ones(sure.sum())),
        )
    guesses = model.predict(words.transform(test["text"])).astype(int)
    pd.DataFrame({"id": test["id"], "sentiment": guesses}).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
