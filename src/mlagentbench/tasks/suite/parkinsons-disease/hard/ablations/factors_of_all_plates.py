# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it takes out ten directions that all plates are thought to share."""

import numpy as np
import pandas as pd
import reference


def without_shared_factors(
    levels: pd.DataFrame, samples: pd.DataFrame, controls: pd.DataFrame, findings: dict
) -> pd.DataFrame:
    found = reference.against_controls(levels, samples, controls, findings)
    found = found.fillna(found.groupby(samples["plate"]).transform("mean")) - found.mean()
    within = found - found.groupby(samples["plate"]).transform("mean")
    axes = np.linalg.svd(within.to_numpy(), full_matrices=False)[2][:10]
    return found - found.to_numpy() @ axes.T @ axes


reference.corrected = without_shared_factors
reference.main()
