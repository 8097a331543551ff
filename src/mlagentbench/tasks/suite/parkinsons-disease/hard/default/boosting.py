# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Gradient boosting on logarithms of the proteins and on the visit, its loss near to SMAPE."""

import os

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
TARGETS = ["updrs_1", "updrs_2", "updrs_3", "updrs_4"]
HORIZONS = [0, 6, 12, 24]
FOLDS = 4


def questions_of(clinical: pd.DataFrame) -> pd.DataFrame:
    """Questions about training patients, with answers, in the form of the test questions."""
    clinical = clinical.assign(earlier=clinical.groupby("patient_id")["visit_month"].rank().sub(1))
    long = clinical.melt(["patient_id", "visit_month"], TARGETS, "updrs_test", "rating").dropna()
    visits = clinical[["visit_id", "patient_id", "visit_month", "earlier"]]
    parts = []
    for later in HORIZONS:
        asked = long.assign(visit_month=long["visit_month"] - later, plus_months=later)
        parts.append(visits.merge(asked, on=["patient_id", "visit_month"]))
    return pd.concat(parts, ignore_index=True)


def read_levels(part: str) -> pd.DataFrame:
    """Logarithms of the proteins' amounts, and the number of thaws: one row a visit."""
    table = pd.read_csv(f"{part}_proteins.csv").set_index(["visit_id", "UniProt"])["NPX"]
    levels = np.log2(table.unstack())
    samples = pd.read_csv(f"{part}_samples.csv").set_index("visit_id")
    return levels.join(samples["thaws"]).rename(index=str)


def predict(levels: pd.DataFrame, questions: pd.DataFrame, asked: pd.DataFrame) -> np.ndarray:
    ratings = np.zeros(len(asked))
    for target, rows in questions.groupby("updrs_test"):
        model = HistGradientBoostingRegressor(
            loss="absolute_error",
            learning_rate=0.08,
            max_iter=120,
            max_leaf_nodes=15,
            min_samples_leaf=30,
            l2_regularization=1.0,
            max_features=0.5,
            random_state=SEED,
        ).fit(design(levels, rows), np.log1p(rows["rating"]))
        mine = (asked["updrs_test"] == target).to_numpy()
        ratings[mine] = np.expm1(model.predict(design(levels, asked[mine]))).clip(0, 100)
    return ratings


def design(levels: pd.DataFrame, questions: pd.DataFrame) -> np.ndarray:
    visit = questions[["visit_month", "plus_months", "earlier"]].to_numpy()
    return np.hstack([levels.loc[questions["visit_id"]].to_numpy(), visit])


def smape(actual: np.ndarray, predicted: np.ndarray) -> float:
    return float(100 * np.mean(np.abs(actual - predicted) / ((actual + predicted) / 2 + 1)))


def main() -> None:
    levels = pd.concat([read_levels(part) for part in ("train", "test")])
    questions = questions_of(pd.read_csv("train_clinical_data.csv"))
    test = pd.read_csv("test.csv").astype({"visit_id": str})
    visits = pd.read_csv("test_visits.csv", dtype={"visit_id": str, "earlier_visits": str})
    counts = visits["earlier_visits"].fillna("").str.split().str.len()
    test["earlier"] = test["visit_id"].map(dict(zip(visits["visit_id"], counts, strict=True)))

    patients = np.random.default_rng(SEED).permutation(questions["patient_id"].unique())
    held = questions["patient_id"].isin(patients[: len(patients) // FOLDS])
    found = predict(levels, questions[~held], questions[held])
    print(f"validation SMAPE={smape(questions['rating'][held].to_numpy(), found):.3f}")

    predicted = predict(levels, questions, test)
    test[["prediction_id"]].assign(rating=predicted).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
