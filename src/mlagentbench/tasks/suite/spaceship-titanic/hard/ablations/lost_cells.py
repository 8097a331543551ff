# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but of the records it looks at lost cells alone."""

import findings
import pandas as pd
import records
import reference


def lost(passengers: pd.DataFrame) -> pd.DataFrame:
    return records.ways(passengers).filter(regex="lost$")


findings.ways = reference.ways = lost
reference.main()
