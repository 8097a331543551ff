# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it is fitted to the panel's essays only."""

import numpy as np
import pandas as pd
import reference
from reference import TARGETS
from sklearn.linear_model import RidgeCV


def predict(x: np.ndarray, train: pd.DataFrame, other: np.ndarray) -> np.ndarray:
    panel = (train["rater"] == "panel").to_numpy()
    model = RidgeCV(np.logspace(1, 5, 9)).fit(x[panel], train.loc[panel, TARGETS])
    return model.predict(other).clip(1, 5)


reference.predict = predict
reference.main()
