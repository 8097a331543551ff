# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but strays are what is large compared with taps of all channels."""

import numpy as np
import reference
from findings import above_jump, find


def find_large(filters: np.ndarray, stride: int) -> dict:
    return find(filters, stride, above_jump(np.sqrt((filters**2).mean(axis=3))))


reference.main(find_large)
