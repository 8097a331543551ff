"""Predict ratings of Parkinson's disease: reads the data, validates a model, writes submission.csv.

The model that is here knows the month of the visit only: for each kind of rating a random forest
learns how it goes with the months. Put yours in `Model`, and what it needs to see in `features`.
"""

import argparse
import os

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
VALIDATION_SHARE = 0.2
TARGETS = ["updrs_1", "updrs_2", "updrs_3", "updrs_4"]
HORIZONS = [0, 6, 12, 24]


def questions_of(clinical: pd.DataFrame) -> pd.DataFrame:
    """What can be asked of training patients, in the form of test.csv, with the answers.

    One row for each visit, kind of rating and horizon whose rating is known.
    """
    long = clinical.melt(["patient_id", "visit_month"], TARGETS, "updrs_test", "rating").dropna()
    visits = clinical[["visit_id", "patient_id", "visit_month"]]
    parts = []
    for months in HORIZONS:
        later = long.assign(visit_month=long["visit_month"] - months, plus_months=months)
        parts.append(visits.merge(later, on=["patient_id", "visit_month"]))
    return pd.concat(parts, ignore_index=True)


def features(questions: pd.DataFrame) -> np.ndarray:
    """What the model sees of each question: the month that is asked about."""
    return (questions["visit_month"] + questions["plus_months"]).to_numpy()[:, None]


class Model:
    """One forest for each kind of rating."""

    def fit(self, questions: pd.DataFrame) -> "Model":
        self.forests = {}
        for target, rows in questions.groupby("updrs_test"):
            forest = RandomForestRegressor(n_estimators=100, random_state=SEED)
            self.forests[target] = forest.fit(features(rows), rows["rating"])
        return self

    def predict(self, questions: pd.DataFrame) -> np.ndarray:
        ratings = np.zeros(len(questions))
        for target, forest in self.forests.items():
            rows = (questions["updrs_test"] == target).to_numpy()
            ratings[rows] = forest.predict(features(questions[rows]))
        return ratings


def split(clinical: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Random patients to fit on, and the rest to validate on."""
    patients = np.random.default_rng(SEED).permutation(np.sort(clinical["patient_id"].unique()))
    validation = clinical["patient_id"].isin(patients[: round(VALIDATION_SHARE * len(patients))])
    return clinical[~validation], clinical[validation]


def smape(actual: pd.Series, predicted: np.ndarray) -> float:
    """The symmetric mean absolute percentage error, one being added to every rating."""
    middle = (actual.to_numpy() + predicted) / 2 + 1
    return float(100 * np.mean(np.abs(actual.to_numpy() - predicted) / middle))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", action="store_true", help="fit on 40 patients only")
    arguments = parser.parse_args()

    clinical = pd.read_csv("train_clinical_data.csv")
    test = pd.read_csv("test.csv")
    if arguments.sample:
        some = np.random.default_rng(SEED).permutation(np.sort(clinical["patient_id"].unique()))
        clinical = clinical[clinical["patient_id"].isin(some[:40])]

    fitting, validation = map(questions_of, split(clinical))
    model = Model().fit(fitting)
    print(f"validation SMAPE={smape(validation['rating'], model.predict(validation)):.3f}")

    model = Model().fit(questions_of(clinical))
    submission = test[["prediction_id"]].assign(rating=model.predict(test))
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
