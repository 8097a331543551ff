# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Forests that give the whole distribution of a rating, and the guess with the least expected error.

One forest sees what the visits until now tell, another one the proteins that go with the rating as
well. Where a question falls in a tree, the ratings of the training rows in that leaf are counted;
the counts of all trees are the distribution, and SMAPE is minimised over it directly.
"""

import os

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
VALIDATION_SHARE = 0.2
TARGETS = ["updrs_1", "updrs_2", "updrs_3", "updrs_4"]
HORIZONS = [0, 6, 12, 24]
TELLING_MONTHS = [3, 6, 9, 18, 30, 42, 54]
TREES, LEAF = 60, 40
TOP_PROTEINS = 12
LEAST_SAMPLES = 0.35
"""Proteins that were found in a smaller share of the samples are left aside."""
VALUES = np.arange(101)
ERRORS = np.abs(VALUES[:, None] - VALUES) / ((VALUES[:, None] + VALUES) / 2 + 1)


def questions_of(clinical: pd.DataFrame) -> pd.DataFrame:
    """Questions about training patients, with answers, in the form of the test questions."""
    months = clinical.groupby("patient_id")["visit_month"].apply(sorted)
    visits = clinical[["visit_id", "patient_id", "visit_month"]].copy()
    pairs = zip(visits["patient_id"], visits["visit_month"], strict=True)
    visits["earlier"] = [[m for m in months[patient] if m < month] for patient, month in pairs]
    long = clinical.melt(["patient_id", "visit_month"], TARGETS, "updrs_test", "rating").dropna()
    parts = []
    for later in HORIZONS:
        asked = long.assign(visit_month=long["visit_month"] - later, plus_months=later)
        parts.append(visits.merge(asked, on=["patient_id", "visit_month"]))
    return pd.concat(parts, ignore_index=True)


def schedule(questions: pd.DataFrame) -> np.ndarray:
    """What the months of the visits until now tell."""
    rows = []
    for month, plus, earlier in zip(
        questions["visit_month"], questions["plus_months"], questions["earlier"], strict=True
    ):
        gaps = np.diff([*earlier, month]) if earlier else np.array([-1])
        known = [-1 if month < m else int(m == month or m in earlier) for m in TELLING_MONTHS]
        rows.append([month, plus, month + plus, len(earlier), gaps[-1], gaps.min(), gaps.mean(),
                     *known])  # fmt: skip
    return np.array(rows, dtype=float)


def read_samples(file: str) -> pd.DataFrame:
    """Logarithms of the proteins' amounts: one row per visit, one column per protein."""
    proteins = pd.read_csv(file)
    return np.log2(proteins.pivot_table(index="visit_id", columns="UniProt", values="NPX"))


class Distribution:
    """A forest that tells how often each rating occurs among the like."""

    def fit(self, x: np.ndarray, ratings: np.ndarray) -> "Distribution":
        self.forest = RandomForestRegressor(
            TREES, min_samples_leaf=LEAF, max_features=0.5, random_state=SEED
        ).fit(x, np.log1p(ratings))
        leaves = self.forest.apply(x)
        values = ratings.clip(0, VALUES[-1]).astype(int)
        self.shares = []
        for tree in range(TREES):
            known, place = np.unique(leaves[:, tree], return_inverse=True)
            counts = np.zeros((len(known), len(VALUES)))
            np.add.at(counts, (place, values), 1)
            self.shares.append((known, counts / counts.sum(axis=1, keepdims=True)))
        return self

    def predict(self, x: np.ndarray) -> np.ndarray:
        """One row per question, one column per rating."""
        leaves = self.forest.apply(x)
        found = np.zeros((len(x), len(VALUES)))
        for tree, (known, shares) in enumerate(self.shares):
            found += shares[np.searchsorted(known, leaves[:, tree])]
        return found / TREES


class RatingModel:
    """Both forests for one kind of rating."""

    def fit(self, questions: pd.DataFrame, samples: pd.DataFrame) -> "RatingModel":
        ratings = questions["rating"].to_numpy()
        now = questions[questions["plus_months"] == 0].set_index("visit_id")["rating"]
        self.proteins = _following(samples.reindex(now.index), now)
        self.medians = samples[self.proteins].median()
        visits = schedule(questions)
        self.plain = Distribution().fit(visits, ratings)
        levels = self._levels(questions, samples)
        self.sampled = Distribution().fit(np.hstack([visits, levels]), ratings)
        return self

    def predict(self, questions: pd.DataFrame, samples: pd.DataFrame) -> np.ndarray:
        visits = schedule(questions)
        plain = self.plain.predict(visits)
        levels = self._levels(questions, samples)
        sampled = self.sampled.predict(np.hstack([visits, levels]))
        has_sample = questions["visit_id"].isin(samples.index).to_numpy()[:, None]
        shares = np.where(has_sample, (plain + sampled) / 2, plain)
        return VALUES[(shares @ ERRORS).argmin(axis=1)].astype(float)

    def _levels(self, questions: pd.DataFrame, samples: pd.DataFrame) -> np.ndarray:
        levels = samples.reindex(index=questions["visit_id"], columns=self.proteins)
        return levels.fillna(self.medians).to_numpy()


def _following(samples: pd.DataFrame, ratings: pd.Series) -> list[str]:
    """The proteins that go up or down with the rating most closely."""
    taken = samples.dropna(how="all")
    often = samples.columns[taken.notna().mean() > LEAST_SAMPLES]
    closeness = samples[often].rank().corrwith(ratings.rank()).abs()
    return sorted(closeness.sort_values().index[-TOP_PROTEINS:])


class Model:
    def fit(self, questions: pd.DataFrame, samples: pd.DataFrame) -> "Model":
        self.models = {
            target: RatingModel().fit(rows, samples)
            for target, rows in questions.groupby("updrs_test")
        }
        return self

    def predict(self, questions: pd.DataFrame, samples: pd.DataFrame) -> np.ndarray:
        ratings = np.zeros(len(questions))
        for target, model in self.models.items():
            rows = (questions["updrs_test"] == target).to_numpy()
            ratings[rows] = model.predict(questions[rows], samples)
        return ratings


def smape(actual: np.ndarray, predicted: np.ndarray) -> float:
    return float(100 * np.mean(np.abs(actual - predicted) / ((actual + predicted) / 2 + 1)))


def main() -> None:
    clinical = pd.read_csv("train_clinical_data.csv")
    samples = read_samples("train_proteins.csv")
    questions = questions_of(clinical)
    patients = np.random.default_rng(SEED).permutation(np.sort(clinical["patient_id"].unique()))
    held = questions["patient_id"].isin(patients[: round(VALIDATION_SHARE * len(patients))])
    model = Model().fit(questions[~held], samples)
    error = smape(questions["rating"][held].to_numpy(), model.predict(questions[held], samples))
    print(f"validation SMAPE={error:.3f}")

    test = pd.read_csv("test.csv")
    visits = pd.read_csv("test_visits.csv", dtype={"earlier_visits": str})
    earlier = [[int(m) for m in text.split()] for text in visits["earlier_visits"].fillna("")]
    test["earlier"] = test["visit_id"].map(dict(zip(visits["visit_id"], earlier, strict=True)))
    model = Model().fit(questions, samples)
    predicted = model.predict(test, read_samples("test_proteins.csv"))
    test[["prediction_id"]].assign(rating=predicted).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
