# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but the place means the same to all passengers."""

import json

import numpy as np
import pandas as pd
from findings import find
from records import features, marks, near, places
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

FOLDS = 4


def inputs(passengers: pd.DataFrame, found: dict) -> pd.DataFrame:
    """Passenger and place; to be called for all passengers of a voyage together."""
    x = features(passengers)
    sums = marks(passengers)[found["marks"]].sum(axis=1)
    nearness, _ = near(places(passengers), passengers["Voyage"], sums, found)
    x["near"] = nearness
    return x


def line() -> Pipeline:
    return make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.1))


def main() -> None:
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    found = find(train, test)
    print("findings", json.dumps(found))
    x = inputs(pd.concat([train, test], ignore_index=True), found)
    seen, unseen = x[: len(train)], x[len(train) :]
    fates = train["Transported"].astype(bool)

    # As in the test: voyages of which no fate is known.
    fold = train["Voyage"].rank(method="dense").astype(int) % FOLDS
    hits = [
        line().fit(seen[fold != k], fates[fold != k]).predict(seen[fold == k]) == fates[fold == k]
        for k in range(FOLDS)
    ]
    print(f"validation accuracy={np.mean(np.concatenate(hits)):.4f}")

    predicted = line().fit(seen, fates).predict(unseen)
    submission = pd.DataFrame({"PassengerId": test["PassengerId"], "Transported": predicted})
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
