# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""A forest on colours and textures in the light of the dive; surveys weigh more."""

import os

import numpy as np
from pictures import Data, balanced, mean_average_precision, write_submission
from sklearn.ensemble import ExtraTreesClassifier
from summaries import colours, textures

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
TREES, SURVEY_WEIGHT = 150, 4


def main() -> None:
    data = Data()
    seen, unseen = (
        np.hstack([colours(values), textures(values)])
        for values in (
            balanced(data.seen, data.train["dive"]),
            balanced(data.unseen, data.test["dive"]),
        )
    )
    scores = []
    for held in data.folds():
        guesses = fit_predict(data, seen, ~held, seen[held])
        scores.append(mean_average_precision(guesses, data.labels[held]))
    print(f"validation MAP@20={np.mean(scores):.4f}")
    write_submission(data, fit_predict(data, seen, np.ones(len(seen), dtype=bool), unseen))


def fit_predict(data: Data, seen: np.ndarray, used: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Pictures with two categories are there twice."""
    rows, classes = np.nonzero(data.labels * used[:, None])
    weights = np.where(data.surveys()[rows], SURVEY_WEIGHT, 1)
    forest = ExtraTreesClassifier(TREES, min_samples_leaf=3, random_state=SEED)
    forest.fit(seen[rows], classes, sample_weight=weights)
    scores = np.zeros((len(wanted), data.labels.shape[1]))
    scores[:, forest.classes_] = forest.predict_proba(wanted)
    return scores


if __name__ == "__main__":
    main()
