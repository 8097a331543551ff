# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but of raters it uses only the columns that agree with the panel."""

import findings
import numpy as np
import pandas as pd
import reference
from findings import correlations, first_guess, fitted


def find_agreement(x: np.ndarray, train: pd.DataFrame, targets: list[str]) -> dict:
    """How each rater's columns go with the skills that the panel's essays suggest."""
    skills, ratings = first_guess(x, train, targets), train[targets].to_numpy()
    return {
        rater: np.diag(correlations(ratings[rows], skills[rows])).tolist()
        for rater, rows in train.groupby("rater").indices.items()
    }


def agreeing(
    train: pd.DataFrame, targets: list[str], agreement: dict
) -> tuple[np.ndarray, np.ndarray]:
    by_rater = train.groupby("rater")[targets]
    ratings = (train[targets] - by_rater.transform("mean")) / by_rater.transform("std")
    closeness = np.array([agreement[rater] for rater in train["rater"]])
    panel = (train["rater"] == "panel").to_numpy()[:, None]
    return ratings.to_numpy(), np.where(panel, 3.0, closeness > 0.3)


class ByColumn:
    """One model a column, of the readings that have weight in it."""

    def __init__(
        self, x: np.ndarray, wanted: np.ndarray, weights: np.ndarray, penalty: float
    ) -> None:
        columns = zip(wanted.T, weights.T, strict=True)
        self.models = [fitted(x, column, weight, penalty) for column, weight in columns]

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.stack([model.predict(x) for model in self.models], axis=1)


reference.find = find_agreement
reference.aligned = agreeing
reference.fitted = findings.fitted = ByColumn
reference.main()
