# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Weighs the controls by how patients follow them, a few severity scores by PLS, boosted trees."""

import numpy as np
import pandas as pd
from laboratory import TARGETS, questions_of, read, smape, standard, without_thaws
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import HistGradientBoostingRegressor


def corrected(levels: pd.DataFrame, samples: pd.DataFrame, control: pd.DataFrame) -> pd.DataFrame:
    """Minus the plate shift that the controls announce, their weights learned over all proteins."""
    means = levels.groupby(samples["plate"]).mean()
    kinds = sorted(control.index.get_level_values("control").unique())
    shifts = []
    for kind in kinds:
        shift = control.loc[kind].reindex(means.index)
        shifts.append((shift - shift.mean()).fillna(0.0).to_numpy())
    stack = np.stack([s.ravel() for s in shifts], axis=1)
    target = (means - means.mean()).fillna(0.0).to_numpy().ravel()
    weights = np.linalg.solve(stack.T @ stack + 0.1 * np.eye(len(kinds)), stack.T @ target)
    shift = pd.DataFrame((stack @ weights).reshape(means.shape), means.index, means.columns)
    per_visit = shift.reindex(samples["plate"]).fillna(0.0).to_numpy()
    return levels - per_visit


def scores_of(clinical: pd.DataFrame, x: pd.DataFrame, visits: np.ndarray) -> pd.DataFrame:
    """Severity scores of all visits, from the ratings of the given training visits."""
    some = clinical[clinical["visit_id"].isin(visits) & clinical["visit_id"].isin(x.index)]
    y = np.log1p(some[TARGETS].astype(float))
    y = y.fillna(y.mean()).fillna(0.0).to_numpy()
    pls = PLSRegression(n_components=4).fit(x.loc[some["visit_id"]].to_numpy(), y)
    table = np.hstack([pls.transform(x.to_numpy()), pls.predict(x.to_numpy())])
    return pd.DataFrame(table, index=x.index)


def features(questions: pd.DataFrame, scores: pd.DataFrame) -> np.ndarray:
    p = scores.reindex(questions["visit_id"]).fillna(scores.mean()).to_numpy()
    month = questions["visit_month"].to_numpy(dtype=float)[:, None]
    plus = questions["plus_months"].to_numpy(dtype=float)[:, None]
    return np.hstack([month, plus, month + plus, p])


def fit_predict(clinical, rows, ask, x) -> np.ndarray:
    scores = scores_of(clinical, x, rows["visit_id"].unique())
    ratings = np.zeros(len(ask))
    for target in TARGETS:
        some, want = rows[rows["updrs_test"] == target], (ask["updrs_test"] == target).to_numpy()
        if not want.any() or some.empty:
            continue
        y = np.log1p(some["rating"].to_numpy(dtype=float))
        trees = HistGradientBoostingRegressor(
            loss="absolute_error",
            learning_rate=0.06,
            max_iter=110,
            max_leaf_nodes=6,
            min_samples_leaf=60,
            l2_regularization=5.0,
            random_state=0,
        ).fit(features(some, scores), y)
        guess = trees.predict(features(ask[want], scores))
        ratings[want] = np.expm1(np.clip(guess, 0.0, 5.0))
    return ratings


def main() -> None:
    clinical = pd.read_csv("train_clinical_data.csv", dtype={"visit_id": str})
    test = pd.read_csv("test.csv", dtype={"visit_id": str})
    levels, samples, control = read()
    x = standard(corrected(without_thaws(levels, samples), samples, control))
    rows = questions_of(clinical)
    lot = rows["visit_id"].map(samples["lot"]).fillna("none").astype(str)
    guess = np.zeros(len(rows))
    for name in np.sort(lot.unique()):
        held = (lot == name).to_numpy()
        guess[held] = fit_predict(clinical, rows[~held], rows[held], x)
    print(f"validation SMAPE={smape(rows['rating'].to_numpy(dtype=float), guess):.3f}")
    submission = test[["prediction_id"]].assign(rating=fit_predict(clinical, rows, test, x))
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
