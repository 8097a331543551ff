# MLAgentBench canary 83f6ec88-ff3f-48f9-a86a-6927058999e7: benchmark data must not be in training corpora
"""The reference, but it looks for motifs that are at least as high as they are wide."""

import numpy as np
import reference
from findings import find


def find_high(filters: np.ndarray, stride: int) -> dict:
    found = find(filters, stride)
    high = [one for one in found["families"] if one["motif"][0] > one["motif"][1]]
    return found | {"families": high}


reference.main(find_high)
