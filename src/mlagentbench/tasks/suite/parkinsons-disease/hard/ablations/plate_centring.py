# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but plates are centred on their samples instead of their controls."""

import pandas as pd
import reference


def centred(levels: pd.DataFrame, samples: pd.DataFrame, *_: object) -> pd.DataFrame:
    return levels - levels.groupby(samples["plate"]).transform("mean")


reference.against_controls = centred
reference.main()
