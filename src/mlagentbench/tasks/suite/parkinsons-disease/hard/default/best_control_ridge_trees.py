# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Corrects proteins by the control that moves like the patients, then ridge and boosted trees."""

import numpy as np
import pandas as pd
from laboratory import TARGETS, questions_of, read, smape, standard, without_thaws
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge


def corrected(levels: pd.DataFrame, samples: pd.DataFrame, control: pd.DataFrame) -> pd.DataFrame:
    """Minus the plate's control, of the material that leaves the plates most alike."""
    means = levels.groupby(samples["plate"]).mean()
    kinds = sorted(control.index.get_level_values("control").unique())
    shifts, scores = {}, {}
    for kind in kinds:
        shift = control.loc[kind].reindex(means.index)
        shift = shift.fillna(shift.mean())
        shifts[kind] = shift - shift.mean()
        scores[kind] = np.log((means - shifts[kind]).var() + 1e-6)
    scores = pd.DataFrame(scores)
    scores = scores + 2 * scores.mean()
    best = scores.fillna(0.0).idxmin(axis=1)
    out = levels.copy()
    for name in levels.columns:
        out[name] = levels[name] - samples["plate"].map(shifts[best[name]][name])
    return out


def features(questions: pd.DataFrame, x: pd.DataFrame) -> np.ndarray:
    p = x.reindex(questions["visit_id"]).fillna(0.0).to_numpy()
    month = questions["visit_month"].to_numpy(dtype=float)[:, None] / 12
    plus = questions["plus_months"].to_numpy(dtype=float)[:, None] / 12
    return np.hstack([month, plus, month + plus, 0.3 * p * (plus - 0.7), p])


def fit_predict(rows: pd.DataFrame, ask: pd.DataFrame, x: pd.DataFrame) -> np.ndarray:
    ratings = np.zeros(len(ask))
    for target in TARGETS:
        some, want = rows[rows["updrs_test"] == target], (ask["updrs_test"] == target).to_numpy()
        if not want.any() or some.empty:
            continue
        a, b = features(some, x), features(ask[want], x)
        y = np.log1p(some["rating"].to_numpy(dtype=float))
        line = Ridge(alpha=100.0).fit(a, y)
        trees = HistGradientBoostingRegressor(
            loss="absolute_error",
            learning_rate=0.07,
            max_iter=80,
            max_leaf_nodes=8,
            min_samples_leaf=40,
            l2_regularization=5.0,
            random_state=0,
        )
        keep = [0, 1, 2, *range(3 + x.shape[1], a.shape[1])]
        trees.fit(a[:, keep], y - line.predict(a))
        guess = line.predict(b) + 0.6 * trees.predict(b[:, keep])
        ratings[want] = np.expm1(np.clip(guess, 0.0, 5.0))
    return ratings


def main() -> None:
    clinical = pd.read_csv("train_clinical_data.csv", dtype={"visit_id": str})
    test = pd.read_csv("test.csv", dtype={"visit_id": str})
    levels, samples, control = read()
    x = standard(corrected(without_thaws(levels, samples), samples, control))
    rows = questions_of(clinical)
    site = rows["visit_id"].map(samples["site"]).fillna("none").astype(str)
    sites = np.sort(site.unique())
    guess = np.zeros(len(rows))
    for k in range(4):
        held = site.isin(sites[k::4]).to_numpy()
        guess[held] = fit_predict(rows[~held], rows[held], x)
    print(f"validation SMAPE={smape(rows['rating'].to_numpy(dtype=float), guess):.3f}")
    submission = test[["prediction_id"]].assign(rating=fit_predict(rows, test, x))
    submission.to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
