# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but samples are compared with the mean of all control materials."""

import pandas as pd
import reference


def against_all(
    levels: pd.DataFrame, samples: pd.DataFrame, controls: pd.DataFrame, _findings: dict
) -> pd.DataFrame:
    return levels - controls.groupby(level="plate").mean().loc[samples["plate"]].to_numpy()


reference.against_controls = against_all
reference.main()
