# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but each sample is normalised by its median, as usual, and keeps its factors."""

import pandas as pd
import reference


def normalised(*tables: pd.DataFrame | dict) -> pd.DataFrame:
    found = reference.against_controls(*tables)
    found = found.sub(found.median(axis=1), axis=0)
    return found.fillna(found.mean())


reference.corrected = normalised
reference.main()
