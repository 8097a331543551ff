# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Samples without the laboratory, a ridge regression, and the guess with the least expected error.

Each protein is compared with the control material that moves from plate to plate as the samples do.
Then, on each plate, the directions along which its samples differ most are taken out: they are not
the disease. Validation leaves out one kit lot after the other, as the test does.
"""

import json

import numpy as np
import pandas as pd
from findings import find
from sklearn.linear_model import RidgeCV

TARGETS = ["updrs_1", "updrs_2", "updrs_3", "updrs_4"]
HORIZONS = [0, 6, 12, 24]
PENALTIES = np.logspace(-1, 4, 11)
GUESSES = np.arange(0, 100.25, 0.25)


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


def visits_a_year(month: pd.Series, earlier: pd.Series) -> pd.Series:
    """How often somebody was seen until now; empty at the first visit."""
    return earlier * 12 / month.where(month > 0)


def against_controls(
    levels: pd.DataFrame, samples: pd.DataFrame, controls: pd.DataFrame, findings: dict
) -> pd.DataFrame:
    """The samples, each protein minus its valid control on the same plate."""
    readings = controls.groupby(level=["control", "plate"]).mean()
    plates = samples.drop_duplicates("plate").set_index("plate")["lot"]
    shifts = pd.DataFrame(index=plates.index, columns=levels.columns, dtype=float)
    for plate, lot in plates.items():
        for protein, material in findings["valid_control"][lot].items():
            shifts.loc[plate, protein] = readings.loc[(material, plate), protein]
    return levels - shifts.loc[samples["plate"]].to_numpy()


def corrected(
    levels: pd.DataFrame, samples: pd.DataFrame, controls: pd.DataFrame, findings: dict
) -> pd.DataFrame:
    """The samples, against the valid controls of their plate, and without the plate's factors."""
    compared = against_controls(levels, samples, controls, findings)
    compared = compared - compared.mean()
    parts = [
        pd.DataFrame(without_factors(rows.to_numpy(), findings["factors"]), rows.index)
        for _, rows in compared.groupby(samples["plate"])
    ]
    return pd.concat(parts).set_axis(levels.columns, axis=1).loc[levels.index]


def without_factors(values: np.ndarray, count: int) -> np.ndarray:
    """The rows without the directions in which they differ most; gaps are filled on the way."""
    missing, centre = np.isnan(values), np.nanmean(values, axis=0)
    filled = np.where(missing, centre, values)
    for _ in range(6):
        axes = np.linalg.svd(filled - filled.mean(axis=0), full_matrices=False)[2][:count]
        filled = np.where(missing, centre + (filled - centre) @ axes.T @ axes, values)
    return filled - filled @ axes.T @ axes


class Model:
    """For each kind of rating a ridge regression of its logarithm, and its residuals."""

    def fit(self, x: pd.DataFrame, questions: pd.DataFrame) -> "Model":
        self.models = {}
        for target, rows in questions.groupby("updrs_test"):
            design, wanted = x.loc[rows.index], np.log1p(rows["rating"])
            centre, spread = design.mean(), design.std() + 1e-9
            ridge = RidgeCV(PENALTIES).fit((design - centre) / spread, wanted)
            residuals = wanted - ridge.predict((design - centre) / spread)
            quantiles = np.quantile(residuals, np.linspace(0.01, 0.99, 50))
            self.models[target] = (ridge, centre, spread, quantiles)
        return self

    def predict(self, x: pd.DataFrame, questions: pd.DataFrame) -> np.ndarray:
        ratings = np.zeros(len(questions))
        for target, (ridge, centre, spread, residuals) in self.models.items():
            rows = (questions["updrs_test"] == target).to_numpy()
            ratings[rows] = best_guesses(ridge.predict((x[rows] - centre) / spread), residuals)
        return ratings


def best_guesses(logs: np.ndarray, residuals: np.ndarray) -> np.ndarray:
    """The guesses with the least expected error, on a grid of the logarithms."""
    grid = np.linspace(logs.min(), logs.max() + 1e-9, 200)
    actual = np.expm1(grid[:, None] + residuals).round().clip(0)
    errors = smape_errors(actual[:, None, :], GUESSES[None, :, None]).mean(axis=2)
    return np.interp(logs, grid, GUESSES[errors.argmin(axis=1)])


def smape_errors(actual: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return 100 * np.abs(actual - predicted) / ((actual + predicted) / 2 + 1)


def read() -> tuple[pd.DataFrame, ...]:
    """Levels, samples, controls, training questions and test questions."""
    parts = [read_levels(f"{part}_proteins.csv", ["visit_id"]) for part in ("train", "test")]
    levels = pd.concat(parts).rename(index=str)
    samples = pd.concat([pd.read_csv(f"{part}_samples.csv") for part in ("train", "test")])
    samples = samples.astype({"visit_id": str}).set_index("visit_id").loc[levels.index]
    controls = read_levels("controls.csv", ["plate", "control", "well"])

    clinical = pd.read_csv("train_clinical_data.csv")
    earlier = clinical.groupby("patient_id")["visit_month"].rank().sub(1)
    seen = dict(
        zip(clinical["visit_id"], visits_a_year(clinical["visit_month"], earlier), strict=True)
    )
    test = pd.read_csv("test.csv").astype({"visit_id": str})
    visits = pd.read_csv("test_visits.csv", dtype={"visit_id": str, "earlier_visits": str})
    count = visits["earlier_visits"].fillna("").str.split().str.len()
    seen |= dict(zip(visits["visit_id"], visits_a_year(visits["visit_month"], count), strict=True))
    samples["visits"] = samples.index.map(seen)
    return levels, samples, controls, questions_of(clinical), test


def design_of(
    levels: pd.DataFrame, samples: pd.DataFrame, questions: pd.DataFrame, findings: dict
) -> pd.DataFrame:
    x = levels.loc[questions["visit_id"]].set_axis(questions.index)
    x = x.assign(month=questions["visit_month"], plus=questions["plus_months"])
    if findings["schedule"]:
        visits = samples.loc[questions["visit_id"], "visits"].set_axis(questions.index)
        x = x.assign(visits=visits.fillna(samples["visits"].mean()))
    return x


def validate(
    levels: pd.DataFrame, samples: pd.DataFrame, questions: pd.DataFrame, findings: dict
) -> float:
    """The mean error on kit lots that the model was not fitted to."""
    x = design_of(levels, samples, questions, findings)
    lot = samples["lot"].loc[questions["visit_id"]].to_numpy()
    errors = []
    for held in np.unique(lot):
        model = Model().fit(x[lot != held], questions[lot != held])
        predicted = model.predict(x[lot == held], questions[lot == held])
        errors.append(smape_errors(questions["rating"][lot == held].to_numpy(), predicted))
    return float(np.concatenate(errors).mean())


def main() -> None:
    levels, samples, controls, questions, test = read()
    now = questions[questions["plus_months"] == 0]
    samples["severity"] = np.log1p(now["rating"]).groupby(now["visit_id"]).mean()
    findings = find(levels, samples, controls)
    print("findings", json.dumps(findings))

    levels = corrected(levels, samples, controls, findings)
    print(f"validation SMAPE={validate(levels, samples, questions, findings):.3f}")
    model = Model().fit(design_of(levels, samples, questions, findings), questions)
    predicted = model.predict(design_of(levels, samples, test, findings), test)
    test[["prediction_id"]].assign(rating=predicted).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
