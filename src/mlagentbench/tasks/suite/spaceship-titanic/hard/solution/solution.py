# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Boosted trees that know how near everybody was to the place that the records point to."""

import json

import numpy as np
import pandas as pd
from findings import find
from records import features, near, places, upper_half, ways
from sklearn.ensemble import HistGradientBoostingClassifier

TREES = {"max_iter": 120, "learning_rate": 0.06, "max_leaf_nodes": 8, "min_samples_leaf": 30,
         "l2_regularization": 5.0, "random_state": 0}  # fmt: skip
FOLDS = 4


def inputs(passengers: pd.DataFrame, found: dict) -> pd.DataFrame:
    """Passenger and place; to be called for all passengers of a voyage together."""
    x = features(passengers)
    marks = ways(passengers)[found["marks"]].sum(axis=1).to_frame("mark")
    nearness = near(places(passengers), passengers["Voyage"], marks, found)[0]["mark"]
    turn = np.where(upper_half(x[found["turn"]]), -1, 1)
    x["near"] = nearness
    x["pull"] = found["sign"] * turn * (nearness - nearness.mean())
    return x


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
        HistGradientBoostingClassifier(**TREES)
        .fit(seen[fold != k], fates[fold != k])
        .predict(seen[fold == k])
        == fates[fold == k]
        for k in range(FOLDS)
    ]
    print(f"validation accuracy={np.mean(np.concatenate(hits)):.4f}")

    predicted = HistGradientBoostingClassifier(**TREES).fit(seen, fates).predict(unseen)
    submission = pd.DataFrame({"PassengerId": test["PassengerId"], "Transported": predicted})
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
