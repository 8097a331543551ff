# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Questions, proteins and controls, as several programs read them."""

import numpy as np
import pandas as pd

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
