# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but of raters it knows means and scales only."""

import numpy as np
import pandas as pd
import reference


def find_less(_x: np.ndarray, train: pd.DataFrame, targets: list[str]) -> dict:
    as_is = {target: [target, 1] for target in targets}
    return {"unit": None, "habits": dict.fromkeys(train["rater"], as_is)}


reference.find = find_less
reference.main()
