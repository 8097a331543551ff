# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A linear model of words and runs of words; its settings are chosen by cross-validation."""

import os

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
OPTIONS = {
    "tfidfvectorizer__ngram_range": [(1, 1), (1, 2), (1, 3)],
    "logisticregression__C": [1.0, 10.0],
}


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    words = TfidfVectorizer(min_df=2, sublinear_tf=True)
    recipe = make_pipeline(words, LogisticRegression(max_iter=300))
    folds = StratifiedKFold(3, shuffle=True, random_state=SEED)
    search = GridSearchCV(recipe, OPTIONS, cv=folds).fit(with_genre(train), train["sentiment"])
    print(search.best_params_)
    print(f"validation accuracy={search.best_score_:.4f}")
    guesses = search.predict(with_genre(test))
    pd.DataFrame({"id": test["id"], "sentiment": guesses}).to_csv("submission.csv", index=False)


def with_genre(reviews: pd.DataFrame) -> pd.Series:
    return "genre" + reviews["genre"] + " " + reviews["text"]


if __name__ == "__main__":
    main()
