# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it does not set stray taps aside."""

import numpy as np
import reference
from findings import find


def find_less(filters: np.ndarray, stride: int) -> dict:
    return find(filters, stride, strays=[])


reference.main(find_less)
