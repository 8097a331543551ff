# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Corrects proteins by the control that moves like the patients, then ridge and boosted trees."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

TARGETS = ["updrs_1", "updrs_2", "updrs_3", "updrs_4"]
HORIZONS = [0, 6, 12, 24]


def questions_of(clinical: pd.DataFrame) -> pd.DataFrame:
    """Training questions in the form of test.csv, with the answers."""
    long = clinical.melt(["patient_id", "visit_month"], TARGETS, "updrs_test", "rating").dropna()
    visits = clinical[["visit_id", "patient_id", "visit_month"]]
    parts = []
    for months in HORIZONS:
        later = long.assign(visit_month=long["visit_month"] - months, plus_months=months)
        parts.append(visits.merge(later, on=["patient_id", "visit_month"]))
    return pd.concat(parts, ignore_index=True)


def smape(actual: np.ndarray, predicted: np.ndarray) -> float:
    return float(100 * np.mean(np.abs(actual - predicted) / ((predicted + actual) / 2 + 1)))


def read():
    """Log proteins (visits by proteins), samples of the same visits, log control means."""
    text = {"visit_id": str}
    proteins = pd.concat(
        [
            pd.read_csv("train_proteins.csv", dtype=text),
            pd.read_csv("test_proteins.csv", dtype=text),
        ],
        ignore_index=True,
    )
    samples = pd.concat(
        [pd.read_csv("train_samples.csv", dtype=text), pd.read_csv("test_samples.csv", dtype=text)],
        ignore_index=True,
    )
    samples = samples.drop_duplicates("visit_id").set_index("visit_id")
    controls = pd.read_csv("controls.csv")
    for table in (proteins, controls):
        table["log"] = np.log(pd.to_numeric(table["NPX"], errors="coerce").clip(lower=1e-3))
    levels = proteins.pivot_table(index="visit_id", columns="UniProt", values="log")
    levels = levels.reindex(samples.index)
    control = controls.pivot_table(
        index=["control", "plate"], columns="UniProt", values="log", aggfunc="median"
    ).reindex(columns=levels.columns)
    return levels, samples, control


def without_thaws(levels: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Takes out what a thaw does to a protein, learned from visits of the same patient."""
    thaws = pd.to_numeric(samples["thaws"], errors="coerce").fillna(1.0)
    own = samples.index.to_series().str.contains("_")
    person = samples.index.to_series().str.split("_").str[0]
    levels = levels.copy()
    for name in levels.columns:
        use = own & levels[name].notna()
        dx = levels.loc[use, name] - levels.loc[use, name].groupby(person[use]).transform("mean")
        dt = thaws[use] - thaws[use].groupby(person[use]).transform("mean")
        slope = float((dx * dt).sum() / ((dt**2).sum() + 1.0))
        levels[name] = levels[name] - slope * (thaws - 1)
    return levels


def standard(levels: pd.DataFrame) -> pd.DataFrame:
    filled = levels.fillna(levels.median()).fillna(0.0)
    spread = filled.std().replace(0.0, 1.0)
    return ((filled - filled.mean()) / spread).clip(-4, 4)


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
