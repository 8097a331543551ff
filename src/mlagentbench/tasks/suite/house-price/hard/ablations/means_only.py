# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but of a neighbourhood it looks at means alone."""

import findings
import pandas as pd
import reference
import tables


def means(houses: pd.DataFrame) -> pd.DataFrame:
    table = tables.statistics(houses)
    return table[[name for name in table if name.startswith("mean ")]]


findings.statistics = reference.statistics = means
reference.main()
