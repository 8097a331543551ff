# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but every mask is taken to be of the record that it comes with."""

import findings
import numpy as np
import reference


def as_given(_strength: np.ndarray, masks: np.ndarray) -> dict[str, np.ndarray]:
    return {"from 0": np.arange(len(masks))}


findings.likely_orders = as_given
reference.main()
