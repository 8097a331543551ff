# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Ridge on effects inside sites; how far to trust differences between sites is found by lots."""

import numpy as np
import pandas as pd
from laboratory import TARGETS, questions_of, read, smape, standard, without_thaws


def corrected(levels: pd.DataFrame, samples: pd.DataFrame, control: pd.DataFrame) -> pd.DataFrame:
    """Minus the plate's control, of the one material that leaves the plates most alike."""
    means = levels.groupby(samples["plate"]).mean()
    best, least = None, np.inf
    for kind in sorted(control.index.get_level_values("control").unique()):
        shift = control.loc[kind].reindex(means.index)
        shift = (shift - shift.mean()).fillna(0.0)
        spread = float(np.log((means - shift).var() + 1e-6).mean())
        if spread < least:
            best, least = shift, spread
    return levels - best.reindex(samples["plate"]).fillna(0.0).to_numpy()


def features(questions: pd.DataFrame, x: pd.DataFrame) -> np.ndarray:
    p = x.reindex(questions["visit_id"]).fillna(0.0).to_numpy()
    month = questions["visit_month"].to_numpy(dtype=float)[:, None] / 12
    plus = questions["plus_months"].to_numpy(dtype=float)[:, None] / 12
    return np.hstack([p, 0.3 * p * (plus - 0.7), month, plus])


def fit_predict(rows, ask, x, site_of, trust) -> np.ndarray:
    """The effects are learned inside sites; the site's mean counts with the weight `trust`."""
    centre = x.groupby(site_of).transform("mean")
    asked = x - (1 - trust) * centre
    ratings = np.zeros(len(ask))
    for target in TARGETS:
        some, want = rows[rows["updrs_test"] == target], (ask["updrs_test"] == target).to_numpy()
        if not want.any() or some.empty:
            continue
        site = some["visit_id"].map(site_of).fillna("none").to_numpy()
        a, y = features(some, x), np.log1p(some["rating"].to_numpy(dtype=float))
        da = a - pd.DataFrame(a).groupby(site).transform("mean").to_numpy()
        dy = y - pd.Series(y).groupby(site).transform("mean").to_numpy()
        weight = np.ones(len(y))
        for _ in range(5):
            gram = (da.T * weight) @ da + 100.0 * np.eye(a.shape[1])
            beta = np.linalg.solve(gram, (da.T * weight) @ dy)
            rest = np.abs(dy - da @ beta)
            weight = 1 / np.maximum(1.0, rest / (np.median(rest) + 1e-9))
        base = np.median(y - features(some, asked) @ beta)
        guess = features(ask[want], asked) @ beta + base
        ratings[want] = np.expm1(np.clip(guess, 0.0, 5.0))
    return ratings


def main() -> None:
    clinical = pd.read_csv("train_clinical_data.csv", dtype={"visit_id": str})
    test = pd.read_csv("test.csv", dtype={"visit_id": str})
    levels, samples, control = read()
    x = standard(corrected(without_thaws(levels, samples), samples, control))
    site_of = samples["site"].astype(str)
    rows = questions_of(clinical)
    actual = rows["rating"].to_numpy(dtype=float)
    lot = rows["visit_id"].map(samples["lot"]).fillna("none").astype(str)
    errors = {}
    for trust in [0.0, 0.25, 0.5, 0.75, 1.0]:
        guess = np.zeros(len(rows))
        for name in np.sort(lot.unique()):
            held = (lot == name).to_numpy()
            guess[held] = fit_predict(rows[~held], rows[held], x, site_of, trust)
        errors[trust] = smape(actual, guess)
    trust = min(errors, key=errors.get)
    print(f"validation SMAPE={errors[trust]:.3f}")
    rating = fit_predict(rows, test, x, site_of, trust)
    test[["prediction_id"]].assign(rating=rating).to_csv("submission.csv", index=False)


if __name__ == "__main__":
    main()
