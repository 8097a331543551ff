# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but all prices drift alike."""

import pandas as pd
import reference
from findings import find


def find_less(train: pd.DataFrame, test: pd.DataFrame) -> dict:
    return find(train, test) | {"trend": []}


reference.find = find_less
reference.main()
