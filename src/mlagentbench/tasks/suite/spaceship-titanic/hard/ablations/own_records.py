# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it looks at each passenger's own records, not at the neighbours'."""

import pandas as pd
import reference


def own(_where: pd.DataFrame, _voyages: pd.Series, marks: pd.DataFrame, _found: dict) -> tuple:
    return marks, 0.0


reference.near = own
reference.main()
