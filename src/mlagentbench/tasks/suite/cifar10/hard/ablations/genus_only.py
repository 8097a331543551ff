# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but the species is not told."""

import numpy as np
import reference

with_species = reference.features


def features(*data) -> np.ndarray:
    return with_species(*data)[:, :-1]


reference.features = features
reference.main()
