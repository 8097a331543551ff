# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""Several descriptions of pictures times several models; the best on held-back surveys vote."""

import itertools
import os

import numpy as np
from pictures import Data, balanced, mean_average_precision, write_submission
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from summaries import colours, textures, thumbnails

SEED = int(os.environ.get("MLAGENTBENCH_SEED", "0"))
VOTERS, SURVEY_REPEATS = 4, 3


def describe(pictures: np.ndarray, dives) -> dict[str, np.ndarray]:
    """As stored, in the light of the dive, and against the mean of the dive's frames."""
    plain, fair = np.log(pictures / 255 + 0.05), balanced(pictures, dives)
    moved = fair.copy()
    for rows in dives.groupby(dives).groups.values():
        moved[rows] -= moved[rows].mean(axis=0)
    return {
        "plain": np.hstack([colours(plain), textures(plain)]),
        "fair": np.hstack([colours(fair), textures(fair)]),
        "moved": np.hstack([colours(moved), textures(moved)]),
        "places": np.hstack([thumbnails(fair), colours(fair)]),
        "sorted": np.sort(fair.reshape(len(fair), -1, 3), axis=1)[:, ::12].reshape(len(fair), -1),
    }


def models() -> dict:
    return {
        "trees": lambda: ExtraTreesClassifier(80, min_samples_leaf=3, random_state=SEED),
        "ridge": lambda: make_pipeline(StandardScaler(), Ridge(300.0)),
        "near": lambda: make_pipeline(StandardScaler(), PCA(20), KNeighborsRegressor(25)),
    }


def fit_predict(data: Data, model, x: np.ndarray, used: np.ndarray, wanted: np.ndarray):
    rows = np.flatnonzero(used)
    rows = np.concatenate([rows, *[rows[data.surveys()[rows]]] * SURVEY_REPEATS])
    if isinstance(model, ExtraTreesClassifier):
        places, classes = np.nonzero(data.labels[rows])
        model.fit(x[rows[places]], classes)
        scores = np.zeros((len(wanted), data.labels.shape[1]))
        scores[:, model.classes_] = model.predict_proba(wanted)
        return scores
    return model.fit(x[rows], data.labels[rows]).predict(wanted)


def main() -> None:
    data = Data()
    seen = describe(data.seen, data.train["dive"])
    unseen = describe(data.unseen, data.test["dive"])
    held = np.any(data.folds(), axis=0)
    held &= np.isin(data.train["dive"], np.sort(data.train.loc[held, "dive"].unique())[::2])
    tried = []
    for (view, x), (name, model) in itertools.product(seen.items(), models().items()):
        guesses = fit_predict(data, model(), x, ~held, x[held])
        score = mean_average_precision(guesses, data.labels[held])
        print(f"{view} {name} MAP@20={score:.4f}")
        tried.append((score, view, name, guesses))
    best = sorted(tried, key=lambda one: -one[0])[:VOTERS]
    together = sum(ranks(guesses) for *_, guesses in best)
    print(f"validation MAP@20={mean_average_precision(together, data.labels[held]):.4f}")
    everything = np.ones(len(data.train), dtype=bool)
    scores = [
        fit_predict(data, models()[name](), seen[view], everything, unseen[view])
        for _, view, name, _ in best
    ]
    write_submission(data, sum(ranks(one) for one in scores))


def ranks(scores: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.argsort(np.argsort(-scores, axis=1), axis=1))


if __name__ == "__main__":
    main()
