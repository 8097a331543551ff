# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but raters are turned as a whole, or left out as a whole."""

import numpy as np
import pandas as pd
import reference
from findings import correlations, first_guess


def find_less(x: np.ndarray, train: pd.DataFrame, targets: list[str]) -> dict:
    skills, ratings, habits = first_guess(x, train, targets), train[targets].to_numpy(), {}
    for rater, rows in train.groupby("rater").indices.items():
        closeness = np.diag(correlations(ratings[rows], skills[rows])).mean()
        turned = {target: [target, int(np.sign(closeness))] for target in targets}
        habits[rater] = turned if abs(closeness) >= 0.1 else None
    return {"unit": None, "habits": habits}


reference.find = find_less
reference.main()
