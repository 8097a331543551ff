# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but nothing turns sentences round."""

import pandas as pd
import reference
from findings import find


def find_less(train: pd.DataFrame, test: pd.DataFrame) -> dict:
    found = find(train, test)
    turning = found["turning"]
    straight = turning["straight"] + turning["turned"]
    return found | {"turning": turning | {"straight": straight, "turned": []}}


reference.find = find_less
reference.main()
