# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but what makes the samples of a plate differ most stays in."""

import pandas as pd
import reference


def compared(*tables: pd.DataFrame | dict) -> pd.DataFrame:
    found = reference.against_controls(*tables)
    return found.fillna(found.mean())


reference.corrected = compared
reference.main()
