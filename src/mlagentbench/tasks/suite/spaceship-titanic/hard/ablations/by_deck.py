# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it looks at how frequent marks are on each deck of a voyage."""

import pandas as pd
import reference


def deck_mean(where: pd.DataFrame, voyages: pd.Series, marks: pd.DataFrame, _found: dict) -> tuple:
    return marks.groupby([voyages, where["deck"]]).transform("mean"), 0.0


reference.near = deck_mean
reference.main()
