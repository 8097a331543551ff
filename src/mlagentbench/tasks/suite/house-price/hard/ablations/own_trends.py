# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but the drift is fitted to each neighbourhood, and average in new ones."""

import numpy as np
import pandas as pd
import reference
from findings import find


def find_less(train: pd.DataFrame, test: pd.DataFrame) -> dict:
    return find(train, test) | {"trend": []}


class OwnTrends(reference.Model):
    def _matrix(self, x: pd.DataFrame, places: pd.Series) -> np.ndarray:
        matrix = super()._matrix(x, places)
        dummies = matrix[:, x.shape[1] :]
        return np.hstack([matrix, dummies * x["time"].to_numpy()[:, None]])


reference.find = find_less
reference.Model = OwnTrends
reference.main()
