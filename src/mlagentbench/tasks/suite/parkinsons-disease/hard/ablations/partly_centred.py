# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference without controls, centring plates as far as it validates."""

import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV

TARGETS = ["updrs_1", "updrs_2", "updrs_3", "updrs_4"]
HORIZONS = [0, 6, 12, 24]
PENALTIES = np.logspace(-1, 4, 11)


def without_factors(levels: pd.DataFrame, plate: pd.Series) -> pd.DataFrame:
    """The samples without the directions in which those of their plate differ most."""
    count, parts, levels = count_factors(levels, plate), [], levels - levels.mean()
    for _, rows in levels.groupby(plate):
        values, centre = rows.to_numpy(), rows.mean().to_numpy()
        missing = np.isnan(values)
        filled = np.where(missing, centre, values)
        for _ in range(6):
            axes = np.linalg.svd(filled - filled.mean(axis=0), full_matrices=False)[2][:count]
            filled = np.where(missing, centre + (filled - centre) @ axes.T @ axes, values)
        parts.append(pd.DataFrame(filled - filled @ axes.T @ axes, rows.index, rows.columns))
    return pd.concat(parts).loc[levels.index]


def count_factors(levels: pd.DataFrame, plate: pd.Series) -> int:
    """After how many directions the spread within plates falls most steeply."""
    spreads = [
        np.linalg.svd((rows - rows.mean()).fillna(0.0).to_numpy(), compute_uv=False)[:6]
        for _, rows in levels.groupby(plate)
    ]
    spread = np.mean(spreads, axis=0)
    return int(np.argmax(spread[:-1] / spread[1:])) + 1


def corrected(
    levels: pd.DataFrame, samples: pd.DataFrame, controls: pd.DataFrame, questions: pd.DataFrame
) -> pd.DataFrame:
    """Without a share of the plate's mean that has the least error on lots that were left out."""
    means = levels.groupby(samples["plate"]).transform("mean") - levels.mean()
    tried = []
    for share in (0.5, 0.7, 0.8, 0.9):
        found = without_factors(levels - levels.mean() - share * means, samples["plate"])
        tried.append((held_out_error(found, samples, questions), found))
    return min(tried, key=lambda one: one[0])[1]


def questions_of(clinical: pd.DataFrame) -> pd.DataFrame:
    """Questions about training patients, with answers, in the form of the test questions."""
    long = clinical.melt(["patient_id", "visit_month"], TARGETS, "updrs_test", "rating").dropna()
    visits = clinical[["visit_id", "patient_id", "visit_month"]]
    parts = []
    for later in HORIZONS:
        asked = long.assign(visit_month=long["visit_month"] - later, plus_months=later)
        parts.append(visits.merge(asked, on=["patient_id", "visit_month"]))
    return pd.concat(parts, ignore_index=True)


def read_levels(file: str, index: list[str]) -> pd.DataFrame:
    """Logarithms of the proteins' amounts: one row a well, one column a protein."""
    table = pd.read_csv(file).set_index([*index, "UniProt"])["NPX"]
    return np.log2(table.unstack())


def predict(levels: pd.DataFrame, questions: pd.DataFrame, asked: pd.DataFrame) -> np.ndarray:
    """The median of a log-normal rating, by a ridge regression for each kind of rating."""
    ratings = np.zeros(len(asked))
    for target, rows in questions.groupby("updrs_test"):
        x = design(levels, rows)
        centre, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
        ridge = RidgeCV(PENALTIES).fit((x - centre) / spread, np.log1p(rows["rating"]))
        mine = (asked["updrs_test"] == target).to_numpy()
        found = ridge.predict((design(levels, asked[mine]) - centre) / spread)
        ratings[mine] = np.expm1(found).clip(0, 100)
    return ratings


def design(levels: pd.DataFrame, questions: pd.DataFrame) -> np.ndarray:
    months = questions[["visit_month", "plus_months"]].to_numpy()
    return np.hstack([levels.loc[questions["visit_id"]].to_numpy(), months])


def smape(actual: np.ndarray, predicted: np.ndarray) -> float:
    return float(100 * np.mean(np.abs(actual - predicted) / ((actual + predicted) / 2 + 1)))


def held_out_error(levels: pd.DataFrame, samples: pd.DataFrame, questions: pd.DataFrame) -> float:
    """The mean error on kit lots that the model was not fitted to."""
    lot = samples["lot"].loc[questions["visit_id"]].to_numpy()
    errors = []
    for held in np.unique(lot):
        mine = questions[lot == held]
        found = predict(levels, questions[lot != held], mine)
        errors.append(smape(mine["rating"].to_numpy(), found))
    return float(np.mean(errors))


def main() -> None:
    parts = ("train", "test")
    levels = pd.concat([read_levels(f"{part}_proteins.csv", ["visit_id"]) for part in parts])
    levels = levels.rename(index=str)
    samples = pd.concat([pd.read_csv(f"{part}_samples.csv") for part in parts])
    samples = samples.astype({"visit_id": str}).set_index("visit_id").loc[levels.index]
    controls = read_levels("controls.csv", ["plate", "control", "well"])
    questions = questions_of(pd.read_csv("train_clinical_data.csv"))
    test = pd.read_csv("test.csv").astype({"visit_id": str})

    levels = corrected(levels, samples, controls, questions)
    print(f"validation SMAPE={held_out_error(levels, samples, questions):.3f}")
    predicted = predict(levels, questions, test)
    test[["prediction_id"]].assign(rating=predicted).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
