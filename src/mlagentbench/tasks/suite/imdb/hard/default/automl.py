# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Several recipes on words, pairs of words and characters; the best by cross-validation vote."""

import os

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
FOLDS, VOTERS = 3, 3
TARGET_WEIGHT = 20
"""Labelled reviews of the tested genre are repeated so often."""


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    texts, labels = train["text"], train["sentiment"]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    tried = []
    for number, model in enumerate(recipes()):
        found = cross_val_predict(model, texts, labels, cv=folds, method="predict_proba")[:, 1]
        accuracy = ((found > 0.5) == labels).mean()
        print(f"{number} {model[-1].__class__.__name__} accuracy={accuracy:.4f}")
        tried.append((accuracy, number, model, found))
    best = sorted(tried, reverse=True)[:VOTERS]
    together = np.mean([found for *_, found in best], axis=0) > 0.5
    print(f"validation accuracy={(together == labels).mean():.4f}")
    tested = train[train["genre"].isin(test["genre"])]
    more = pd.concat([train, *[tested] * TARGET_WEIGHT])
    votes = [
        model.fit(more["text"], more["sentiment"]).predict_proba(test["text"])[:, 1]
        for _, _, model, _ in best
    ]
    guesses = (np.mean(votes, axis=0) > 0.5).astype(int)
    pd.DataFrame({"id": test["id"], "sentiment": guesses}).to_csv("submission.csv", index=False)


def recipes() -> list:
    def runs(most: int) -> TfidfVectorizer:
        return TfidfVectorizer(min_df=2, sublinear_tf=True, ngram_range=(1, most))

    few = CountVectorizer(min_df=5, binary=True)
    dense = FunctionTransformer(lambda table: table.toarray(), accept_sparse=True)
    return [
        make_pipeline(runs(1), LogisticRegression(C=5.0)),
        make_pipeline(runs(2), LogisticRegression(C=5.0)),
        make_pipeline(runs(3), CalibratedClassifierCV(LinearSVC(C=0.5))),
        make_pipeline(runs(2), MultinomialNB(alpha=0.1)),
        make_pipeline(few, ExtraTreesClassifier(200, min_samples_leaf=2, random_state=SEED)),
        make_pipeline(few, dense, HistGradientBoostingClassifier(max_iter=60, random_state=SEED)),
    ]


if __name__ == "__main__":
    main()
