# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but a paper's own features are ignored."""

import numpy as np
import reference
from papers import CLASSES, Papers


def nothing_known(papers: Papers, _found: dict) -> np.ndarray:
    return np.zeros((len(papers.years), CLASSES))


reference.own_beliefs = nothing_known
reference.main()
