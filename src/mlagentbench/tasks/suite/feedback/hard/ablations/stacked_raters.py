# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference's features, but a model of each rater; the panel's essays weigh what they say."""

import numpy as np
import pandas as pd
import reference
from reference import TARGETS
from sklearn.linear_model import Ridge, RidgeCV

PENALTIES = np.logspace(-1, 4, 11)


def stacked(x: np.ndarray, train: pd.DataFrame, other: np.ndarray) -> np.ndarray:
    panel = (train["rater"] == "panel").to_numpy()
    free = train[~train["text_id"].isin(train.loc[panel, "text_id"])]
    seen, said = [], []
    for _, mine in free.groupby("rater"):
        scaled = (mine[TARGETS] - mine[TARGETS].mean()) / mine[TARGETS].std(ddof=0)
        model = Ridge(100.0).fit(x[mine.index], scaled)
        seen.append(model.predict(x[panel]))
        said.append(model.predict(other))
    stack = RidgeCV(PENALTIES, alpha_per_target=True)
    stack.fit(np.hstack(seen), train.loc[panel, TARGETS])
    return stack.predict(np.hstack(said)).clip(1, 5)


reference.predict = stacked
reference.main()
