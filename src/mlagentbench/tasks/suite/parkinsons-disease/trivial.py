"""Predictors that look at no visit, at one field of it, or at one fact of the visits before."""

from pathlib import Path

import numpy as np
import pandas as pd

TARGETS = ["updrs_1", "updrs_2", "updrs_3", "updrs_4"]
HORIZONS = [0, 6, 12, 24]
GUESSES = np.arange(0, 100.5, 0.5)
FOLDS = 5
LEAST_ROWS = 30
"""A value of a field that is rarer gets the constant of its kind of rating."""


def predictors(public: Path) -> dict[str, str]:
    """The submissions, as CSV text, by the predictor's name."""
    train = _questions(pd.read_csv(public / "train_clinical_data.csv"))
    test = pd.read_csv(public / "test.csv")
    visits = pd.read_csv(public / "test_visits.csv", dtype={"earlier_visits": str})
    earlier = visits["earlier_visits"].fillna("").str.split()
    history = dict(zip(visits["visit_id"], ([*map(int, e)] for e in earlier), strict=True))
    test["earlier"] = test["visit_id"].map(history)

    seen, unseen = fields(train), fields(test)
    best = best_single_field(train)
    predictions = {
        "best_constant": np.full(len(test), best_guess(train["rating"].to_numpy())),
        "constant_per_rating": by_field(train, seen["nothing"], test, unseen["nothing"]),
        "by_month_6_visit": by_field(train, seen["month_6"], test, unseen["month_6"]),
        "best_single_field": by_field(train, seen[best], test, unseen[best]),
    }  # fmt: skip
    return {
        name: test[["prediction_id"]].assign(rating=values).to_csv(index=False)
        for name, values in predictions.items()
    }


def fields(questions: pd.DataFrame) -> pd.DataFrame:
    """Single facts of a question: its months, and what the visits until then tell."""
    months, earlier = questions["visit_month"], questions["earlier"]
    pairs = list(zip(months, earlier, strict=True))
    return pd.DataFrame(
        {
            "nothing": 0,
            "visit_month": months,
            "plus_months": questions["plus_months"],
            "month_asked_about": months + questions["plus_months"],
            "number_of_visits": [len(before) for before in earlier],
            "months_since_last_visit": [m - max(b, default=m) for m, b in pairs],
            "shortest_interval": [int(min(np.diff([*b, m]), default=0)) for m, b in pairs],
            "month_6": [-1 if m < 6 else int(m == 6 or 6 in b) for m, b in pairs],
        },
        index=questions.index,
    )


def best_single_field(train: pd.DataFrame) -> str:
    """The field whose rule has the least cross-validated error on the training patients."""
    seen = fields(train)
    fold = train["patient_id"].rank(method="dense").astype(int) % FOLDS
    errors = {}
    for name in seen.columns:
        errors[name] = sum(
            _errors(
                by_field(train[fold != k], seen[name][fold != k],
                         train[fold == k], seen[name][fold == k]),
                train["rating"][fold == k].to_numpy(),
            ).sum()
            for k in range(FOLDS)
        )  # fmt: skip
    return min(errors, key=lambda name: errors[name])


def by_field(
    train: pd.DataFrame, values: pd.Series, others: pd.DataFrame, other_values: pd.Series
) -> np.ndarray:
    """For each kind of rating and each value of the field the constant with the least error."""
    found = np.zeros(len(others))
    for target in TARGETS:
        mine, asked = train["updrs_test"] == target, (others["updrs_test"] == target).to_numpy()
        ratings, of = train["rating"][mine].to_numpy(), values[mine].to_numpy()
        found[asked] = best_guess(ratings)
        for value in np.unique(of):
            if (of == value).sum() >= LEAST_ROWS:
                found[asked & (other_values == value).to_numpy()] = best_guess(ratings[of == value])
    return found


def best_guess(ratings: np.ndarray) -> float:
    """The constant with the least error for these ratings."""
    values, counts = np.unique(ratings, return_counts=True)
    return float(GUESSES[(_errors(GUESSES[:, None], values) @ counts).round(6).argmin()])


def _errors(predicted: np.ndarray, actual: np.ndarray) -> np.ndarray:
    return np.abs(predicted - actual) / ((predicted + actual) / 2 + 1)


def _questions(clinical: pd.DataFrame) -> pd.DataFrame:
    """What can be asked of the training patients, with the answers and the earlier visits."""
    months = clinical.groupby("patient_id")["visit_month"].apply(sorted)
    visits = clinical[["patient_id", "visit_month"]].copy()
    pairs = zip(visits["patient_id"], visits["visit_month"], strict=True)
    visits["earlier"] = [[m for m in months[patient] if m < month] for patient, month in pairs]
    long = clinical.melt(["patient_id", "visit_month"], TARGETS, "updrs_test", "rating").dropna()
    parts = [
        visits.merge(
            long.assign(visit_month=long["visit_month"] - months_later, plus_months=months_later),
            on=["patient_id", "visit_month"],
        )
        for months_later in HORIZONS
    ]
    return pd.concat(parts, ignore_index=True)
