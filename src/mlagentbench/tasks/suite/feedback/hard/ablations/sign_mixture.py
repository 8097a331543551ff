# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but each mark's sign is hidden: a mixture of two regressions, started by words.

A reading's square says which words matter, whatever its sign: the leading eigenvector of the words'
second moments weighted by squared marks starts the mixture, or the panel's essays do.
"""

import numpy as np
import pandas as pd
import reference
from occasions import standardised
from reference import TARGETS, Scale
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

ROUNDS = 30


def mixture(x: np.ndarray, marks: np.ndarray, start: np.ndarray) -> tuple[float, np.ndarray]:
    """The weights of words after rounds of guessing signs, and how well they explain the marks."""
    weights = start
    for _ in range(ROUNDS):
        said = x @ weights
        said *= np.sqrt(0.2 / said.var())
        model = Ridge(1000.0).fit(x, marks * np.tanh(marks * said / 0.8))
        weights = model.coef_
    said = x @ weights
    said *= np.sqrt(0.2 / said.var())
    return float(np.log(np.cosh(marks * said / 0.8) * np.exp(-(said**2) / 1.6)).mean()), weights


def predict(x: np.ndarray, train: pd.DataFrame, other: np.ndarray) -> np.ndarray:
    panel = (train["rater"] == "panel").to_numpy()
    rated = train.loc[panel, TARGETS].to_numpy()
    marks = standardised(train, TARGETS)[~panel]
    seen, said = [], []
    whiten = PCA(0.98, whiten=True).fit(x)
    white, axes = whiten.transform(x[~panel]), whiten.transform
    for column in range(len(TARGETS)):
        y = marks[:, column]
        moments = (white * np.minimum(y**2, 4)[:, None]).T @ white / len(y)
        spectral = np.linalg.eigh(moments)[1][:, -1]
        by_panel = Ridge(100.0).fit(axes(x[panel]), rated[:, column]).coef_
        tried = [mixture(white, y, start) for start in (spectral, by_panel)]
        best = max(tried, key=lambda one: one[0])[1]
        answer = axes(x[panel]) @ best
        turn = np.sign(np.corrcoef(answer, rated[:, column])[0, 1])
        spread = (axes(x) @ best).std()
        seen.append(turn * answer / spread)
        said.append(turn * (axes(other) @ best) / spread)
    return Scale().fit(np.stack(seen, axis=1), rated).predict(np.stack(said, axis=1))


reference.predict = predict
reference.main()
