# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Measures the parts of the pictures, and tells classes by what tells them in the tested source.

Which features these are is found out first, in the few labelled pictures of that source. How they
tell the classes is then learnt from all sources.
"""

import csv
import json
import os

import numpy as np
from findings import find
from pictures import Measured, measure, relations
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

HARMONICS = 6
FOLDS = 5
SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))


def main() -> None:
    labels, sources = np.load("train_labels.npy"), np.load("train_sources.npy")
    [tested] = np.unique(np.load("test_sources.npy"))
    circles, levels = measure(np.load("train_images.npy"))
    found = find(circles, levels, labels, sources, tested)
    print("findings", json.dumps(found))
    table = features(circles, levels, found, sources)
    print(f"validation accuracy={validate(table, labels, sources == tested):.4f}")
    model = build().fit(table, labels)
    test = features(*measure(np.load("test_images.npy")), found, np.load("test_sources.npy"))
    write_submission(model.predict_proba(test))


def features(circles: Measured, levels: Measured, found: dict, sources: np.ndarray) -> np.ndarray:
    """Waves round the circle that tells the genus, and the level that tells the species."""
    turns = np.array([found["turns"].get(str(source), 0.0) for source in sources])
    around = relations(circles)[found["genus"]] * np.exp(1j * turns)
    waves = [around**n for n in range(1, HARMONICS + 1)]
    return np.column_stack([np.real(waves).T, np.imag(waves).T, levels[found["level"]]])


def build() -> Pipeline:
    return make_pipeline(StandardScaler(), LogisticRegression(C=3, max_iter=300))


def validate(table: np.ndarray, labels: np.ndarray, own: np.ndarray) -> float:
    """Accuracy on pictures of the tested source, each held back once."""
    right = []
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    for _, some in folds.split(table[own], labels[own]):
        held = np.flatnonzero(own)[some]
        model = build().fit(np.delete(table, held, axis=0), np.delete(labels, held))
        right.extend(model.predict(table[held]) == labels[held])
    return float(np.mean(right))


def write_submission(probabilities: np.ndarray) -> None:
    with open("submission.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", *range(probabilities.shape[1])])
        for row, values in enumerate(probabilities.tolist()):
            writer.writerow([row, *(f"{value:.6f}" for value in values)])


if __name__ == "__main__":
    main()
